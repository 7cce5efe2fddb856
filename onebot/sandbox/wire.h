/* wire: events and answers as the played implementation writes them. */
#ifndef ONEBOT_SANDBOX_WIRE_H
#define ONEBOT_SANDBOX_WIRE_H

#include "onebot/sandbox/core.h"

/* The user or group that this implementation shows so; 0: there is no such number. */
int64_t ob_wire_id_back(const struct ob_sandbox *b, int64_t shown);
void ob_wire_write_id(const struct ob_sandbox *b, struct schema_writer *w, const char *key,
                      int64_t id);

/* The object of a message; own: as message_sent. arena for what is read on the way. */
void ob_wire_message(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                     bool own, struct arena *arena);
void ob_wire_lifecycle(struct schema_writer *w);
void ob_wire_heartbeat(struct ob_sandbox *b, struct schema_writer *w);
void ob_wire_status(struct ob_sandbox *b, struct schema_writer *w);
void ob_wire_recall(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                    int64_t operator_id);
/* False: this implementation has no such event. */
bool ob_wire_reaction(struct ob_sandbox *b, struct schema_writer *w, const struct ob_said *said,
                      struct span emoji, int64_t user, bool set);
void ob_wire_ban(struct ob_sandbox *b, struct schema_writer *w, int64_t group, bool on);

/* What became of a call. */
struct ob_result {
  bool refused;
  bool empty;  /* the whole answer is {} */
  bool silent; /* there is no answer */
  int32_t retcode;
  struct buf data; /* JSON; nothing: null */
  struct buf text; /* of the refusal */
};
void ob_result_init(struct ob_result *r);
void ob_result_done(struct ob_result *r);
/* echo: the raw value, ptr NULL where the call had none. */
void ob_wire_answer(const struct ob_sandbox *b, struct buf *out, const struct ob_result *r,
                    struct span echo);

#endif
