/* gate: one instance of the plugin. Its functions are those of the ABI (replygate.h), which say
 * what each takes, gives and returns; below them is what the parts of an instance share. */
#ifndef PLUGIN_GATE_H
#define PLUGIN_GATE_H

#include "plugin/delivery/conversation.h"
#include "plugin/delivery/timing.h"
#include "plugin/log.h"
#include "plugin/store/store.h"

enum {
  RG_WAITING_MAX = 1024,            /* turns of an instance: minutes of backlog for a busy bot */
  RG_WAITING_OWN_MAX = 64,          /* more for answers to commands and lines to the operator */
  RG_WAITING_CONVERSATION_MAX = 32, /* of one chat: nobody waits for the 33rd answer */
  RG_WAITING_BYTES_MAX = 256 * 1024 * 1024, /* of text: four of the largest replies */
};

/* How turns ended, one X a word of on_result's "result". */
#define RG_ENDINGS(X)                                                                              \
  X(DELIVERED, "delivered")                                                                        \
  X(NOTHING, "nothing")                                                                            \
  X(PARTIAL, "partial_delivery")                                                                   \
  X(FAILED, "failed")                                                                              \
  X(BLOCKED, "blocked")                                                                            \
  X(CANCELLED, "cancelled")

enum rg_ending {
#define X(name, word) RG_ENDING_##name,
  RG_ENDINGS(X)
#undef X
      RG_ENDING_COUNT
};

const char *rg_ending_word(enum rg_ending ending);

struct rg_gate {
  struct rg_host host; /* a copy; what the host's table does not reach is zero */
  struct rg_log log;
  struct ob_service *service;
  struct rg_http *http;   /* its thread starts at the first use, as the next one's */
  struct rg_media *media; /* NULL once closing */
  struct span home;       /* of the process's user, or empty; owned */
  struct rg_timing timing;
  char *config_path;
  struct rg_store *store;     /* NULL: overrides last as long as the process */
  struct rg_store *own_store; /* the journal's, where the other one is shared; else NULL */
  struct rg_follow *follow;   /* NULL: the store is not shared */
  struct rg_journal *journal; /* NULL: off, or missing */
  bool journal_missing;       /* it is wanted and could not be had */
  struct rg_settings *settings;

  pthread_mutex_t mu; /* guards the members below, down to the blank line */
  struct rg_config *config;
  struct rg_account **accounts;
  size_t account_count;
  struct rg_conversations conversations;
  uint64_t last_ticket;
  size_t waiting, waiting_bytes;
  uint64_t submitted, events, endings[RG_ENDING_COUNT];
  uint64_t busy_told_ms; /* when the operator may be told again that too much waits */

  struct rg_relay *relay;         /* service thread only, as what follows; NULL before and after */
  struct rg_agent *agent;         /* likewise */
  struct rg_conversation *active; /* those with jobs */
  uint64_t keyboards_until_ms;    /* a number may answer a keyboard until then */
  struct arena event_arena;
  struct rg_notify notify;
  bool closing;
};

/* The ABI's functions. */
int32_t rg_gate_open(const struct rg_host *host, struct rg_bytes config_path, struct rg_gate **gate,
                     char *why, size_t cap);
/* The same with other times than those of rg_timing: for tests. */
int32_t rg_gate_open_timed(const struct rg_host *host, struct rg_bytes config_path,
                           const struct rg_timing *timing, struct rg_gate **gate, char *why,
                           size_t cap);
int32_t rg_gate_submit(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                       uint64_t *ticket);
int32_t rg_gate_cancel(struct rg_gate *gate, uint64_t ticket);
int32_t rg_gate_outbound(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes action,
                         int32_t *verdict, struct rg_buf *edit);
int32_t rg_gate_inbound(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes event,
                        int32_t *verdict, struct rg_buf *edit);
int32_t rg_gate_response(struct rg_gate *gate, struct rg_bytes endpoint, uint64_t ticket,
                         struct rg_bytes json);
int32_t rg_gate_completed(struct rg_gate *gate, uint64_t ticket, struct rg_bytes text);
int32_t rg_gate_contract(struct rg_gate *gate, const struct rg_turn *turn, struct rg_buf *schema,
                         struct rg_buf *instruction);
int32_t rg_gate_check(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                      struct rg_buf *report);
int32_t rg_gate_reload(struct rg_gate *gate, char *why, size_t cap);
int32_t rg_gate_stats(struct rg_gate *gate, struct rg_buf *json);
void rg_gate_release(struct rg_buf *buf);
void rg_gate_close(struct rg_gate *gate);

/* Gives a text to the host, which releases it; *from is empty after. RG_ENOMEM where it had failed. */
int32_t rg_gate_give(struct buf *from, struct rg_buf *to);
/* "ready" */
const char *rg_state_word(enum ob_link_state state);
/* The account of exactly that name. NULL: none. gate->mu is held. */
struct rg_account *rg_account_find(const struct rg_gate *gate, struct span name);
/* The account of that name; empty: the only one of the configuration. NULL: none. Any thread. */
struct rg_account *rg_gate_account(struct rg_gate *gate, struct span name);

#endif
