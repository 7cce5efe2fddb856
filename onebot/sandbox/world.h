/* world: the people, groups and chats of the sandbox and what was said in them. The people are
 * placeholders; nothing here knows an implementation or a socket. Ids are the real ones (an
 * implementation that shows aliases translates at the wire). Service thread only. */
#ifndef ONEBOT_SANDBOX_WORLD_H
#define ONEBOT_SANDBOX_WORLD_H

#include "schema/tree.h"

enum {
  OB_WORLD_MESSAGES = 500,            /* kept per chat; what is older is gone, as on a phone */
  OB_WORLD_BYTES = 128 * 1024 * 1024, /* of all messages: two of the largest frames and some */
  OB_WORLD_REACTIONS = 64,            /* of one message; QQ itself shows 20 kinds */
  OB_WORLD_PEOPLE = 7,
  OB_WORLD_GROUPS = 2,
  OB_WORLD_MEMBERS = 11,
  OB_WORLD_CHATS = OB_WORLD_GROUPS + OB_WORLD_PEOPLE,
};

#define OB_WORLD_SELF INT64_C(2854196310) /* the bot */

struct ob_person {
  int64_t id;
  const char *name;
  bool is_friend; /* of the bot */
};

struct ob_group {
  int64_t id;
  const char *name;
  bool muted; /* nobody but owner and admins may speak; here: the bot may not */
};

struct ob_member {
  int64_t group, user;
  const char *card; /* "" where none is set */
  const char *role; /* owner, admin, member */
};

struct ob_reaction {
  char id[16]; /* face id or code point, decimal */
  int64_t user;
};

struct ob_said {
  int64_t id, seq, time;
  int64_t group;        /* 0: private */
  int64_t user;         /* private: the other person; group: 0 */
  int64_t sender;       /* who wrote it */
  struct span segments; /* the array as it was delivered; owned */
  struct span
      notes; /* an array of texts: what the played implementation left out or changed; owned */
  bool recalled;
  bool unseen; /* accepted, and nobody sees it */
  size_t reaction_count;
  struct ob_reaction reactions[OB_WORLD_REACTIONS];
};

struct ob_chat {
  int64_t group, user; /* one of them is 0 */
  size_t first, count;
  struct ob_said *said[OB_WORLD_MESSAGES]; /* a ring */
};

struct ob_world {
  struct ob_person people[OB_WORLD_PEOPLE];
  struct ob_group groups[OB_WORLD_GROUPS];
  struct ob_member members[OB_WORLD_MEMBERS];
  struct ob_chat chats[OB_WORLD_CHATS];
  size_t bytes;    /* of all messages */
  int64_t seq;     /* of the last message */
  uint64_t random; /* state of the generator */
};

/* seed: two worlds with the same one give the same ids. */
void ob_world_init(struct ob_world *w, uint64_t seed);
void ob_world_done(struct ob_world *w);

const struct ob_person *ob_world_person(const struct ob_world *w, int64_t user);
struct ob_group *ob_world_group(struct ob_world *w, int64_t group);
struct ob_member *ob_world_member(struct ob_world *w, int64_t group, int64_t user);
struct ob_chat *ob_world_chat(struct ob_world *w, int64_t group, int64_t user);
/* The i-th message of a chat, 0 the oldest that is kept. */
struct ob_said *ob_chat_at(const struct ob_chat *c, size_t i);
/* Draws a number below n. */
uint64_t ob_world_draw(struct ob_world *w, uint64_t n);

/* How ids look: the words of facts.tsv, "positive" (31 bits), "signed" (32 bits) or "long". */
int64_t ob_world_new_id(struct ob_world *w, struct span kind);

/* Keeps a message; segments and notes are copied. NULL: no such chat, or no memory. The pointer
 * stays good until the chat has taken OB_WORLD_MESSAGES further ones. */
struct ob_said *ob_world_say(struct ob_world *w, int64_t group, int64_t user, int64_t sender,
                             int64_t id, struct span segments, struct span notes);
struct ob_said *ob_world_said(const struct ob_world *w, int64_t id);
/* Sets or takes back a reaction. False: nothing changed (it was so already, or no room). */
bool ob_world_react(struct ob_said *said, struct span emoji, int64_t user, bool set);

#endif
