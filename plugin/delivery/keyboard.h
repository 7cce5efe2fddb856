/* keyboard: QQ shows no buttons, so a keyboard goes out as a numbered list; this remembers what the
 * numbers mean and turns a number that comes back into the payload (reply.md 109-111, 3). One per
 * conversation; the last keyboard replaces what was before. */
#ifndef PLUGIN_DELIVERY_KEYBOARD_H
#define PLUGIN_DELIVERY_KEYBOARD_H

#include "schema/print.h"

enum { RG_KEYBOARD_TTL_MS = 60 * 60 * 1000 };

/* Zeroed: nothing remembered. */
struct rg_keyboard {
  struct span *payloads; /* of the numbers 1…count; one allocation with their bytes behind it */
  size_t count;
  uint64_t until_ms;
  struct span asked; /* who may answer; empty: anyone. In the same allocation */
};

/* Remembers the buttons of a keyboard segment in place of what was before; one without usable
 * buttons changes nothing. asked: the one account that may answer, or empty. False: no memory. */
bool rg_keyboard_remember(struct rg_keyboard *k, const struct schema_segment *keyboard,
                          struct span asked, uint64_t now_ms);
void rg_keyboard_forget(struct rg_keyboard *k);
/* Whether a message's text from user is a tap: a number of the list, full-width digits and a
 * leading @name allowed. *ret is lent until the next call for k. */
bool rg_keyboard_tap(const struct rg_keyboard *k, struct span text, struct span user,
                     uint64_t now_ms, struct span *ret);
/* Appends the event with its words replaced by payload in `message` (array or CQ string) and
 * `raw_message`; everything else stays as it was. False: out of room. */
bool rg_keyboard_event(const struct schema_node *event, struct span payload, struct buf *out);

#endif
