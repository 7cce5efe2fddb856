/* client: a forward WebSocket to one OneBot endpoint: dials, keeps alive, backs off, detects the
 * implementation, matches responses to calls by echo. All callbacks run on the service thread. */
#ifndef ONEBOT_CLIENT_H
#define ONEBOT_CLIENT_H

#include "onebot/profile.h"
#include "onebot/service.h"

/* A peer may announce any length; 50 MiB is what NapCat accepts itself. */
enum { OB_FRAME_MAX = 50 * 1024 * 1024 };

enum ob_link_state {
  OB_LINK_DOWN,   /* not connected; dials again after the back-off */
  OB_LINK_OPEN,   /* the upgrade is done, nothing heard yet */
  OB_LINK_READY,  /* a first event or response came; profile and self_id are known or given up on */
  OB_LINK_REFUSED /* the token or the path is refused: long back-off (spec/onebot.md 0.11) */
};

struct ob_client_handlers {
  void *ctx;
  /* why: a sentence for the operator, without secrets; lent for the call */
  void (*state)(void *ctx, enum ob_link_state state, const char *why);
  /* every frame that is no response to a call of ours, as it came; strict JSON, an object */
  void (*event)(void *ctx, struct span json);
};

struct ob_client_options {
  const char *name;                 /* of the endpoint, for log lines */
  const char *url;                  /* ws://host:port/path or wss:// */
  const char *access_token;         /* NULL or "": no header */
  const char *ca;                   /* a CA file for wss, or NULL */
  const struct ob_profile *profile; /* NULL: detect by get_version_info */
  struct ob_client_handlers on;
};

struct ob_client;

/* Copies what it needs. Begins to dial at once. Any thread. */
enum schema_code ob_client_open(struct ob_service *s, const struct ob_client_options *options,
                                struct ob_client **ret, struct schema_error *reterr);
/* Ends the connection; calls that wait end with OB_ANSWER_CLOSED or OB_ANSWER_NOT_WRITTEN. No callback
 * comes after it returned. Service thread only; ob_service_stop closes what is left. */
void ob_client_close(struct ob_client *c);

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

/* Sends {"action","params","echo"}; params is a JSON object. done runs exactly once, on the
 * service thread, maybe before this returns (not connected: NOT_WRITTEN; a frame above the
 * profile's frame_max: NOT_WRITTEN). Service thread only. */
void ob_client_call(struct ob_client *c, struct span action, struct span params,
                    unsigned timeout_ms, void (*done)(void *ctx, const struct ob_answer *answer),
                    void *ctx);

/* Service thread only. */
enum ob_link_state ob_client_state(const struct ob_client *c);
const struct ob_profile *
ob_client_profile(const struct ob_client *c);             /* never NULL; spec until known */
struct span ob_client_self_id(const struct ob_client *c); /* empty until known */
struct span ob_client_version(const struct ob_client *c); /* "NapCat.Onebot 4.18.19" or empty */

#endif
