/* call: tool calls written without any markup: bare JSON objects ({"name":…,"arguments":…}, agent
 * actions, tool_calls), calls in Python's syntax. */
#ifndef SCHEMA_CALL_H
#define SCHEMA_CALL_H

#include "schema/bytes.h"

/* Whether the JSON-like object whose brace stands at byte at is a tool call or holds one, at any
 * depth; one that is cut by the end of the text counts by what is there. Quotes of any kind, bare
 * keys and trailing commas are read as meant. *retreach is the byte up to which all was seen:
 * behind the object, or where it stops being one. Walks once. */
bool schema_call_json(struct span text, size_t at, size_t *retreach);

/* Whether the whole text is one or more calls, alone or as a list, with keyword arguments or, behind
 * a name_of_this_kind, with a string: get_weather(city="x"), [f(a=1), g(b=2)]. */
bool schema_call_pythonic(struct span text);

/* Whether the whole text is a name_of_this_kind on its line and then an object, fenced or not: what
 * is left of GLM's and Functionary's calls without their tokens. */
bool schema_call_named(struct span text);

#endif
