/* answer: finds the reply object in a model's answer: strict reading first, then one bracket, then
 * lenient reading (reply.md 79, 80, 83, 2.O). */
#ifndef SCHEMA_ANSWER_H
#define SCHEMA_ANSWER_H

#include "schema/repair.h"
#include "schema/reply.h"

enum schema_answer_kind {
  SCHEMA_ANSWER_REPLY,  /* a reply object was read */
  SCHEMA_ANSWER_BROKEN, /* one is there, but it has a fault that is not repaired for free */
  SCHEMA_ANSWER_OTHER,  /* the answer is JSON of another shape */
  SCHEMA_ANSWER_NONE,   /* no JSON that decides anything: prose */
};

struct schema_answer {
  enum schema_answer_kind kind;
  size_t begin, end; /* REPLY: of the object in the text; OTHER: begin of the value that decides */
  struct schema_reply reply;
  struct schema_reply_notes notes;
  struct schema_error error; /* BROKEN and OTHER */
};

/* What a search may use. */
struct schema_answer_search {
  const struct schema_offer *offer;
  struct arena *arena;
  struct schema_repairs *repairs; /* what was done is noted here, by base + byte of text */
  size_t base;
  size_t closers_max; /* closers that may be missing at the end */
};

/* Reads one reply object at the begin of text, as it is or with what may be repaired in it. */
enum schema_code schema_answer_read(const struct schema_answer_search *search, struct span text,
                                    struct schema_answer *ret);

/* Finds the first top-level object of text that decides what the answer is, and reads it. Linear. */
void schema_answer_find(const struct schema_answer_search *search, struct span text,
                        struct schema_answer *ret);

/* Whether the object at byte at begins like a reply: messages, segments or reaction as its first
 * key, in any quotes. */
bool schema_answer_is_reply_like(struct span text, size_t at);
/* Whether text, maybe in a fence, begins as a reply object whose quotes nobody can read, be they
 * left out: people must not see it. */
bool schema_answer_is_garbled(struct span text);

#endif
