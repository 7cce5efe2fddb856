/* compose: gathers segments into the sends that carry them. What must travel alone is split off in
 * order, blocks stand on lines of their own, a quote is the first segment of the first send, and a
 * send that would show nothing is not made. Prints straight into the frame, without a tree. */
#ifndef ONEBOT_COMPOSE_H
#define ONEBOT_COMPOSE_H

#include "schema/print.h"

enum ob_step_kind { OB_STEP_REACTION, OB_STEP_SEND, OB_STEP_UPLOAD };

/* One action of a plan. */
struct ob_step {
  enum ob_step_kind kind;
  struct span action;    /* "send_group_msg" */
  struct span params;    /* JSON object, as it goes over the wire */
  size_t message;        /* index in reply->messages; 0 for the reaction */
  size_t chars;          /* Unicode characters of text, for the pace */
  bool card;             /* this send is a music card or ark: may be "ok" and invisible */
  struct span card_text; /* the text form of that card, for the fallback; else empty */
};

struct ob_plan {
  const struct ob_step *steps;
  size_t count;
};

/* What stands last in the send that is being made. */
enum ob_compose_last { OB_LAST_NONE, OB_LAST_LINE, OB_LAST_TEXT, OB_LAST_BLOCK, OB_LAST_AT };

struct ob_compose {
  struct arena *arena;
  struct span action, head, tail; /* a send is action, and head segments tail */
  struct buf out;                 /* the send that is being made; empty before its first segment */
  struct schema_writer w;
  struct span quote; /* the segment that the next send begins with; empty: none */
  size_t message;
  enum ob_compose_last last;
  bool visible; /* something in it shows */
  bool alone;   /* the open segment must be a send of its own */
  size_t chars;
  bool card;
  struct span card_text;
  bool watch;       /* set after init: look for a tool call that several texts make together */
  struct buf words; /* watch: the texts of the send, joined */
  size_t texts;     /* how many */
  bool call;        /* watch: one was found */
  struct ob_step *steps;
  size_t count, room;
};

/* Every init needs a done. action, head and tail are lent. */
void ob_compose_init(struct ob_compose *c, struct span action, struct span head, struct span tail,
                     struct arena *arena);
void ob_compose_done(struct ob_compose *c);

/* The printed segment that quotes a message. Empty where memory ran out. */
struct span ob_compose_quote(struct span id, struct arena *arena);
/* Begins message number index: what was begun is a send of its own. quote: the printed segment
 * that its first send begins with, or empty. */
void ob_compose_message(struct ob_compose *c, size_t index, struct span quote);
/* Running text; an empty one is left out. */
void ob_compose_text(struct ob_compose *c, struct span text);
/* Text on lines of its own; an empty one is left out. */
void ob_compose_block(struct ob_compose *c, struct span text);
void ob_compose_at(struct ob_compose *c, struct span target);
/* Any other segment: the caller writes one {"type","data"} with the writer, then closes. */
struct schema_writer *ob_compose_open(struct ob_compose *c, bool alone);
void ob_compose_close(struct ob_compose *c);
/* For the alone segment that is open: it is a card, and these are its words. */
void ob_compose_is_card(struct ob_compose *c, struct span text);
/* An action that is no send, in its place. params lives as long as the plan. */
void ob_compose_step(struct ob_compose *c, enum ob_step_kind kind, struct span action,
                     struct span params);
/* Ends the last send. Everything in *ret lives in the arena, action as it was given. False: out of
 * memory. */
bool ob_compose_end(struct ob_compose *c, struct ob_plan *ret);

#endif
