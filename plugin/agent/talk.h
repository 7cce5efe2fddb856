/* talk: the last messages of one chat as a model is shown them: who said what, marked as data. */
#ifndef PLUGIN_AGENT_TALK_H
#define PLUGIN_AGENT_TALK_H

#include "plugin/provider/provider.h"

enum {
  RG_TALK_MAX = 100,        /* lines; the most that agent.context allows */
  RG_TALK_LINE_MAX = 4000,  /* bytes of one; longer ones are cut */
  RG_TALK_PICTURES_MAX = 4, /* of one line; more are passed over */
  RG_TALK_URL_MAX = 1000,   /* bytes of a picture's address; QQ's have 400 */
};

/* One message; unused spans are empty. */
struct rg_talk_line {
  struct span sender_id, name, message_id, reply_to, text;
  struct span pictures; /* their addresses, a line each */
  bool ours;            /* the bot's own */
};

/* A picture of a message. */
struct rg_talk_picture {
  struct span message_id, url;
};

/* Zeroed: nothing was said yet. */
struct rg_talk {
  struct rg_talk_line lines[RG_TALK_MAX]; /* a ring; each line's bytes are one allocation */
  size_t first, count;
};

/* Adds a copy and forgets the oldest beyond RG_TALK_MAX. Memory that is not there costs the line. */
void rg_talk_add(struct rg_talk *t, const struct rg_talk_line *line);
/* Forgets all. */
void rg_talk_done(struct rg_talk *t);
/* As much of a text as a line may have, cut between characters. */
struct span rg_talk_cut(struct span text);
/* Forgets what a message said; that there was one stays known. */
void rg_talk_forget(struct rg_talk *t, struct span message_id);
/* Whether a message id was seen here, as a message or as what one replied to. */
bool rg_talk_knows(const struct rg_talk *t, struct span message_id);
/* Whether it is one of the bot's own messages. */
bool rg_talk_is_ours(const struct rg_talk *t, struct span message_id);
/* The last lines of the talk, at most limit but back to the message that is asked about, in arena:
 * people as lines of JSON in the user's turns, the bot as the model. Begins with a turn of the user.
 * Where more was said since, a last line {"answer":ID} names the message. Returns how many; 0: none,
 * or no memory. */
size_t rg_talk_said(const struct rg_talk *t, size_t limit, struct span asked, struct arena *arena,
                    struct rg_said **ret);
/* Leaves out what was said first, about half of its bytes, from what rg_talk_said gave and what was
 * added behind it: whole turns, and of a user's turn whole lines. The last turn of people, and what
 * follows it, stays. False: there was nothing to leave out. */
bool rg_talk_halve(struct rg_said *said, size_t *count);
/* The newest pictures among the last lines of the talk, at most max, the oldest of them first, in
 * arena. Returns how many. */
size_t rg_talk_pictures(const struct rg_talk *t, size_t lines, size_t max, struct arena *arena,
                        struct rg_talk_picture *ret);
/* Appends the addresses of the pictures of an event's message, a line each. */
void rg_talk_addresses(const struct schema_node *message, struct buf *out);
/* What a message of an event in its array form shows, segments without text as a word in brackets.
 * Appends as much as there is room for. */
void rg_talk_text(const struct schema_node *message, struct buf *out);

#endif
