/* The contender `ours`: from raw bytes to the built reply, and a sum over type and length of each
 * segment, so that nothing of the building can be left out. Built as a program (OURS_SCHEMA) it
 * prints the JSON Schema of the same offer, for the peers that need one. */
#include "contender.h"
#include "offer.h"

#include "schema/contract.h"
#include "schema/reply.h"

#ifdef OURS_SCHEMA
#  include <stdio.h>

int main(void)
{
  struct buf out;
  buf_init(&out, 1 << 20);
  bool ok = schema_contract_schema(&bench_offer, &out);
  if (ok) puts(out.ptr);
  buf_done(&out);
  return ok ? 0 : 1;
}
#else

static struct arena arena;
static volatile size_t checksum;

static size_t sum_segment(const struct schema_segment *segment)
{
  size_t sum = segment->type + segment->media_kind;
  switch (schema_segment_types[segment->type].shape) {
  case SCHEMA_SHAPE_STRING:
  case SCHEMA_SHAPE_MEDIA: return sum + segment->text.len;
  case SCHEMA_SHAPE_KEYBOARD:
    for (size_t r = 0; r < segment->keyboard.count; r++)
      for (size_t b = 0; b < segment->keyboard.rows[r].count; b++)
        sum += segment->keyboard.rows[r].buttons[b].label.len +
               segment->keyboard.rows[r].buttons[b].payload.len;
    return sum;
  case SCHEMA_SHAPE_SHARE:
    for (size_t i = 0; i < segment->share.count; i++) sum += segment->share.fields[i].value.len;
    return sum;
  case SCHEMA_SHAPE_EMPTY: break;
  }
  return sum;
}

static int init(const char *folder)
{
  (void)folder;
  arena_init(&arena, SCHEMA_REPLY_ARENA_MAX);
  return 0;
}

static int run(const unsigned char *p, size_t n)
{
  struct schema_reply reply;
  size_t sum = 0;
  arena_reset(&arena);
  if (schema_reply_read(&bench_offer, (struct span) { (const char *)p, n }, &arena, &reply, NULL))
    return 0;
  for (size_t m = 0; m < reply.count; m++)
    for (size_t s = 0; s < reply.messages[m].count; s++)
      sum += sum_segment(&reply.messages[m].segments[s]);
  checksum += sum + reply.reaction.len;
  return 1;
}

static const struct contender contenders[] = { { OURS_NAME, "validate", init, run } };

const struct contender *bench_contenders(int *count)
{
  *count = sizeof contenders / sizeof *contenders;
  return contenders;
}

#endif
