/* tag: the reply and voice tags in a text, [[reply_to_current]], [[reply_to:ID]] and
 * [[audio_as_voice]]: found outside code, taken out, and the white space they leave tidied
 * (rich-output.md sections B, C, D). */
#ifndef SCHEMA_TAG_H
#define SCHEMA_TAG_H

#include "schema/bytes.h"

enum schema_tag_kind {
  SCHEMA_TAG_AUDIO = 1,
  SCHEMA_TAG_REPLY = 2,
};

struct schema_tags {
  bool audio;     /* [[audio_as_voice]] was there */
  bool reply;     /* any reply tag was there */
  bool current;   /* [[reply_to_current]] was there */
  struct span id; /* of the last [[reply_to:ID]] with a usable one; ptr NULL: none */
};

enum { SCHEMA_TAG_ID_MAX = 256 }; /* characters of an id (rule 66) */

/* Whether anything in the text could be a tag. */
bool schema_tag_possible(struct span text);

/* Takes the tags of the kinds in strip out of text (the others are only noted) and tidies what is
 * left if there was any. *rettext lives in arena or is text. False: no memory. Linear. */
bool schema_tags_take(struct span text, unsigned strip, struct arena *arena, struct span *rettext,
                      struct schema_tags *rettags);

/* The last pass before delivery: whatever tag is left, and a broken reply tag at the very start
 * (rule 69), goes with the white space around it. */
bool schema_tags_finish(struct span text, struct arena *arena, struct span *rettext);

/* Tidies white space outside code (rules 84 to 90). */
bool schema_tag_tidy(struct span text, struct arena *arena, struct span *rettext);

#endif
