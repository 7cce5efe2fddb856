/* step: the steps of an agent written out, as prompts teach them: "Action: name" and its input on
 * lines of their own (ReAct), in English and Chinese. */
#ifndef SCHEMA_STEP_H
#define SCHEMA_STEP_H

#include "schema/bytes.h"

/* What was seen of a step so far. Begin with { .at = SIZE_MAX }. */
struct schema_step {
  size_t at;  /* where its line begins; SIZE_MAX: none */
  bool vague; /* its label is an ordinary word: "Tool: name" needs JSON as its input */
};

/* Looks at the label whose colon stands at byte colon and whose value begins at byte behind. True: a
 * step is complete, it calls a tool, and *retat is where it begins. Calls move forward. */
bool schema_step_see(struct schema_step *step, struct span text, size_t colon, size_t behind,
                     size_t *retat);

/* Whether the colon at byte colon may end such a label: a quick no for all others. */
bool schema_step_may_be(struct span text, size_t colon);

#endif
