/* grammar: the pieces of JSON's grammar that json.c drives by a state and reply.c by its own
 * nesting. Private to these two. A piece begins at r->next and moves it. */
#ifndef SCHEMA_GRAMMAR_H
#define SCHEMA_GRAMMAR_H

#include "schema/json.h"
#include "schema/scan.h"

/* The reader fails; returns SCHEMA_JSON_ERROR. */
enum schema_token grammar_fail(struct schema_json *r, enum schema_code code, const char *at,
                               const char *what);
/* Why no member, item or value can stand at p. */
enum schema_token grammar_fail_member(struct schema_json *r, const char *p, bool first);
enum schema_token grammar_fail_item(struct schema_json *r, const char *p);
/* A string that is not plain: its content began at begin, its first escape or fault is at p. */
bool grammar_string_rest(struct schema_json *r, const char *begin, const char *p);
/* The colon behind a key that is not just there. */
bool grammar_colon_rest(struct schema_json *r);
/* The value at p: its token. Containers are opened, which counts their depth. */
enum schema_token grammar_value(struct schema_json *r, const char *p);
/* Passes over the value of a member at r->next, with so many open containers around it that the
 * reader does not know of. */
bool grammar_skip_member(struct schema_json *r, unsigned depth);
/* The value that began where the reader stands ends at behind. */
void grammar_value_done(struct schema_json *r, const char *behind);

/* The string whose first quote is at p. False: the reader has failed. */
static inline bool grammar_string(struct schema_json *r, const char *p)
{
  const char *begin = ++p;
  r->controls = false;
  p = scan_string(p, r->end, &r->controls);
  if (p >= r->end || *p != '"') return grammar_string_rest(r, begin, p);
  r->text = (struct span) { begin, (size_t)(p - begin) };
  r->next = p + 1;
  return true;
}

/* In an object, behind its { (first) or a member: the next key with its colon, or the end. Whether
 * the key is new is not judged here. */
static inline enum schema_token grammar_member(struct schema_json *r, bool first)
{
  const char *p = scan_space(r->next, r->end);
  if (p < r->end && *p == '}') {
    r->at = (size_t)(p - r->begin);
    r->next = p + 1;
    return SCHEMA_JSON_OBJECT_END;
  }
  if (!first && p < r->end && *p == ',') p = scan_space(p + 1, r->end), first = true;
  if (!first || p >= r->end || *p != '"') return grammar_fail_member(r, p, first);
  r->at = (size_t)(p - r->begin);
  if (!grammar_string(r, p)) return SCHEMA_JSON_ERROR;
  if (r->next < r->end && *r->next == ':')
    r->next++;
  else if (!grammar_colon_rest(r))
    return SCHEMA_JSON_ERROR;
  return SCHEMA_JSON_KEY;
}

/* In an array, behind its [ (first) or an item. True: r->next is where the next value has to begin.
 * False: *ret is the end of the array or an error. */
static inline bool grammar_item(struct schema_json *r, bool first, enum schema_token *ret)
{
  const char *p = scan_space(r->next, r->end);
  if (p < r->end && *p == ']') {
    r->at = (size_t)(p - r->begin);
    r->next = p + 1;
    *ret = SCHEMA_JSON_ARRAY_END;
    return false;
  }
  if (!first) {
    if (p >= r->end || *p != ',') {
      *ret = grammar_fail_item(r, p);
      return false;
    }
    p = scan_space(p + 1, r->end);
  }
  r->next = p;
  return true;
}

#endif
