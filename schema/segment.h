/* segment: the canonical segment types as ONE table, and the structures of a judged reply.
 * Schema, instruction, validator, planner and documentation all read schema_segment_types. */
#ifndef SCHEMA_SEGMENT_H
#define SCHEMA_SEGMENT_H

#include "schema/bytes.h"

enum schema_type {
  SCHEMA_TEXT,
  SCHEMA_MENTION,
  SCHEMA_MARKDOWN,
  SCHEMA_IMAGE,
  SCHEMA_AUDIO,
  SCHEMA_VIDEO,
  SCHEMA_FILE,
  SCHEMA_KEYBOARD,
  SCHEMA_SHARE,
  SCHEMA_DICE,
  SCHEMA_RPS,
  SCHEMA_TYPE_COUNT
};

enum schema_shape {
  SCHEMA_SHAPE_STRING,   /* data {field: string}                  */
  SCHEMA_SHAPE_MEDIA,    /* data {media: {kind, value}}           */
  SCHEMA_SHAPE_KEYBOARD, /* data {rows: [[{label, payload}]]}     */
  SCHEMA_SHAPE_SHARE,    /* data {url, title, declared fields…}   */
  SCHEMA_SHAPE_EMPTY,    /* data {}                               */
};

enum schema_media_kind {
  SCHEMA_MEDIA_URL,
  SCHEMA_MEDIA_PATH,
  SCHEMA_MEDIA_BASE64,
  SCHEMA_MEDIA_FILE,
  SCHEMA_MEDIA_KIND_COUNT
};

enum { SCHEMA_HEAD_MAX = 48 };

struct schema_segment_type {
  const char *name;
  enum schema_shape shape;
  const char *field;   /* the one field of SCHEMA_SHAPE_STRING, else NULL */
  const char *help_en; /* what the instruction says of it */
  const char *help_zh;
  size_t name_len, field_len;
  /* how a segment begins that is printed without line breaks, without and with spaces: up to its
   * data's {, or up to the value of its field */
  char heads[2][SCHEMA_HEAD_MAX];
  unsigned char head_lens[2];
};

extern const struct schema_segment_type schema_segment_types[SCHEMA_TYPE_COUNT];
extern const char *const schema_media_kinds[SCHEMA_MEDIA_KIND_COUNT];

/* The type of that name, or SCHEMA_TYPE_COUNT. */
enum schema_type schema_type_find(struct span name);
/* The type whose name begins at p and is followed by a quote before end, or SCHEMA_TYPE_COUNT. */
enum schema_type schema_type_quoted(const char *p, const char *end);
/* The type of the segment whose { is at p where it begins with a head, whose length goes to *retlen,
 * else SCHEMA_TYPE_COUNT. */
enum schema_type schema_type_headed(const char *p, const char *end, size_t *retlen);
/* The kind of that name, or SCHEMA_MEDIA_KIND_COUNT. */
enum schema_media_kind schema_media_kind_find(struct span name);

enum { SCHEMA_KEYBOARD_ROW_MAX = 5 }; /* reply.md 39 */

struct schema_pair {
  struct span name, value;
};

struct schema_button {
  struct span label, payload;
};

struct schema_row {
  const struct schema_button *buttons;
  size_t count;
};

struct schema_segment {
  enum schema_type type;
  enum schema_media_kind media_kind; /* image, audio, video, file */
  bool as_file;                      /* audio only: a directive's audio without the voice tag */
  struct span text;                  /* text, content, target or media value, by type */
  union {
    struct {
      const struct schema_row *rows;
      size_t count;
    } keyboard;
    struct {
      /* url, title and the non-empty extension fields, in order */
      const struct schema_pair *fields;
      size_t count;
    } share;
  };
};

struct schema_message {
  const struct schema_segment *segments;
  size_t count;
  struct span reply_to; /* message id to quote, empty: none; set by directives, never a model */
};

/* Lent: everything lives in the arena that it was read into, or in the text that was read. */
struct schema_reply {
  const struct schema_message *messages;
  size_t count;
  struct span reaction; /* empty: none */
};

/* A share's field, empty where absent. */
struct span schema_share_field(const struct schema_segment *share, const char *name);

#endif
