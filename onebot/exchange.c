#include "onebot/exchange.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  REQUEST_MAX = 32 * 1024, /* copies of one request's headers, which lws holds to 8 KiB */
  HEADERS_MAX = 1024,      /* of an answer */
  SLICE = 16 * 1024,
  REFUSAL_MAX = 1024, /* of a refusal's text: the relay's lists its paths; the rest is cut */
};

/* ---- the request ---- */

static struct span copy_header(struct ob_exchange *x, enum lws_token_indexes token)
{
  int n = lws_hdr_total_length(x->wsi, token);
  if (n <= 0) return (struct span) { NULL, 0 };
  size_t room = (size_t)n + 64; /* lws puts a comma between two headers of one name */
  char *copy = arena_alloc(&x->arena, room);
  if (!copy || lws_hdr_copy(x->wsi, copy, (int)room, token) <= 0) return (struct span) { NULL, 0 };
  return span_of(copy);
}

static struct span copy_custom_header(struct ob_exchange *x, const char *name)
{
  int name_len = (int)strlen(name), n = lws_hdr_custom_length(x->wsi, name, name_len);
  char *copy = n < 0 ? NULL : arena_alloc(&x->arena, (size_t)n + 1);
  if (!copy || lws_hdr_custom_copy(x->wsi, copy, n + 1, name, name_len) < 0)
    return (struct span) { NULL, 0 };
  return span_of(copy);
}

static void copy_query(struct ob_exchange *x)
{
  for (int i = 0; x->query_count < OB_QUERY_MAX; i++) {
    int n = lws_hdr_fragment_length(x->wsi, WSI_TOKEN_HTTP_URI_ARGS, i);
    char *copy = n > 0 ? arena_alloc(&x->arena, (size_t)n + 1) : NULL;
    if (!copy || lws_hdr_copy_fragment(x->wsi, copy, n + 1, WSI_TOKEN_HTTP_URI_ARGS, i) < 0) return;
    x->query[x->query_count++] = (struct span) { copy, (size_t)n };
  }
}

struct ob_exchange *ob_exchange_new(struct lws *wsi, const char *peer, size_t body_max)
{
  struct ob_exchange *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->wsi = wsi;
  arena_init(&x->arena, REQUEST_MAX);
  buf_init(&x->body, body_max);
  char *uri = NULL;
  int uri_len = 0, method = lws_http_get_uri_and_method(wsi, &uri, &uri_len);
  struct span path = { uri, uri ? (size_t)uri_len : 0 };
  enum ob_method known = method == LWSHUMETH_POST ? OB_POST : OB_METHOD_OTHER;
  x->request = (struct ob_request) {
    .method = method == LWSHUMETH_GET ? OB_GET : known,
    .path = arena_copy(&x->arena, path),
    .host = copy_header(x, WSI_TOKEN_HOST),
    .origin = copy_header(x, WSI_TOKEN_ORIGIN),
    .authorization = copy_header(x, WSI_TOKEN_HTTP_AUTHORIZATION),
    .content_type = copy_header(x, WSI_TOKEN_HTTP_CONTENT_TYPE),
    .cookie = copy_header(x, WSI_TOKEN_HTTP_COOKIE),
    .self_id = copy_custom_header(x, "x-self-id:"),
    .client_role = copy_custom_header(x, "x-client-role:"),
    .peer = span_of(peer),
    .inner = x,
  };
  copy_query(x);
  return x;
}

void ob_exchange_free(struct ob_exchange *x)
{
  if (!x) return;
  arena_done(&x->arena);
  buf_done(&x->body);
  free(x->out_owned);
  free(x);
}

struct span ob_request_query(const struct ob_request *r, const char *name)
{
  const struct ob_exchange *x = r->inner;
  size_t n = strlen(name);
  for (size_t i = 0; i < x->query_count; i++) {
    struct span q = x->query[i];
    if (q.len < n || memcmp(q.ptr, name, n) != 0) continue;
    if (q.len == n) return (struct span) { q.ptr + n, 0 };
    if (q.ptr[n] == '=') return (struct span) { q.ptr + n + 1, q.len - n - 1 };
  }
  return (struct span) { NULL, 0 };
}

bool ob_exchange_begin(struct ob_exchange *x)
{
  if (x->request.method != OB_POST) return true;
  char length[24];
  int n = lws_hdr_copy(x->wsi, length, sizeof length, WSI_TOKEN_HTTP_CONTENT_LENGTH);
  if (n <= 0 || strspn(length, "0123456789") != (size_t)n) {
    x->close = true;
    ob_exchange_text(x, 411, "a body needs a Content-Length\n");
  } else if (n > 18 || strtoull(length, NULL, 10) > x->body.max) {
    x->close = true;
    ob_exchange_text(x, 413, "the body is too large\n");
  }
  return false;
}

bool ob_exchange_body(struct ob_exchange *x, struct span part)
{
  if (x->answered || part.len == 0) return true;
  bool kept = buf_add(&x->body, part);
  x->request.body = buf_span(&x->body);
  return kept;
}

/* ---- the answer ---- */

const char *ob_exchange_status(unsigned status)
{
  static const struct {
    unsigned status;
    const char *words;
  } table[] = {
    { 200, "OK" },
    { 204, "No Content" },
    { 302, "Found" },
    { 304, "Not Modified" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 409, "Conflict" },
    { 411, "Length Required" },
    { 413, "Payload Too Large" },
    { 429, "Too Many Requests" },
    { 500, "Internal Server Error" },
    { 503, "Service Unavailable" },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].status == status) return table[i].words;
  return status < 400 ? "OK" : "Error";
}

/* lws' own writer of headers would add a Server line and its own idea of keep-alive. */
static bool write_head(struct ob_exchange *x, unsigned status, const char *type,
                       const char *headers)
{
  unsigned char room[LWS_PRE + HEADERS_MAX + 512];
  int n = snprintf((char *)room + LWS_PRE, sizeof room - LWS_PRE,
                   "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s\r\n", status,
                   ob_exchange_status(status), type ? type : "text/plain; charset=utf-8",
                   x->out.len, headers ? headers : "", x->close ? "Connection: close\r\n" : "");
  if (n < 0 || (size_t)n >= sizeof room - LWS_PRE) return false;
  return lws_write(x->wsi, room + LWS_PRE, (size_t)n, LWS_WRITE_HTTP_HEADERS) == n;
}

void ob_request_answer(struct ob_request *r, unsigned status, const char *content_type,
                       const char *headers, struct span body, enum ob_body_life life)
{
  struct ob_exchange *x = r->inner;
  if (x->answered) return;
  x->answered = true;
  x->out = body;
  if (life == OB_BODY_COPY && body.len) {
    x->out_owned = malloc(body.len);
    if (x->out_owned)
      memcpy(x->out_owned, body.ptr, body.len);
    else
      status = 500, content_type = headers = NULL, body.len = 0;
    x->out = (struct span) { x->out_owned, body.len };
  }
  if (!write_head(x, status, content_type, headers)) {
    x->close = true; /* nothing sensible can follow */
    x->out.len = 0;
  }
  lws_callback_on_writable(x->wsi);
}

void ob_exchange_text(struct ob_exchange *x, unsigned status, const char *text)
{
  ob_request_answer(&x->request, status, NULL, NULL, span_of(text), OB_BODY_LENT);
}

enum ob_exchange_step ob_exchange_continue(struct ob_exchange *x)
{
  if (!x->answered) return OB_EXCHANGE_MORE;
  size_t n = x->out.len - x->sent;
  bool last = n <= SLICE;
  if (!last) n = SLICE;
  if (n > 0) {
    unsigned char slice[LWS_PRE + SLICE];
    memcpy(slice + LWS_PRE, x->out.ptr + x->sent, n);
    if (lws_write(x->wsi, slice + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
      return OB_EXCHANGE_CLOSE;
    x->sent += n;
  }
  if (last) return x->close ? OB_EXCHANGE_CLOSE : OB_EXCHANGE_DONE;
  lws_callback_on_writable(x->wsi);
  return OB_EXCHANGE_MORE;
}

void ob_exchange_refuse(struct ob_exchange *x, unsigned status, const char *why)
{
  unsigned char room[LWS_PRE + 512 + REFUSAL_MAX];
  size_t len = strnlen(why, REFUSAL_MAX);
  int n = snprintf((char *)room + LWS_PRE, sizeof room - LWS_PRE,
                   "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                   "Content-Length: %zu\r\n%sConnection: close\r\n\r\n%.*s",
                   status, ob_exchange_status(status), len,
                   status == 401 ? "WWW-Authenticate: Bearer\r\n" : "", (int)len, why);
  if (n > 0 && (size_t)n < sizeof room - LWS_PRE)
    lws_write(x->wsi, room + LWS_PRE, (size_t)n, LWS_WRITE_HTTP);
}
