/* event: a raw OneBot event -> the few things the program reads from it. Ids stay text. */
#ifndef ONEBOT_EVENT_H
#define ONEBOT_EVENT_H

#include "schema/tree.h"

enum ob_event_type {
  OB_EVENT_GROUP,
  OB_EVENT_PRIVATE,
  OB_EVENT_GUILD,
  OB_EVENT_SELF,
  OB_EVENT_NOTICE,
  OB_EVENT_REQUEST,
  OB_EVENT_META,
  OB_EVENT_OTHER,
  OB_EVENT_TYPE_COUNT
};

enum ob_role { OB_ROLE_NONE, OB_ROLE_MEMBER, OB_ROLE_ADMIN, OB_ROLE_OWNER };

/* Empty spans: absent. Lives in the arena and the text it was read from. */
struct ob_event {
  enum ob_event_type type;
  struct span self_id, group_id, user_id, message_id;
  enum ob_role role;
  struct span text; /* text segments joined, not trimmed */
  bool mentions_self;
  struct span reply_to;
  struct span sender_name;        /* card, else nickname */
  struct span detail;             /* notice_type, request_type or meta_event_type */
  const struct schema_node *tree; /* the whole event */
};

const char *ob_event_type_word(enum ob_event_type type);
const char *ob_role_word(enum ob_role role); /* NULL for none */

/* Reads one event. self_id: the account it came to (text), used where the event has none.
 * Anything that is a JSON object is an event (OB_EVENT_OTHER at worst); error only for bad JSON. */
enum schema_code ob_event_read(struct span json, struct span self_id, struct arena *arena,
                               struct ob_event *ret, struct schema_error *reterr);
void ob_event_from_tree(const struct schema_node *tree, struct span self_id, struct arena *arena,
                        struct ob_event *ret);

#endif
