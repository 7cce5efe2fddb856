/* The ABI of replygate.so: what a host loads. One symbol, rg_plugin(); everything else is in the
 * table that it returns.
 *
 * Ownership: lent in, given out. Arguments belong to the caller and are not kept after the call;
 * results go back through release(). Text is pointer and length, UTF-8, not NUL-terminated, and
 * crosses as JSON where it has structure.
 * Threads: every function but close may be called from any thread, several at once, and returns
 * without waiting for the network. The host's functions are called from any thread, must not block
 * and must not call back in. close is last and joins.
 * Growth: tables only grow at their end; `size` says how far they reach. A new meaning is a new
 * RG_ABI. Results: 0 is success, negative is a fault (enum rg_result). */
#ifndef REPLYGATE_H
#define REPLYGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RG_ABI 1u
/* Whether the table p reaches member m and has it set. */
#define RG_HAS(p, m) ((p)->size >= offsetof(__typeof__(*(p)), m) + sizeof((p)->m) && (p)->m)

struct rg_bytes { /* lent for one call */
  const char *ptr;
  size_t len;
};

struct rg_buf { /* given; back through release() */
  char *ptr;
  size_t len;
};

struct rg_gate; /* one instance */

enum rg_result {
  RG_OK = 0,
  RG_EARGUMENT =
      -1,          /* a wrong argument: NULL, no such endpoint, neither or both of group and user */
  RG_ECONFIG = -2, /* the configuration has faults; why lists them */
  RG_ENOMEM = -3,
  RG_EBUSY = -4,   /* too much is waiting already; submit later */
  RG_ENOTYET = -5, /* this build has no such function yet */
  RG_ESYSTEM = -6, /* a thread or file could not be had; why, or of submit the log, says which */
  RG_ETOOBIG = -7, /* a text above 64 MiB */
};

/* What outbound and inbound say of an action or an event. */
enum rg_verdict {
  RG_PASS,    /* as it is */
  RG_REPLACE, /* by what edit holds */
  RG_DROP,    /* not at all */
};

enum rg_log_level { RG_LOG_ERROR, RG_LOG_WARN, RG_LOG_INFO, RG_LOG_DEBUG };

enum rg_kind {
  RG_KIND_ANSWER,    /* answers message_id; a reaction may be offered */
  RG_KIND_PROACTIVE, /* answers nothing */
  RG_KIND_NOTICE,    /* the host's own words: plain text, not judged as a reply */
};

/* One reply's way: who gets it and what it answers. Unused spans are empty. */
struct rg_turn {
  uint32_t size;                     /* sizeof(struct rg_turn) of the caller */
  int32_t kind;                      /* enum rg_kind */
  struct rg_bytes endpoint;          /* name in the configuration; empty: the only one */
  struct rg_bytes group_id, user_id; /* exactly one; decimal */
  struct rg_bytes message_id;        /* being answered */
  struct rg_bytes sender_id;         /* who wrote it */
  /* A JSON Schema of the caller's own (the portable subset, else RG_EARGUMENT and a line in the
   * log), or empty: the answer is one document in it. A schema of the group's settings goes before. */
  struct rg_bytes schema;
};

/* What the host gives. Each function may be NULL. */
struct rg_host {
  uint32_t size, abi; /* sizeof(struct rg_host), RG_ABI */
  void *ctx;
  /* One line, no line end, never message text, a token or an address with one. */
  void (*log)(void *ctx, int32_t level, struct rg_bytes line);
  /* For endpoints with `connect: host`: the host's own connection carries this action. */
  void (*send)(void *ctx, struct rg_bytes endpoint, uint64_t ticket, struct rg_bytes action);
  /* Asks the host's own model for the one format-only correction, without history or tools:
   * {"instruction","schema","answer","code","path","why"}; answered by completed() within 30 s.
   * Where that is empty, a provider of the configuration is asked, if there is one. */
  void (*complete)(void *ctx, uint64_t ticket, struct rg_bytes request);
  /* An event of an endpoint, byte for byte, but admin commands and numeric taps. */
  void (*on_event)(void *ctx, struct rg_bytes endpoint, struct rg_bytes event);
  /* How a turn ended, exactly once a ticket, maybe before submit returned. Tickets of an earlier
   * process that died come too, with "recovered":true (of them maybe a second time), maybe before open
   * returns: {"result","reason",
   * "verdict","code","path","why","repairs","corrected","reply","preview",
   * "sent":[{"action","message_id"}],"unsent":[{"action","outcome","reason"}],
   * "media":[{"message","segment","reason"}] (what went as a notice in its place),"notice",
   * "document"}.
   * result: delivered | nothing | partial_delivery | failed | blocked | cancelled. notice: null, or
   * {"message_id"} of the failure notice that was sent in the place of the reply. document: null, or
   * where a schema was asked for (turn.schema, output: schema) the JSON text as it was received,
   * once it fits the schema; where it does not, result is blocked and code invalid_json (of the
   * built-in agent also refusal, truncated, unsupported, and provider where no answer came). */
  void (*on_result)(void *ctx, uint64_t ticket, struct rg_bytes result);
};

/* What the plugin gives. */
struct rg_api {
  uint32_t size, abi;
  const char *version;
  /* Starts an instance with the configuration file at path. why (cap bytes, NUL-terminated, may
   * be NULL) says on failure what is wrong and where. */
  int32_t (*open)(const struct rg_host *host, struct rg_bytes config_path, struct rg_gate **gate,
                  char *why, size_t cap);
  /* A model's raw answer: judged, planned, delivered. *ticket names the turn in on_result. */
  int32_t (*submit)(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                    uint64_t *ticket);
  /* What is unsent of a turn is not sent; its result says what was. A ticket that has ended is no
   * fault. */
  int32_t (*cancel)(struct rg_gate *gate, uint64_t ticket);
  /* For hosts that carry actions and events themselves: outbound, inbound, response. */
  /* An action {"action","params"} that the host is about to send itself. RG_REPLACE: edit is
   * [{"action","params","wait_ms"}], to be sent in this order, each after its pause. RG_DROP: edit
   * is {"retcode","code","path","why"}. Works for every endpoint. */
  int32_t (*outbound)(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes action,
                      int32_t *verdict, struct rg_buf *edit);
  /* An event that the host received (connect: host). RG_DROP: it was an admin command, nothing for
   * the bot. RG_REPLACE: a number that answers a keyboard; edit is the event to use. */
  int32_t (*inbound)(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes event,
                     int32_t *verdict, struct rg_buf *edit);
  /* The answer to what went out through the host's send (empty: none came). */
  int32_t (*response)(struct rg_gate *gate, struct rg_bytes endpoint, uint64_t ticket,
                      struct rg_bytes json);
  /* What the host's model answered to complete(); empty: it failed. */
  int32_t (*completed)(struct rg_gate *gate, uint64_t ticket, struct rg_bytes text);
  /* What the host's model is to be given for this turn: JSON Schema and instruction text. Where words
   * are asked for (output: text) there is no schema, and maybe nothing to instruct. */
  int32_t (*contract)(struct rg_gate *gate, const struct rg_turn *turn, struct rg_buf *schema,
                      struct rg_buf *instruction);
  /* Judges only: {"verdict","code","path","at","why","repairs","reply","preview","document"}. */
  int32_t (*check)(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                   struct rg_buf *report);
  /* Reads the configuration file again; one with faults changes nothing. Turns on their way keep
   * what they began with. */
  int32_t (*reload)(struct rg_gate *gate, char *why, size_t cap);
  /* {"version","submitted","waiting", a count for each result of on_result, "events",
   * "conversations","journal","endpoints":[{"name","state","profile","version","self_id"}]};
   * journal: off | on | failing (it cannot be written); state: down | open | ready | offline |
   * refused. */
  int32_t (*stats)(struct rg_gate *gate, struct rg_buf *json);
  void (*release)(struct rg_buf *buf); /* empties *buf; NULL and empty allowed */
  /* Ends every turn as cancelled and joins. NULL allowed. Called from one of the host's functions it
   * does nothing but tell the log. */
  void (*close)(struct rg_gate *gate);
};

/* The only exported C symbol. NULL where host_abi is none that this build speaks. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const struct rg_api *
rg_plugin(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
