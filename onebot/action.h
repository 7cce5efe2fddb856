/* action: a framework's own OneBot action, judged on its way to the peer (vectors/README.md
 * "action"): it passes untouched, is replaced by what may be sent, or is dropped with the reason.
 * ONE table of the actions that carry messages. Asks no one, reads no file. */
#ifndef ONEBOT_ACTION_H
#define ONEBOT_ACTION_H

#include "onebot/plan.h"
#include "schema/tree.h"
#include "schema/verdict.h"

enum ob_action_kind {
  OB_ACTION_OTHER,   /* no message in it: passes untouched */
  OB_ACTION_MESSAGE, /* params.message */
  OB_ACTION_FORWARD, /* params.messages: nodes */
  OB_ACTION_QUICK,   /* params.operation.reply, where params.context came from */
  OB_ACTION_UPLOAD,  /* a file */
  OB_ACTION_NOTICE,  /* words that people see, but no chat message */
  OB_ACTION_DENIED,  /* goes round every check */
};

enum ob_action_target { OB_TO_GIVEN, OB_TO_GROUP, OB_TO_PRIVATE, OB_TO_GUILD };

struct ob_action_row {
  const char *name;
  size_t length; /* of name */
  enum ob_action_kind kind;
  enum ob_action_target target;
  const char *text; /* OB_ACTION_NOTICE: the parameter with the words */
};

/* Ends with a row whose name is NULL. */
extern const struct ob_action_row ob_action_rows[];

/* One frame of a framework, read but not judged. Lives in the arena and in the frame. */
struct ob_action {
  struct span frame;
  const struct schema_node *params; /* NULL where it is no object */
  struct span name;                 /* as it was written */
  struct span echo;                 /* raw JSON; empty where there is none */
  enum ob_action_kind kind;
  const struct ob_action_row *row; /* NULL for OB_ACTION_OTHER */
  bool suffixed;                   /* name has _async or _rate_limited behind the row's */
  bool plain;                      /* action, params and echo are all that the frame holds */
  /* Of MESSAGE, FORWARD and QUICK: the chat it goes to, as far as it is clear; else both empty. */
  struct ob_target target;
  const struct schema_node *message; /* of MESSAGE and QUICK, as an array; NULL: it has none */
  struct span answers; /* the message it answers: its reply segment, else a quick operation's */
};

/* Reads a frame strictly. Errors: those of the reader (a doubled key is one), ETYPE where it is no
 * object with a string `action`; then it is to be dropped. */
enum schema_code ob_action_read(struct span frame, struct arena *arena, struct ob_action *ret,
                                struct schema_error *reterr);

struct ob_action_settings {
  struct ob_plan_settings plan;
  bool unwrap;       /* a text that is a structured reply becomes that reply */
  uint32_t segments; /* what such a reply may use: bit 1u << enum schema_type */
  /* unwrap also a text with delivery directives, read by these; NULL: they are words */
  const struct schema_directive_options *directives;
  struct schema_private hide; /* may be empty */
  struct span answering; /* the message being answered where the action names none; may be empty */
};

enum ob_action_verdict { OB_PASS, OB_REPLACE, OB_DROP };

struct ob_action_judgement {
  enum ob_action_verdict verdict;
  /* OB_REPLACE: what is sent instead, in order, without echo. OB_PASS of a message: itself, printed
   * anew; else empty */
  struct ob_plan plan;
  struct schema_error
      error;       /* OB_DROP: the code, and the path of the part ("$.params.message[1]") */
  struct span why; /* OB_DROP: a sentence for the framework, which names the segment */
  bool silent;     /* OB_DROP: no fault, a model's reply that says nothing (reply.md 10) */
  /* OB_REPLACE of a message that was nothing but a model's reply (and what it quotes): its text,
   * for who delivers replies better than the plan says it; else empty */
  struct span reply_text;
  const struct schema_segment *keyboard; /* the last that such texts held; NULL: none */
};

const char *ob_action_verdict_word(enum ob_action_verdict verdict);

/* *ret lives in arena and in what the action lives in. Linear in the frame. Any thread. */
void ob_action_judge(const struct ob_profile *profile, const struct ob_action_settings *settings,
                     const struct ob_action *action, struct arena *arena,
                     struct ob_action_judgement *ret);

#endif
