/* json: THE reader. Every JSON text that enters the program is read by this pull reader, token by
 * token, without a tree: RFC 8259 with what it leaves open decided: depth bounded, UTF-8 checked,
 * surrogates paired, keys unique, numbers kept as their text. It has no lenient mode: what it has
 * refused is written out as strict JSON, each repair noted with its byte (lenient.h), and read once
 * more. So a bracket can be tried in a text whose strings are told from the rest by one rule, every
 * repaired reply has passed the same code as a sound one, and this pays nothing for leniency. */
#ifndef SCHEMA_JSON_H
#define SCHEMA_JSON_H

#include "schema/bytes.h"
#include "schema/error.h"

enum schema_token {
  SCHEMA_JSON_ERROR, /* see error; the reader stays there */
  SCHEMA_JSON_END,   /* the one value is complete and only white space followed */
  SCHEMA_JSON_OBJECT,
  SCHEMA_JSON_OBJECT_END,
  SCHEMA_JSON_ARRAY,
  SCHEMA_JSON_ARRAY_END,
  SCHEMA_JSON_KEY,    /* text: the key, decoded; its colon is read as well */
  SCHEMA_JSON_STRING, /* text: the string, decoded */
  SCHEMA_JSON_NUMBER, /* text: its bytes as written */
  SCHEMA_JSON_TRUE,
  SCHEMA_JSON_FALSE,
  SCHEMA_JSON_NULL,
};

enum {
  SCHEMA_DEPTH_REPLY = 32,   /* a reply needs 8; more is an attack or a broken model */
  SCHEMA_DEPTH_EVENT = 64,   /* nested forwards of OneBot events and actions */
  SCHEMA_DEPTH_SCHEMA = 512, /* JSON Schemas and eval lines, which hold other documents */
};

struct schema_keys;

/* One reading. Members are read-only for callers; those below the line are the reader's own. */
struct schema_json {
  struct span text;          /* of the last KEY, STRING (decoded) or NUMBER (as written) */
  bool controls;             /* the last string holds control characters beyond \t and \n */
  size_t at;                 /* byte where the last token begins */
  struct schema_error error; /* after SCHEMA_JSON_ERROR; path is left empty */
  unsigned depth;            /* open objects and arrays */
  /* the reader's own */
  const char *begin, *next, *end;
  struct arena *arena; /* decoded strings that differ from their bytes, sets of seen keys */
  unsigned depth_max;
  int state;                      /* what may come next, see json.c */
  struct schema_keys *outer_keys; /* of the outermost object; further in by their links */
  struct schema_keys *keys;       /* of the innermost open object */
  uint64_t is_object[SCHEMA_DEPTH_SCHEMA / 64]; /* one bit per open container, outermost first */
};

/* Begins to read text, which must stay while tokens are used. depth_max at most
 * SCHEMA_DEPTH_SCHEMA. What tokens point to lives in text and in arena. */
void schema_json_init(struct schema_json *r, struct span text, struct arena *arena,
                      unsigned depth_max);
/* The next token. Errors: SCHEMA_ETRUNCATED where the text ends before its value (at is then its
 * length; an empty text too), else the code of the fault and its first byte. After ERROR and END
 * the same is returned again. */
enum schema_token schema_json_next(struct schema_json *r);
/* Passes over the value whose first token was just returned, judging its syntax all the same.
 * False: it has a fault, which is in r->error. */
bool schema_json_skip(struct schema_json *r, enum schema_token first);
/* Where the reader stands, the byte behind the last token: the raw bytes of a value are those from
 * the at of its first token to the offset behind its last. */
static inline size_t schema_json_offset(const struct schema_json *r)
{
  return (size_t)(r->next - r->begin);
}

#endif
