/* server: a reverse WebSocket: a OneBot implementation dials us. Shows the same link as a client.
 *
 * One endpoint serves one account at a time, on one connection (Universal) or on two (API and
 * Event). A new connection of the same account replaces the old one of its role, which after a
 * half-open drop may be dead without knowing it; another account is refused while the first is
 * there. The link is up while actions can be sent. */
#ifndef ONEBOT_SERVER_H
#define ONEBOT_SERVER_H

#include "onebot/link.h"

struct ob_server_options {
  const char *name;                 /* of the endpoint, for log lines */
  const char *host;                 /* as for ob_listen_open */
  unsigned port;                    /* 0: any that is free */
  const char *path;                 /* "/onebot/v11/ws"; NULL or "": any */
  const char *access_token;         /* NULL or "": none is wanted */
  const struct ob_profile *profile; /* NULL: detect by get_version_info */
  uint32_t self_id;                 /* the account; 0: its header or get_login_info say it */
  struct ob_link_handlers on;       /* states: DOWN, OPEN, READY */
  unsigned ping_s;                  /* 0: 30, as for ob_listen_open */
  unsigned probe_ms;                /* 0: 5000, for get_version_info and get_login_info */
};

struct ob_server;

/* Copies what it needs and listens. Any thread (another than the service's waits for it); no
 * callback comes before it returns where the caller is the service thread. Errors as for
 * ob_listen_open. */
enum schema_code ob_server_open(struct ob_service *s, const struct ob_server_options *options,
                                struct ob_server **ret, struct schema_error *reterr);
/* Ends the connections and gives the port back; calls that wait end. No callback comes after it
 * returned. Service thread only, also from a callback; ob_service_stop closes what is left. */
void ob_server_close(struct ob_server *v);
/* Lives as long as the server. */
struct ob_link *ob_server_link(struct ob_server *v);
unsigned ob_server_port(const struct ob_server *v);

#endif
