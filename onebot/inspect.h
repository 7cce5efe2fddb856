/* inspect: judges the segments of a framework's own message and composes what may be sent: forms
 * are settled, what has a text form gets it, one part that cannot be delivered refuses the whole.
 * The actions around the messages are those of action.h. */
#ifndef ONEBOT_INSPECT_H
#define ONEBOT_INSPECT_H

#include "onebot/action.h"

enum { OB_INSPECT_DEPTH_MAX = 8 }; /* three levels of nodes, two parts of a path each, and one */

/* Where an inspection stands: "$.params.message", then key or index for key or index. Written out
 * only where something is refused. */
struct ob_inspect_place {
  const char *base;
  struct {
    const char *key; /* NULL: index counts */
    size_t index;
  } parts[OB_INSPECT_DEPTH_MAX];
  size_t depth;
};

/* One action while it is judged. */
struct ob_inspect {
  const struct ob_profile *profile;
  const struct ob_action_settings *settings;
  struct ob_target target;
  struct arena *arena;
  bool changed;          /* something differs from what the framework sent */
  size_t parts;          /* of the message: runs of text and other segments, quotes aside */
  struct span unwrapped; /* the run that was a model's reply; empty: none */
  const struct schema_segment *keyboard; /* the last of such replies; NULL: none */
  struct ob_compose reaction; /* of a reply that was in a text: it comes before everything */
  struct span answers;        /* the message to react to; empty: none */
  struct ob_inspect_place place;
  struct schema_error error; /* after a refusal */
  struct span why;
};

/* Refuses: remembers code and reason, with the path where the inspection stands and the segment's
 * type where it is known (else empty). Returns false. */
bool ob_inspect_refuse(struct ob_inspect *in, enum schema_code code, struct span type,
                       const char *reason);

/* Whether message is made of nodes. */
bool ob_inspect_is_nodes(const struct schema_node *array);

/* Judges a message in its array form (NULL: it was none; base says where it stands) into c, whose
 * sends then hold it. False: refused. */
bool ob_inspect_message(struct ob_inspect *in, const struct schema_node *array, const char *base,
                        struct ob_compose *c);
/* Ends c, which watched its texts; *ret is what it became. False: refused. */
bool ob_inspect_end(struct ob_inspect *in, struct ob_compose *c, struct ob_plan *ret);
/* Judges the nodes of a forward and writes them as an array. False: refused. */
bool ob_inspect_nodes(struct ob_inspect *in, const struct schema_node *nodes, const char *base,
                      struct schema_writer *w);
/* Whether a string of the tree holds a tool call written as text. */
bool ob_inspect_has_call(const struct schema_node *node);

#endif
