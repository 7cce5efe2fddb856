/* token: the access_token that a peer shows with its upgrade. */
#ifndef ONEBOT_TOKEN_H
#define ONEBOT_TOKEN_H

#include "onebot/listen.h"

/* "Bearer T" and go-cqhttp's "Token T" in any case, else the query's access_token. Empty: none. */
struct span ob_token_of(const struct ob_request *r);
/* Whether given is the secret. Takes as long for every token of one length, wherever it differs. */
bool ob_token_same(struct span given, struct span secret);
/* Judges an upgrade: 0, or 401 (none shown) and 403 (a wrong one) with why. secret empty: all may. */
unsigned ob_token_judge(const struct ob_request *r, struct span secret, const char **why);

#endif
