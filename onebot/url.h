/* url: a ws:// or wss:// address, taken apart for dialling. */
#ifndef ONEBOT_URL_H
#define ONEBOT_URL_H

#include "schema/error.h"

#include <stdbool.h>

enum {
  OB_HOST_MAX = 100,  /* lws 4.1.6 cuts a longer Host header together with its line end */
  OB_PATH_MAX = 1024, /* and a path of more than 2047; nobody needs that */
};

struct ob_url {
  bool tls;
  unsigned port;
  char host[OB_HOST_MAX + 1];        /* a name or a numeric address, without brackets */
  char host_header[OB_HOST_MAX + 9]; /* with brackets where needed, and the port */
  char path[OB_PATH_MAX + 1];        /* with its query; begins with '/' */
  size_t path_len;                   /* without its query: this much may be logged */
};

/* *ret only on success; what of the error says what is wrong. Any thread. */
enum schema_code ob_url_parse(const char *text, struct ob_url *ret, struct schema_error *reterr);
/* Whether the query has a parameter of that name with a value. */
bool ob_url_has_query(const struct ob_url *url, const char *name);

#endif
