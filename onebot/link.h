/* link: what the program sees of one endpoint, whichever side dialled: state, identity, calls that
 * are matched to their responses by echo, and the watch over its heartbeat. The client and the
 * reverse WebSocket server carry the bytes. Service thread only; so are all callbacks. */
#ifndef ONEBOT_LINK_H
#define ONEBOT_LINK_H

#include "onebot/profile.h"
#include "onebot/service.h"

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
};

struct ob_answer {
  enum ob_answer_kind kind;
  struct span json; /* lent for the call */
};

struct ob_link;

/* Sends {"action","params","echo"}; action is a plain name, params a JSON object. done runs exactly
 * once, maybe before this returns (not connected, too many calls wait, a frame above the profile's
 * frame_max: NOT_WRITTEN). Of a stream of replies (NapCat's stream-action) the last is the answer. */
void ob_link_call(struct ob_link *l, struct span action, struct span params, unsigned timeout_ms,
                  void (*done)(void *ctx, const struct ob_answer *answer), void *ctx);
enum ob_link_state ob_link_state(const struct ob_link *l);
const struct ob_profile *
ob_link_profile(const struct ob_link *l);             /* never NULL; spec until known */
struct span ob_link_self_id(const struct ob_link *l); /* empty until known */
struct span ob_link_version(const struct ob_link *l); /* "NapCat.Onebot 4.18.19" or empty */

#endif
