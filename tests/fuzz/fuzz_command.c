/* Any text as a message of an operator and of a group's admin: a command is answered with
 * well-formed text of bounded length, an admin of a group never reaches another group, and
 * settings stay sound. */
#include <stdlib.h>

#include "plugin/admin/admin.h"
#include "schema/print.h"

enum { ARENA_MAX = 64 << 20, ANSWER_MAX = 8 * 1024 };

static struct rg_settings *settings(void)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, 1 << 20);
  struct rg_config *c =
      rg_config_read(SPAN("endpoints: {main: {connect: host}}\nadmins: [20001]\n"),
                     SPAN("/etc/bot"), NULL, NULL, &arena, &faults);
  struct rg_settings *s = rg_settings_new(c, NULL, NULL, NULL);
  if (!s) abort();
  rg_config_release(c);
  arena_done(&arena);
  return s;
}

static void hand(struct rg_settings *s, const char *head, struct span text, bool operates)
{
  struct rg_admin admin = { .settings = s };
  struct rg_admin_answer answer;
  struct rg_ids own = { NULL, 0 };
  struct ob_event event;
  struct arena arena;
  struct buf json;
  arena_init(&arena, ARENA_MAX);
  buf_init(&json, ARENA_MAX);
  buf_add(&json, span_of(head));
  struct schema_writer w = { .out = &json };
  schema_write_string(&w, text);
  buf_add_char(&json, '}');
  if (ob_event_read(buf_span(&json), SPAN("1000"), &arena, &event, NULL) != SCHEMA_OK) abort();
  if (rg_admin_handle(&admin, SPAN("main"), &event, &own, &arena, &answer) == RG_ADMIN_DONE) {
    if (answer.text.len == 0 || answer.text.len > ANSWER_MAX) abort();
    if (span_utf8_fault(answer.text) != answer.text.len) abort();
    if (!operates && (answer.command.group != 5 || answer.command.named)) abort();
  }
  buf_done(&json);
  arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct span text = { (const char *)data, size };
  if (span_utf8_fault(text) != size) return 0;
  struct rg_settings *s = settings();
  struct rg_view v;
  hand(s,
       "{\"post_type\":\"message\",\"message_type\":\"group\",\"group_id\":5,\"user_id\":20001,"
       "\"message\":",
       text, true);
  hand(s,
       "{\"post_type\":\"message\",\"message_type\":\"group\",\"group_id\":5,\"user_id\":3,"
       "\"sender\":{\"role\":\"admin\"},\"message\":",
       text, false);
  rg_settings_view(s, SPAN("main"), 5, &v);
  if (!(v.group->pace.min <= v.group->pace.max) || v.group->rate.per_minute == 0) abort();
  rg_view_done(&v);
  rg_settings_free(s);
  return 0;
}
