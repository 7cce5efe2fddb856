/* face: reaction values, labels and single emoji -> the id that a reaction action takes.
 * The table is generated at build time from onebot/faces.tsv. */
#ifndef ONEBOT_FACE_H
#define ONEBOT_FACE_H

#include "schema/bytes.h"

struct ob_face {
  const char *id, *name;
  bool proven;  /* on Tencent's own (partial) list of reactions */
  uint8_t type; /* 1 face, 2 emoji (decimal code point) */
};

extern const struct ob_face ob_faces[]; /* by number */
extern const size_t ob_face_count;
extern const uint16_t
    ob_faces_by_name[]; /* indices by name, then proven ones first, then by number */
/* The handy list of spec/onebot.md 4.3, offered where `reactions: true`. Ids, with the names of ob_faces. */
extern const char *const ob_faces_handy[];
extern const size_t ob_face_handy_count;

/* The row that a value, label or emoji means (vectors: face), or NULL. unproven: also rows that
 * nobody has proven to work. */
const struct ob_face *ob_face_find(struct span value, bool unproven);

#endif
