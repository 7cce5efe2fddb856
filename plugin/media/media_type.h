/* media_type: what bytes are, by the bytes alone: a declared type or a file's ending is never
 * believed. ONE table of what QQ deals with; libmagic knows the rest (documents, text). */
#ifndef PLUGIN_MEDIA_MEDIA_TYPE_H
#define PLUGIN_MEDIA_MEDIA_TYPE_H

#include "schema/segment.h"

enum { RG_MEDIA_HEAD = 64 * 1024 }; /* so much of the beginning is looked at */

enum rg_media_class {
  RG_MEDIA_UNKNOWN,
  RG_MEDIA_IMAGE,
  RG_MEDIA_AUDIO,
  RG_MEDIA_VIDEO,
  RG_MEDIA_OTHER, /* recognised, for files only */
};

struct rg_media_type {
  enum rg_media_class class;
  char mime[64]; /* "" where unknown */
};

/* libmagic's handle; belongs to one thread. Loaded at the first need. */
struct rg_magic {
  void *cookie;
  bool tried;
};

/* head: the first bytes, at least min(RG_MEDIA_HEAD, all). magic may be NULL: the table only. */
struct rg_media_type rg_media_type_of(struct span head, struct rg_magic *magic);
void rg_magic_done(struct rg_magic *magic);
/* Whether such bytes may go as a segment of that type (image, audio, video, file). */
bool rg_media_type_fits(const struct rg_media_type *t, enum schema_type segment);

#endif
