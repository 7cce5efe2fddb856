/* reasoning: what a model has thought aloud. It is never a reply and never searched for one
 * (reply.md 84, 108). One table of the families of marks; the channels of harmony beside it. */
#ifndef SCHEMA_REASONING_H
#define SCHEMA_REASONING_H

#include "schema/bytes.h"

struct schema_reasoning {
  struct span text; /* what is left; lives in arena or is part of the text */
  bool cut;         /* something is gone */
  bool unclosed;    /* a block that the text ended in was among it */
  size_t at;        /* first byte that went */
  size_t base;      /* where what is left begins in the text, as near as one byte can say */
};

/* Whether text has anything that could be a mark of reasoning. Cheap. */
bool schema_reasoning_possible(struct span text);

/* Cuts closed blocks, a block that the text ends in, and all before a closing mark that has no
 * opening one. Marks in inline code and inside whole JSON objects are content; so are two that are
 * only named in a sentence. False: out of memory. Linear. */
bool schema_reasoning_cut(struct span text, struct arena *arena, struct schema_reasoning *ret);

enum schema_channel {
  SCHEMA_CHANNEL_NONE,      /* not harmony's format */
  SCHEMA_CHANNEL_FINAL,     /* there is an answer */
  SCHEMA_CHANNEL_REASONING, /* there is none, only reasoning */
  SCHEMA_CHANNEL_CALL,      /* a message has a recipient: a tool is called */
};

/* Finds the last final channel of an answer in harmony's format (gpt-oss), with its tokens or with
 * what is left where a server has dropped them. *retfinal is part of text. */
enum schema_channel schema_reasoning_channel(struct span text, struct span *retfinal);

#endif
