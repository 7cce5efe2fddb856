/* stream: a reply that arrives in chunks. What may be the beginning of a tag or of a MEDIA line is
 * held back until it is known what it is (rich-output.md 187 to 190). */
#ifndef SCHEMA_STREAM_H
#define SCHEMA_STREAM_H

#include "schema/bytes.h"

enum { SCHEMA_STREAM_HELD_MAX = 256 * 1024 }; /* more than that is no tag: it is let out */

struct schema_stream {
  struct buf held; /* not shown yet */
  struct buf gap;  /* the white space before it */
  struct buf id;   /* of the last [[reply_to:ID]]; empty: none */
  bool reply_to_current, has_reply_tag;
  bool audio_as_voice;
  bool shown; /* some text has been given out */
};

void schema_stream_init(struct schema_stream *s);
void schema_stream_done(struct schema_stream *s);
/* Adds a chunk; last: nothing more comes, all that is held is let out. *ret is what may be shown
 * now; it lives in arena and in chunk. False: no memory. Linear in all chunks together. */
bool schema_stream_push(struct schema_stream *s, struct span chunk, bool last, struct arena *arena,
                        struct span *ret);

#endif
