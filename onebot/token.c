/* token: see token.h. */
#include "onebot/token.h"

/* Whether given is the secret. Takes as long for every token of one length, wherever it differs. */
static bool is_same(struct span given, struct span secret)
{
  unsigned char differs = given.len != secret.len;
  for (size_t i = 0; i < given.len; i++)
    differs |= (unsigned char)(given.ptr[i] ^ (secret.len ? secret.ptr[i % secret.len] : 0));
  return differs == 0;
}

/* "Bearer T" and go-cqhttp's "Token T" in any case, else the query's access_token. Empty: none. */
static struct span token_of(const struct ob_request *r)
{
  static const char *const schemes[] = { "bearer", "token" };
  struct span value = span_trim(r->authorization);
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    size_t n = strlen(schemes[i]);
    if (value.len <= n || (value.ptr[n] != ' ' && value.ptr[n] != '\t')) continue;
    if (!span_eq_nocase((struct span) { value.ptr, n }, span_of(schemes[i]))) continue;
    return span_trim((struct span) { value.ptr + n, value.len - n });
  }
  return ob_request_query(r, "access_token");
}

unsigned ob_token_judge(const struct ob_request *r, struct span secret, const char **why)
{
  if (secret.len == 0) return 0;
  struct span token = token_of(r);
  if (token.len == 0) {
    *why = "an access_token is needed";
    return 401;
  }
  if (is_same(token, secret)) return 0;
  *why = "the access_token is wrong";
  return 403;
}
