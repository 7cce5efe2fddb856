/* directive: the delivery directives that an assistant's reply may carry (the rich output protocol
 * of OpenClaw): what they are taken out as, and the reply that they make. Off by default; an
 * operator switches them on per group (design 6, `directives`). */
#ifndef SCHEMA_DIRECTIVE_H
#define SCHEMA_DIRECTIVE_H

#include "schema/segment.h"

struct schema_directive_options {
  struct span current_message_id; /* of the message being answered; empty: unknown */
  bool media_lines;               /* MEDIA: lines become attachments: the final reply only */
  bool markdown_images;           /* so do Markdown images with an https address */
};

/* Lives in the arena and in the text of the call. */
struct schema_directives {
  struct span text; /* what is to be shown; empty where the reply asks for silence */
  const struct span *media;
  size_t media_count;
  size_t refused;      /* attachments that were asked for and left out: worth a line in the log */
  bool audio_as_voice; /* audio is to be a voice message */
  bool reply_to_current;
  bool has_reply_tag;
  bool silent;
  struct span reply_to_id; /* ptr NULL: none */
};

/* Reads an assistant's text. False: no memory. Linear in the text. Any thread. */
bool schema_directives_read(struct span text, const struct schema_directive_options *options,
                            struct arena *arena, struct schema_directives *ret);

/* The same as a reply for delivery: one message with the text, then the attachments in order, each
 * as what its extension says; audio without the voice hint goes as a file. No text and no
 * attachment: no message. *ret lives in arena and in d. False: no memory. */
bool schema_directives_reply(const struct schema_directives *d, struct arena *arena,
                             struct schema_reply *ret);

#endif
