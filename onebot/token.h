/* token: the access_token that a peer shows with its upgrade. */
#ifndef ONEBOT_TOKEN_H
#define ONEBOT_TOKEN_H

#include "onebot/listen.h"

/* Judges an upgrade: 0, or 401 (none shown) and 403 (a wrong one) with why. secret empty: all may. */
unsigned ob_token_judge(const struct ob_request *r, struct span secret, const char **why);

#endif
