/* link: what the program sees of one endpoint, whichever side dialled: state, identity, calls that
 * are matched to their responses by echo, and the watch over its heartbeat. The client and the
 * reverse WebSocket server carry the bytes. Service thread only; so are all callbacks. */
#ifndef ONEBOT_LINK_H
#define ONEBOT_LINK_H

#include "onebot/profile.h"
#include "onebot/service.h"
#include "onebot/sight.h"

enum {
  /* A peer may announce any length; 50 MiB is what NapCat accepts itself. */
  OB_FRAME_MAX = 50 * 1024 * 1024,
  /* Calls that wait for their response. The pace keeps a chat to about one a second; thousands
   * waiting mean a peer that answers nothing. */
  OB_CALLS_MAX = 4096,
};

enum ob_link_state {
  OB_LINK_DOWN,   /* not connected; dials again after the back-off */
  OB_LINK_OPEN,   /* the upgrade is done, nothing heard yet */
  OB_LINK_READY,  /* a first event or response came; profile and self_id are known or given up on */
  OB_LINK_REFUSED /* the token or the path is refused: long back-off (spec/onebot.md 0.11) */
};

struct ob_link_handlers {
  void *ctx;
  /* why: a sentence for the operator, without secrets; lent for the call */
  void (*state)(void *ctx, enum ob_link_state state, const char *why);
  /* every frame that is no response to a call of ours, as it came; strict JSON, an object */
  void (*event)(void *ctx, struct span json);
};

enum ob_answer_kind {
  OB_ANSWER_RESPONSE,    /* json holds the response object */
  OB_ANSWER_TIMEOUT,     /* none came in time */
  OB_ANSWER_CLOSED,      /* the connection ended after the write */
  OB_ANSWER_NOT_WRITTEN, /* it surely never reached the wire: safe to send again */
  OB_ANSWER_PART,        /* of a stream, whose last is the response; only for ob_link_forward */
};

struct ob_answer {
  enum ob_answer_kind kind;
  struct span json; /* lent for the call, as what follows */
  /* RESPONSE, PART: the raw values in json, and the id of the message that was sent; empty where
   * there are none */
  struct span echo, retcode, message_id;
};

struct ob_link;

/* Sends {"action","params","echo"}; action is a plain name, params a JSON object. done runs exactly
 * once, maybe before this returns (not connected, too many calls wait, a frame above the profile's
 * frame_max: NOT_WRITTEN). Of a stream of replies (NapCat's stream-action) the last is the answer. */
void ob_link_call(struct ob_link *l, struct span action, struct span params, unsigned timeout_ms,
                  void (*done)(void *ctx, const struct ob_answer *answer), void *ctx);
/* Sends somebody else's frame with an echo of ours in it: before, which ends with "echo": as it
 * stands in an object, and after. done runs as for ob_link_call, and for each part of a stream. */
void ob_link_forward(struct ob_link *l, const struct span before[2], struct span after,
                     unsigned timeout_ms, void (*done)(void *ctx, const struct ob_answer *answer),
                     void *ctx);
/* Sends a frame as it is; nobody waits for an answer. False: not connected, too much waits. */
bool ob_link_send(struct ob_link *l, struct span frame);
/* Bytes that wait for the socket. */
size_t ob_link_waiting(const struct ob_link *l);
enum ob_link_state ob_link_state(const struct ob_link *l);
const struct ob_profile *
ob_link_profile(const struct ob_link *l);             /* never NULL; spec until known */
struct span ob_link_self_id(const struct ob_link *l); /* empty until known */
struct span ob_link_version(const struct ob_link *l); /* "NapCat.Onebot 4.18.19" or empty */

/* What was seen of the event while its handler runs; else NULL. */
const struct ob_sight *ob_link_sight(const struct ob_link *l);

/* Stops and resumes reading from the peer: back-pressure for who cannot take more events. Calls
 * wait for their responses meanwhile. */
void ob_link_pause(struct ob_link *l, bool pause);

/* For what carries a link. The carrier hands up whole text messages and says when the connection
 * begins and ends; the link hands down what is to be sent. */

struct ob_carrier {
  /* Queues the parts as one text message. False: it cannot (closing, too much waits). */
  bool (*send)(void *wire, const struct span *parts, size_t count);
  /* Bytes queued and bytes handed to the socket since the connection began. */
  uint64_t (*queued)(void *wire);
  uint64_t (*handed)(void *wire);
  void (*pause)(void *wire, bool pause);
  void (*ping)(void *wire); /* NULL: the carrier watches over silence itself */
  /* The peer is dead or does not want us: end the connection. ob_link_down follows. */
  void (*end)(void *wire, const char *why);
};

struct ob_link_options {
  struct ob_service *service;
  const char *name;                 /* for log lines; lent for the link's life */
  const struct ob_profile *profile; /* NULL: detect */
  uint32_t self_id;                 /* the account; 0: find out. With a profile nothing is asked */
  struct ob_link_handlers on;
  unsigned ping_ms, probe_ms;
  bool patient; /* the peer may come long after the link is up: ask who it is until it answers */
};

struct ob_link *ob_link_new(const struct ob_link_options *options); /* NULL: no memory */
/* No callback comes after it; calls that wait end before. The memory goes with ob_link_free. */
void ob_link_close(struct ob_link *l);
void ob_link_free(struct ob_link *l);

/* The upgrade is done. self_id: what its headers say of the account, or empty. */
void ob_link_up(struct ob_link *l, const struct ob_carrier *carrier, void *wire,
                struct span self_id);
/* Any bytes came. */
void ob_link_heard(struct ob_link *l);
/* For a carrier that matches answers itself, by a number of its own: that of the call whose frame
 * was just given to send, never 0; and the answer to such a call (empty: none came). */
uint64_t ob_link_ticket(const struct ob_link *l);
void ob_link_answer(struct ob_link *l, uint64_t ticket, struct span json);
/* One whole text message. The link may be closed when it returns. */
void ob_link_take(struct ob_link *l, struct span text);
/* The connection ended or an attempt failed; waiting calls end. state: DOWN or REFUSED. */
void ob_link_down(struct ob_link *l, enum ob_link_state state, const char *why);
/* Whether an event or a response came since the last ob_link_up. */
bool ob_link_proven(const struct ob_link *l);
/* The peer said by a response that it does not want us (retcode 1401, 1403). */
bool ob_link_unwanted(const struct ob_link *l);

#endif
