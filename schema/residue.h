/* residue: tool calls that a model has written as text instead of making them (reply.md 100-105,
 * 4.2). One table of names; the forms without markup are in call. */
#ifndef SCHEMA_RESIDUE_H
#define SCHEMA_RESIDUE_H

#include "schema/bytes.h"

/* Whether decoded text holds a tool call written as text; *retat (may be NULL) gets the byte where
 * it begins. A tag that is only named in prose, in inline code or in a fence with words around it
 * is none; an opener with a call behind it (attributes, JSON, a parameter, a tail that is cut) is
 * one, and so are a result that was made up and a closing tag that is left over. Linear. */
bool schema_residue_tool_call(struct span text, size_t *retat);

/* The same for the words around a whole reply object: there closing tags and empty markers of
 * results are scraps to be dropped, not calls (2.O). */
bool schema_residue_tool_call_around(struct span text, size_t *retat);

#endif
