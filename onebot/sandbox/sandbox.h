/* sandbox: an embedded OneBot 11 endpoint that needs no QQ: a listener on 127.0.0.1 that plays one
 * of the implementations (its answers, its ids, what it drops and refuses), and a web page that
 * shows the group. The default of `replygate run`, and the strict peer of the tests, which order
 * misbehaviour over the page's WebSocket (control.h).
 *
 *   GET /?token=PAGE_TOKEN     the page; /page.css, /page.js, /faces.tsv and /demo/… need no token
 *   WS  /ui?token=PAGE_TOKEN   the page's own connection
 *   WS  /, /api, /event        OneBot, with the access token as the played implementation reads it */
#ifndef ONEBOT_SANDBOX_SANDBOX_H
#define ONEBOT_SANDBOX_SANDBOX_H

#include "onebot/service.h"
#include "schema/bytes.h"

enum { OB_SANDBOX_TOKEN_MAX = 127 };

struct ob_sandbox_options {
  const char *host;         /* NULL: 127.0.0.1 */
  unsigned port;            /* 0: any that is free */
  const char *profile;      /* which implementation is played; NULL: napcat */
  const char *page_token;   /* NULL: a random one */
  const char *access_token; /* NULL: a random one; "": none is asked for */
};

struct ob_sandbox;

/* Starts listening on the service. Copies what it needs. Any thread. */
enum schema_code ob_sandbox_start(struct ob_service *s, const struct ob_sandbox_options *options,
                                  struct ob_sandbox **ret, struct schema_error *reterr);
/* Ends every connection and frees. NULL is allowed. Any thread; before ob_service_stop. */
void ob_sandbox_stop(struct ob_sandbox *b);

/* Fixed after the start; any thread. */
unsigned ob_sandbox_port(const struct ob_sandbox *b);
const char *ob_sandbox_page_url(const struct ob_sandbox *b); /* with its token */
const char *ob_sandbox_link_url(const struct ob_sandbox *b); /* "ws://127.0.0.1:PORT/" */
const char *ob_sandbox_page_token(const struct ob_sandbox *b);
const char *ob_sandbox_access_token(const struct ob_sandbox *b);

/* One request of control.h from within the program. answer gets the answer's JSON. Any thread.
 * False: the service is stopping. */
bool ob_sandbox_control(struct ob_sandbox *b, struct span request, struct buf *answer);

/* The command `replygate sandbox [--port N] [--profile NAME] [--token TOKEN] [--page-token TOKEN]
 * [--json]`: runs a sandbox alone until SIGINT or SIGTERM. With --json the one line that it prints is
 * {"page","link","access_token","page_token","port","profile"}. argv[0] is the command's name.
 * Returns the exit code (64: called wrongly). */
int ob_sandbox_main(int argc, char **argv, const struct ob_process *process);

#endif
