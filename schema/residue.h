/* residue: what a model's machinery leaves in its words: tool calls written as text, reasoning,
 * secrets. Looks at decoded strings only; one table of openers, one of leak shapes. */
#ifndef SCHEMA_RESIDUE_H
#define SCHEMA_RESIDUE_H

#include "schema/bytes.h"

/* Whether decoded text holds a tool call written as text (reply.md 100, 101, 4.2); *retat (may be
 * NULL) gets the byte where it begins. A tag that is only named in prose or code is none. */
bool schema_residue_tool_call(struct span text, size_t *retat);

#endif
