/* sight: what one pass over a frame from a peer tells: whether it is an event or an answer, to what,
 * and of a message as much as decides whether somebody has to read it as a whole. */
#ifndef ONEBOT_SIGHT_H
#define ONEBOT_SIGHT_H

#include "schema/json.h"

/* Spans live in the frame and in the arena; empty: absent, or no string or number. */
struct ob_sight {
  bool has_post_type, has_status, echo_is_string;
  struct span post_type, echo, stream, retcode, meta_event, interval;
  struct span self_id, user_id, group_id, message_type;
  struct span echo_raw, data; /* their bytes in the frame */
  struct span message_id;     /* of data, where that is an object */
  bool message;               /* `message` is an array or a string */
  bool at;                    /* someone is, or may be, mentioned in it */
  struct span text;           /* its first text that is not blank; a string as it is */
};

/* Reads the whole frame strictly. False: it is no JSON object, and *reterr says why. */
bool ob_sight_read(struct span frame, struct arena *arena, struct ob_sight *ret,
                   struct schema_error *reterr);

#endif
