/* client: a forward WebSocket to one OneBot endpoint: dials, keeps alive, backs off, detects the
 * implementation, matches responses to calls by echo. All callbacks run on the service thread. */
#ifndef ONEBOT_CLIENT_H
#define ONEBOT_CLIENT_H

#include "onebot/link.h"

/* Milliseconds; 0 takes the value in brackets. */
struct ob_client_timing {
  unsigned backoff_min; /* [1000] before the second attempt; doubles with each, plus jitter */
  unsigned backoff_max; /* [60000] */
  unsigned refused;     /* [300000] after a refused token or path */
  unsigned handshake;   /* [10000] from the dial to the upgrade, for each address of the name */
  unsigned ping;    /* [30000] silence before a ping, and again before the peer counts as dead */
  unsigned probe;   /* [5000] for get_version_info and get_login_info after the upgrade */
  unsigned closing; /* [2000] for the peer to end a connection that was closed */
};

struct ob_client_options {
  const char *name;                 /* of the endpoint, for log lines */
  const char *url;                  /* ws://host:port/path or wss:// */
  const char *access_token;         /* NULL or "": no header */
  const char *ca;                   /* a CA file for wss, or NULL */
  const struct ob_profile *profile; /* NULL: detect by get_version_info */
  uint32_t self_id;                 /* the account; 0: detect by get_login_info */
  struct ob_link_handlers on;
  struct ob_client_timing timing;
};

struct ob_client;

/* Copies what it needs. Begins to dial at once. Any thread. */
enum schema_code ob_client_open(struct ob_service *s, const struct ob_client_options *options,
                                struct ob_client **ret, struct schema_error *reterr);
/* Ends the connection; calls that wait end with OB_ANSWER_CLOSED or OB_ANSWER_NOT_WRITTEN. No callback
 * comes after it returned. Service thread only; ob_service_stop closes what is left. */
void ob_client_close(struct ob_client *c);

/* The link of this client, for ob_link_call and the rest. Lives as long as the client. */
struct ob_link *ob_client_link(struct ob_client *c);

#endif
