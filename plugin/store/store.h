/* store: what outlives the process, behind one interface: settings made in the chat, and turns on
 * their way (the journal's part). A store is named by `store:` of the configuration and opened at its
 * first use, so that a bot that never needs it pays nothing. */
#ifndef PLUGIN_STORE_STORE_H
#define PLUGIN_STORE_STORE_H

#include "schema/bytes.h"

/* One setting made in the chat. */
struct rg_override {
  struct span endpoint; /* its name */
  uint64_t group;
  struct span key;    /* "pace.min" */
  struct span value;  /* JSON */
  struct span author; /* account number of who made it; to be looked up by people */
};

/* A chat of the built-in agent. */
struct rg_store_chat {
  struct span endpoint; /* its name */
  bool group;
  struct span id; /* of the group or the user */
};

/* What was said there, as talk.h remembers it; unused spans are empty. */
struct rg_store_line {
  struct span sender_id, name, message_id, reply_to, text;
  bool ours;
  int64_t at; /* seconds since 1970 */
};

/* How much of a talk is kept. */
struct rg_store_bound {
  uint32_t lines;
  int64_t oldest; /* seconds since 1970; what is older is dropped */
};

typedef void rg_line_fn(void *ctx, const struct rg_store_line *line);
typedef void rg_override_fn(void *ctx, const struct rg_override *o);

/* How far a step of a turn's plan has come. The numbers are those of the file. */
enum rg_stored_state {
  RG_STORED_QUEUED,   /* surely not written to the wire */
  RG_STORED_FRAMED,   /* about to be written, or written: it may have been sent */
  RG_STORED_ANSWERED, /* accepted, with an id; a card of which it is not known whether it shows */
  RG_STORED_SENT,
  RG_STORED_UNSENT,  /* surely not there */
  RG_STORED_UNKNOWN, /* nobody knows */
  RG_STORED_STATE_COUNT
};

/* One action of a turn's plan. */
struct rg_stored_step {
  uint32_t kind; /* enum ob_step_kind */
  size_t message, chars;
  bool card;
  struct span action, params, card_text; /* params empty: too large to be kept, or done with */
  enum rg_stored_state state;
  int64_t at_ms; /* Unix time of its state */
  struct span message_id;
};

/* A turn that was accepted. */
struct rg_stored_turn {
  uint64_t ticket;
  int64_t at_ms; /* Unix time when it was accepted */
  struct span endpoint, group_id, user_id, message_id, sender_id;
  int32_t kind;
  bool foreign;   /* a framework's: nobody waits for its result */
  bool words;     /* as in struct rg_job */
  uint32_t asked; /* likewise, packed (turn.h); less than 2^16 */
  bool kept;      /* text or, where there are steps, their params are here */
  bool doubted;   /* the machine went down since: what it says may be older than what was sent */
  struct span notice; /* not empty: its plan is the failure notice, for this code's word */
  struct span schema; /* of the turn's own, or empty */
  struct span text;   /* as it was submitted, while there is no plan; then empty */
  const struct rg_stored_step *steps; /* none: not planned yet */
  size_t step_count;
};

typedef void rg_stored_turn_fn(void *ctx, const struct rg_stored_turn *t);

struct rg_store;

/* How a claim of the journal ended. */
enum rg_claim {
  RG_CLAIM_FAILED, /* another process has it, or it cannot be written */
  RG_CLAIM_OURS,   /* another instance of this process has it: take a sibling */
  RG_CLAIM_HAD,
};

/* What a kind of store can do. All may be called from any thread. On failure they return false and
 * write into why (cap bytes, NUL-terminated) what is wrong, where, and what to do. */
struct rg_store_methods {
  /* Gives every override, lent for the call. A store that was never written to has none and is not
   * made by asking. */
  bool (*override_each)(struct rg_store *s, rg_override_fn *each, void *ctx, char *why, size_t cap);
  /* Keeps an override in place of an older one of the same endpoint, group and key. */
  bool (*override_put)(struct rg_store *s, const struct rg_override *o, char *why, size_t cap);
  /* Drops one key, or all of a group where key is empty. What is not there is no failure. */
  bool (*override_drop)(struct rg_store *s, struct span endpoint, uint64_t group, struct span key,
                        char *why, size_t cap);
  void (*close)(struct rg_store *s);

  /* Whether the last write failed because the store is as large as it may be. */
  bool (*is_full)(struct rg_store *s);
  /* Claims the journal for this store alone. *last_ticket: the highest number that any turn ever
   * had. */
  enum rg_claim (*journal_claim)(struct rg_store *s, uint64_t *last_ticket, char *why, size_t cap);
  /* A new store beside s, for the journal of instance n (2, 3, …) of this process; NULL as
   * rg_store_new. */
  struct rg_store *(*sibling)(struct rg_store *s, unsigned n, char *why, size_t cap);
  /* Every turn without a result in the order of tickets, lent for the call. */
  bool (*turn_each)(struct rg_store *s, rg_stored_turn_fn *each, void *ctx, char *why, size_t cap);
  /* Keeps a turn with its steps in the place of what was kept of it. */
  bool (*turn_put)(struct rg_store *s, const struct rg_stored_turn *t, char *why, size_t cap);
  /* Step n of a turn is in another state; params are replaced where they are not empty. */
  bool (*step_put)(struct rg_store *s, uint64_t ticket, size_t n, const struct rg_stored_step *step,
                   char *why, size_t cap);
  /* Nothing of a turn is to be sent any more; its result is still to come. */
  bool (*turn_stop)(struct rg_store *s, uint64_t ticket, char *why, size_t cap);
  /* A turn has its result (a word). Of its steps states and ids stay, no text; turns that ended
   * before it are dropped by age and number. */
  bool (*turn_end)(struct rg_store *s, const struct rg_stored_turn *t, const char *result,
                   char *why, size_t cap);
  /* Whether a message id belongs to a step of a turn with nearly that ticket. */
  bool (*sent_near)(struct rg_store *s, uint64_t ticket, struct span message_id);
  /* Whether the next process may believe what the journal says; false needs no room on the disk. */
  void (*journal_trust)(struct rg_store *s, bool trusted);

  /* What follows is NULL where a kind of store does not keep it. Adds a line to a chat's talk and
   * drops what is beyond the bound. */
  bool (*line_put)(struct rg_store *s, const struct rg_store_chat *chat,
                   const struct rg_store_line *line, const struct rg_store_bound *bound, char *why,
                   size_t cap);
  /* Gives the lines of a chat within the bound, the oldest first, lent for the call. */
  bool (*line_each)(struct rg_store *s, const struct rg_store_chat *chat,
                    const struct rg_store_bound *bound, rg_line_fn *each, void *ctx, char *why,
                    size_t cap);
  /* Drops the lines with that message id. */
  bool (*line_forget)(struct rg_store *s, const struct rg_store_chat *chat, struct span message_id,
                      char *why, size_t cap);
  bool (*lines_drop)(struct rg_store *s, const struct rg_store_chat *chat, char *why, size_t cap);
  /* Tokens spent on one day under a name; a later day takes an earlier one's place. get: 0 and 0
   * where nothing was kept. */
  bool (*budget_put)(struct rg_store *s, struct span name, int64_t day, uint64_t tokens, char *why,
                     size_t cap);
  bool (*budget_get)(struct rg_store *s, struct span name, int64_t *retday, uint64_t *rettokens,
                     char *why, size_t cap);

  /* What a store has that several machines share, instead of budget_put: adds to what was spent that
   * day and gives the sum of all machines. */
  bool (*budget_add)(struct rg_store *s, struct span name, int64_t day, uint64_t tokens,
                     uint64_t *rettotal, char *why, size_t cap);
  /* A number that is another one once an override was changed, by whomever. Not NULL: others may
   * change them (follow.h). */
  bool (*version)(struct rg_store *s, uint64_t *ret, char *why, size_t cap);
  /* Whether it answers and takes writes. */
  bool (*probe)(struct rg_store *s, char *why, size_t cap);
};

enum {
  /* Bytes of one turn's text, and of its plan, that are kept. Larger ones (pictures in base64 above
   * 3 MiB) are not worth the writing: after a crash they are reported, not sent. */
  RG_STORED_TURN_MAX = 4 * 1024 * 1024,
  /* Turns with a result that are kept, and how long: enough to explain last week's trouble, in a few
   * MiB. */
  RG_STORED_ENDED_MAX = 10000,
  RG_STORED_ENDED_DAYS = 7,
};

/* The head of each kind's own struct. */
struct rg_store {
  const struct rg_store_methods *methods;
};

/* The store of an address ("sqlite:/absolute/file"), not opened yet; NULL and why where this build
 * has no such store or memory ran out. To be closed by rg_store_close. */
struct rg_store *rg_store_new(struct span address, char *why, size_t cap);
/* NULL allowed. No other thread may use it any more. */
void rg_store_close(struct rg_store *s);

/* Each kind of store; path is what stands behind the scheme. */
struct rg_store *rg_store_sqlite_new(struct span path, char *why, size_t cap); /* store_sqlite.c */
struct rg_store *rg_store_redis_new(struct span path, char *why, size_t cap);  /* store_redis.c */

#endif
