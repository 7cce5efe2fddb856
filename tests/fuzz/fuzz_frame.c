/* Any bytes as what a peer sends, in any pieces: the reader sees the same in all of them, keeps to
 * its limit, and what it hands out can be written and read again.
 * Byte 0: bit 0 says who sends, the rest the size of the pieces. */
#include <stdlib.h>

#include "onebot/frame.h"

enum { MESSAGE_MAX = 4096 };

static uint64_t mix(uint64_t sum, struct span s)
{
  sum = (sum ^ s.len) * 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < s.len; i++) sum = (sum ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
  return sum;
}

/* A message that came through must come through again as written by us. */
static void write_again(struct span payload, unsigned opcode, bool from_client)
{
  static const unsigned char mask[4] = { 1, 2, 3, 4 };
  char frame[MESSAGE_MAX + OB_FRAME_HEAD_MAX];
  struct ob_frames f;
  size_t n = ob_frame_write(frame, (enum ob_opcode)opcode, &payload, 1, from_client ? mask : NULL);
  struct span input = { frame, n };
  ob_frames_init(&f, from_client, MESSAGE_MAX);
  enum ob_frame_kind kind = ob_frames_next(&f, &input);
  if (kind != OB_FRAME_TEXT && kind != OB_FRAME_BINARY) abort();
  if (!span_eq(f.payload, payload) || input.len) abort();
  ob_frames_done(&f);
}

static uint64_t read_all(const uint8_t *data, size_t size, size_t piece, bool from_client)
{
  struct ob_frames f;
  uint64_t sum = 0;
  bool faulty = false;
  ob_frames_init(&f, from_client, MESSAGE_MAX);
  while (size) {
    size_t n = piece < size ? piece : size;
    char *copy = malloc(n);
    memcpy(copy, data, n);
    struct span input = { copy, n };
    enum ob_frame_kind kind;
    while ((kind = ob_frames_next(&f, &input)) != OB_FRAME_MORE) {
      if (faulty || f.payload.len > MESSAGE_MAX || f.message.len > MESSAGE_MAX) abort();
      faulty = kind == OB_FRAME_FAULT;
      if (kind == OB_FRAME_TEXT) write_again(f.payload, OB_OP_TEXT, from_client);
      if (kind == OB_FRAME_CLOSE || faulty) sum = (sum ^ f.code) * 31;
      sum = mix(sum * 7 + kind, f.payload);
    }
    if (input.len) abort();
    free(copy);
    data += n;
    size -= n;
  }
  ob_frames_done(&f);
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < 2) return 0;
  bool from_client = data[0] & 1;
  size_t piece = (size_t)(data[0] >> 1) + 1;
  uint64_t whole = read_all(data + 1, size - 1, size, from_client);
  if (read_all(data + 1, size - 1, piece, from_client) != whole) abort();
  if (read_all(data + 1, size - 1, 1, from_client) != whole) abort();
  return 0;
}
