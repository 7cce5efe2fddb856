/* reply: the strict contract. An offer and bytes become a reply in one pass, or the first fault. */
#ifndef SCHEMA_REPLY_H
#define SCHEMA_REPLY_H

#include "schema/error.h"
#include "schema/json.h"
#include "schema/offer.h"

/* The most that one reply may take from its arena besides the text itself. */
enum { SCHEMA_REPLY_ARENA_MAX = 64 * 1024 * 1024 };

/* Reads text as one reply by reply.md 2.A to 2.G, strictly, and cleans it: control characters but
 * tab and newline are cut from what people read (not from targets and media references, where the
 * plan refuses them), then empty texts, share extension fields, keyboard rows and keyboards go,
 * then messages without anything but white space.
 * *ret lives in arena and in text, and is written only on success. The legacy root
 * {"segments":[…]} is SCHEMA_EMISSING here. A reaction where none is offered is passed over
 * whatever it is, a missing one is "" (reply.md 49, 51).
 * Errors: path like $.messages[0].segments[1].data.target; those of schema_json_next, and ETYPE,
 * EMISSING, EUNKNOWN, ENOTOFFERED, EENUM, ELIMIT. Any thread; no global state. */
enum schema_code schema_reply_read(const struct schema_offer *offer, struct span text,
                                   struct arena *arena, struct schema_reply *ret,
                                   struct schema_error *reterr);
/* ---- for the repair: the same rules over a reader that the caller has opened ---- */

enum schema_reply_option {
  SCHEMA_REPLY_LEGACY = 1,   /* takes {"segments":[…]} as well */
  SCHEMA_REPLY_INTEGERS = 2, /* takes an integer where a string is wanted, by its digits (81) */
};

/* What was let pass although a strict reply would not have it. None of it is a fault. */
struct schema_reply_notes {
  bool legacy_root;      /* the root was {"segments":[…]} */
  bool reaction_ignored; /* written where none is offered */
  bool reaction_missing; /* left out where it is offered */
  bool skipped;          /* a value was passed over of which only the syntax was judged */
  size_t integers;       /* how many were read as strings */
  size_t integer_at;     /* byte of the first of them */
};

/* Reads one reply from reader, which was just initialised or stands where a value begins. The reader
 * stays behind the root object: whether anything follows, the caller asks schema_json_next. What is
 * built lives in the reader's arena and text.
 * options: schema_reply_option bits. retnotes may be NULL; it is filled on failure as well, as far
 * as was read. Linear: no byte is read more than twice. */
enum schema_code schema_reply_read_from(const struct schema_offer *offer,
                                        struct schema_json *reader, unsigned options,
                                        struct schema_reply *ret,
                                        struct schema_reply_notes *retnotes,
                                        struct schema_error *reterr);

#endif
