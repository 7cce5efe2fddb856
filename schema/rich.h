/* rich: what the delivery directives make of a model's answer where an operator has them read: its
 * words become messages with a reply target and attachments, a payload object becomes one, and the
 * tags in the texts of a structured reply become its targets (rich-output.md; design 6). */
#ifndef SCHEMA_RICH_H
#define SCHEMA_RICH_H

#include "schema/directive.h"
#include "schema/offer.h"

/* What was found besides the reply. */
struct schema_rich {
  bool taken;     /* a directive was there */
  bool media;     /* the reply has attachments of directives: they are fetched by https only */
  size_t refused; /* attachments that were asked for and are left out */
};

/* Every function here reads offer->directives, which is not NULL; leaves out attachments of types
 * that are not offered; and adds to *rich, which the caller zeroes. Replies live in arena and in
 * the text. False: no memory. Linear. Any thread. */

/* Each text as a message: its words, then its attachments. A reply target that one names holds for
 * those behind it (rule 188). Texts of which nothing is left become no message. */
bool schema_rich_words(const struct schema_offer *offer, const struct span *texts, size_t count,
                       struct arena *arena, struct schema_reply *ret, struct schema_rich *rich);

/* The whole text as a payload object: {"text" or "message", "mediaUrl", "mediaUrls", …}. *retis:
 * it is one, and *ret is filled. */
bool schema_rich_payload(const struct schema_offer *offer, struct span text, struct arena *arena,
                         bool *retis, struct schema_reply *ret, struct schema_rich *rich);

/* Takes reply and voice tags out of the words of a structured reply, which has its attachments in
 * segments; a reply of one text that asks for silence loses it. Changes *reply. */
bool schema_rich_reply(const struct schema_offer *offer, struct arena *arena,
                       struct schema_reply *reply, struct schema_rich *rich);

/* Tags in the words around a structured reply give its first message a target. *rettext is what is
 * left of the words. */
bool schema_rich_around(const struct schema_offer *offer, struct span text, struct arena *arena,
                        struct span *rettext, struct span *rettarget, struct schema_rich *rich);

#endif
