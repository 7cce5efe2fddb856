/* view: what the pages are told (the pushes of control.h), and what the bots are told (events). */
#ifndef ONEBOT_SANDBOX_VIEW_H
#define ONEBOT_SANDBOX_VIEW_H

#include "onebot/sandbox/core.h"

enum { OB_VIEW_TEXT_MAX = 256 * 1024 };        /* of a frame shown on a page; the rest is cut off */
enum { OB_VIEW_STRING_MAX = 3 * 1024 * 1024 }; /* of one text of a message: pictures of 2 MiB */

/* Pushes: a message (again where it changed), a frame ("call", "answer" or "event"; bot NULL: an
 * event to all), the state. viewer NULL: to all pages. */
/* Writes that push. */
void ob_view_write_message(struct schema_writer *w, const struct ob_said *said);
void ob_view_message(struct ob_sandbox *b, struct ob_viewer *viewer, const struct ob_said *said);
void ob_view_frame(struct ob_sandbox *b, const struct ob_bot *bot, const char *way,
                   struct span text);
void ob_view_state(struct ob_sandbox *b, struct ob_viewer *viewer);
/* All kept messages and the state, for a page that was just opened. */
void ob_view_all(struct ob_sandbox *b, struct ob_viewer *viewer);

/* Sends an event to every bot that takes events, and shows it on the pages. */
void ob_view_event(struct ob_sandbox *b, struct span event);
/* A message was said: pages see it, bots get the event (the bot's own: only with report_self, or
 * where told is set). */
void ob_view_said(struct ob_sandbox *b, const struct ob_said *said, bool told);
/* A reaction or a recall by somebody else than the bot. */
void ob_view_reacted(struct ob_sandbox *b, const struct ob_said *said, struct span emoji,
                     int64_t user, bool set);
void ob_view_recalled(struct ob_sandbox *b, const struct ob_said *said, int64_t operator_id);

#endif
