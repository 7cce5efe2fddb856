/* control: what a page or a test orders over the WebSocket /ui. One JSON object a message, `do`
 * names the order; `id` (any value) comes back in the answer
 *   {"re":ID,"ok":true, …} or {"re":ID,"ok":false,"error":"what is wrong"}.
 *
 *   say     {as, group | private: true, text | segments}       somebody writes; answer message_id.
 *           private: to the bot, in as's own chat. text is plain text, segments an array
 *   react   {as, message_id, emoji_id, set = true}
 *   recall  {as, message_id}
 *   fault   {action = "*", kind, skip = 0, count = 1, ms, delivered = true, push = false, retcode,
 *           text} the next calls of that action go wrong (kinds: fault.h)
 *   clear   {}                                                  takes all faults back
 *   play    {profile}                                           another implementation; bots stay
 *   set     {message_format: array | string, report_self, offline, refuse_tokens, heartbeat,
 *            heartbeat_ms, sign: up | down | unset}             what is given is changed
 *   mute    {group, on}                                         the bot in a group; sends group_ban
 *   role    {group, user, role}                                 owner, admin or member
 *   event   {event}                                             an object, sent to the bots as it is
 *   raw     {text}                                              the same with any text
 *   link    {end: drop | close, code = 1000, ms = 0}            ends the bots' connections; with drop
 *           nobody may connect for ms
 *   shown   {group | user, count = 100}                         answers with the last messages of that
 *           chat: "messages", as the push "message" has them
 *   dial    {url, token = "", split = false, ms}   connects to a reverse WebSocket server, again and
 *           again, ms after an end (else as the implementation does); split: an API and an Event
 *           connection
 *   state   {}                                                  pushes the state again
 *
 * Pushes to every page: {"push":"state"…} (people, groups, switches, faults, bots: the number of
 * connections), {"push":"message"…} for a new or changed message (message_id as text, segments as
 * they are shown, notes: what was left out or changed, reactions, recalled, unseen) and
 * {"push":"frame","way":"call|answer|event","bot","text"…} for what went over the wire. A page that
 * connects gets the state and all messages first. */
#ifndef ONEBOT_SANDBOX_CONTROL_H
#define ONEBOT_SANDBOX_CONTROL_H

#include "onebot/sandbox/core.h"

/* Carries one order out and adds its answer. */
void ob_control_run(struct ob_sandbox *b, struct span request, struct buf *answer);

#endif
