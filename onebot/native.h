/* native: the forms a message has on the OneBot wire: an array of segments, one segment, a string
 * with CQ codes. All are read into the array form; CQ codes are written as well. */
#ifndef ONEBOT_NATIVE_H
#define ONEBOT_NATIVE_H

#include "schema/tree.h"

/* The segment types of the wire that a profile can have. */
enum ob_native {
  OB_TEXT,
  OB_AT,
  OB_FACE,
  OB_MFACE,
  OB_REPLY,
  OB_IMAGE,
  OB_RECORD,
  OB_VIDEO,
  OB_FILE,
  OB_MARKDOWN,
  OB_KEYBOARD,
  OB_MUSIC,
  OB_SHARE,
  OB_JSON,
  OB_XML,
  OB_DICE,
  OB_RPS,
  OB_POKE,
  OB_SHAKE,
  OB_CONTACT,
  OB_LOCATION,
  OB_FORWARD,
  OB_NODE,
  OB_TTS,
  OB_CARDIMAGE,
  OB_NATIVE_COUNT
};

struct ob_native_type {
  const char *name;
  const char *key; /* of the datum without which it is nothing, or NULL */
  bool alone;      /* must be a send of its own */
  bool media;      /* has one media reference in `file` */
};

extern const struct ob_native_type ob_native_types[OB_NATIVE_COUNT];

/* The type of that name, or OB_NATIVE_COUNT. Names are case-sensitive. */
enum ob_native ob_native_find(struct span name);

/* A message in any of its forms -> an array node of segments as they were given, in arena and in
 * the message. literal: a string is one text (auto_escape). NULL where it is no message at all
 * (null, a number, a boolean) or memory ran out. */
const struct schema_node *ob_native_read(const struct schema_node *message, bool literal,
                                         struct arena *arena);
/* The same for the text of a string message. */
const struct schema_node *ob_native_read_cq(struct span text, struct arena *arena);

#endif
