/* judge: what the played implementation makes of a message that a bot sends: which segments are
 * shown, which are dropped without a word, and when the whole call fails. The rules are the rows of
 * segments.tsv, fields.tsv, files.tsv and music.tsv. */
#ifndef ONEBOT_SANDBOX_JUDGE_H
#define ONEBOT_SANDBOX_JUDGE_H

#include "onebot/sandbox/played.h"
#include "onebot/sandbox/world.h"
#include "schema/print.h"

/* What the sign service of music cards does. */
enum ob_sign { OB_SIGN_UP, OB_SIGN_DOWN, OB_SIGN_UNSET };

enum { OB_FORWARD_DEPTH = 3 }; /* NapCat stops below three levels of nodes */

struct ob_judge {
  /* given */
  const char *played;
  struct ob_world *world;
  int64_t group, user; /* where it goes; one of them is 0 */
  enum ob_sign sign;
  struct arena *arena; /* for what is read on the way */
  /* found */
  bool refused;
  int32_t retcode;     /* of the refusal */
  struct buf text;     /* of the refusal */
  struct buf segments; /* what is shown, an array */
  struct buf notes;    /* what was left out or changed, an array of texts */
  bool unseen;         /* accepted, and nobody sees it */
};

void ob_judge_init(struct ob_judge *j, const char *played, struct ob_world *world,
                   struct arena *arena);
void ob_judge_done(struct ob_judge *j);

/* A message: a text with CQ codes (plain: none are read in it), an array or one segment. */
void ob_judge_message(struct ob_judge *j, const struct schema_node *message, bool plain);
/* The nodes of a merged forward; the segment that is shown is one `forward` with their content. */
void ob_judge_forward(struct ob_judge *j, const struct schema_node *nodes);
/* A file for upload_group_file and upload_private_file. */
void ob_judge_upload(struct ob_judge *j, struct span file, struct span name);

/* For the parts of the judge itself. */
struct ob_judge_out {
  struct schema_writer segments, notes;
  size_t kept; /* segments written */
  unsigned depth;
};
/* Refuses with a row of facts.tsv, or with "fail TEXT" of another table. */
void ob_judge_refuse(struct ob_judge *j, const char *fact, struct span detail);
void ob_judge_refuse_rule(struct ob_judge *j, struct span rule, struct span detail);
__attribute__((format(printf, 2, 3))) void ob_judge_note(struct ob_judge_out *o, const char *format,
                                                         ...);
void ob_judge_write_text(struct ob_judge_out *o, struct span text);
/* cards.c: a music segment and a json segment. */
void ob_judge_music(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *segment);
void ob_judge_ark(struct ob_judge *j, struct ob_judge_out *o, const struct schema_node *segment);

#endif
