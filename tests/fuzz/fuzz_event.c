/* fuzz_event: an event, and the same bytes as the text of a string message. Whatever it is given:
 * ids are never 0 or a word for nothing, and codes that were read come out as they were read. */
#include <stdio.h>
#include <stdlib.h>

#include "onebot/event.h"
#include "onebot/native.h"
#include "onebot/sandbox/cq.h"

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

/* A string message read, written (by the sandbox, which has a writer of its own) and read again is
 * the same: the second reading of a text that holds no code can only join neighbours, which the
 * first has done. */
static void check_codes(struct span text, struct arena *arena)
{
  struct buf once, twice;
  buf_init(&once, 1 << 26);
  buf_init(&twice, 1 << 26);
  const struct schema_node *array = ob_native_read_cq(text, arena);
  need(array || arena->failed, "any text is a message");
  if (array) {
    ob_cq_print(array, &once);
    const struct schema_node *again = ob_native_read_cq(buf_span(&once), arena);
    if (again) {
      ob_cq_print(again, &twice);
      need(span_eq(buf_span(&once), buf_span(&twice)), "what was read is written alike");
      need(again->count <= array->count, "no segment is made");
    }
  }
  buf_done(&once);
  buf_done(&twice);
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
