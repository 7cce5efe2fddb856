/* payload: one message on its way out: the structured media fields and the text's directives become
 * one answer; what a streamed block has already delivered is taken out; reply targets follow the
 * mode (rich-output.md sections J, K and L). */
#ifndef SCHEMA_PAYLOAD_H
#define SCHEMA_PAYLOAD_H

#include "schema/directive.h"
#include "schema/tree.h"

/* What a producer gives. */
struct schema_payload {
  struct span text;
  struct span media_url;         /* ptr NULL: absent */
  const struct span *media_urls; /* NULL: absent */
  size_t media_url_count;
  bool audio_as_voice;
  struct span reply_to_id; /* empty: none */
  bool reply_to_current;
};

/* Plans one payload. Media: the list, the single one, the text's own, nothing twice; a reference
 * that may not be an attachment is left out and nothing else suffers (rules 14, 54). *retdeliver:
 * something is left to send. *ret lives in arena and in p. False: no memory. Any thread. */
bool schema_payload_plan(const struct schema_payload *p,
                         const struct schema_directive_options *options, struct arena *arena,
                         struct schema_directives *ret, bool *retdeliver);

/* The arguments of a message tool: text under message, content or text, media under its many names
 * (rules 176, 177). *retok false: neither text nor media, an error for the caller. */
bool schema_payload_from_tool(const struct schema_node *args, struct arena *arena,
                              struct schema_directives *ret, bool *retok);

/* What has gone out in this turn already. */
struct schema_delivered {
  const struct schema_directives *blocks; /* streamed before the final payloads */
  size_t block_count;
};

/* Takes out of final payloads, in place, what was delivered before: media by reference, a text that
 * equals what was streamed. *count shrinks by those of which nothing is left. False: no memory. */
bool schema_payload_dedupe(const struct schema_delivered *delivered, struct arena *arena,
                           struct schema_directives *finals, size_t *count);

/* The media of blocks and then of finals, each once. */
bool schema_payload_media(const struct schema_delivered *delivered,
                          const struct schema_directives *finals, size_t count, struct arena *arena,
                          const struct span **ret, size_t *retcount);

enum schema_reply_mode { SCHEMA_REPLY_OFF, SCHEMA_REPLY_FIRST, SCHEMA_REPLY_ALL };

/* Whether the next message of a turn keeps its target. *used tells whether one before it had one;
 * begin with false. */
bool schema_reply_mode_keeps(enum schema_reply_mode mode, bool explicit_allowed_when_off,
                             bool has_target, bool is_explicit, bool *used);

#endif
