/* fuzz_event: an event, and the same bytes as the text of a string message. Whatever it is given:
 * ids are never 0 or a word for nothing, and codes that were read come out as they were read. */
#include <stdio.h>
#include <stdlib.h>

#include "onebot/event.h"
#include "onebot/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds, const char *what)
{
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

static void check_id(struct span id)
{
  need(!span_is(id, "0") && !span_is(id, "null") && !span_is(id, "undefined"), "an id is an id");
}

/* Any text is a string message. */
static void check_codes(struct span text, struct arena *arena)
{
  need(ob_native_read_cq(text, arena) || arena->failed, "any text is a message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena;
  struct ob_event e;
  struct span text = { (const char *)data, size };
  arena_init(&arena, 256 << 20);
  if (ob_event_read(text, SPAN("9"), &arena, &e, NULL) == SCHEMA_OK) {
    check_id(e.group_id);
    check_id(e.user_id);
    check_id(e.message_id);
    check_id(e.reply_to);
    need(e.type < OB_EVENT_TYPE_COUNT, "a type of the list");
    need(e.role == OB_ROLE_NONE || e.type == OB_EVENT_GROUP || e.type == OB_EVENT_GUILD ||
             e.type == OB_EVENT_SELF,
         "a role only in groups");
  }
  check_codes(text, &arena);
  arena_done(&arena);
  return 0;
}
