#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "onebot/frame.h"

enum { STREAM_MAX = 300 * 1024, LOG_MAX = 4096 };

static const unsigned char mask[4] = { 0xa5, 0x00, 0xff, 0x31 };

/* What a stream is read as: "T5:hello P:x C1000:bye F1002:… ", payloads up to 16 bytes, and the
 * sum of all payload bytes. */
struct told {
  char text[LOG_MAX];
  size_t len;
  unsigned sum;
};

static void tell(struct told *t, const struct ob_frames *f, enum ob_frame_kind kind)
{
  int n = (int)(f->payload.len < 16 ? f->payload.len : 16);
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%c", ".TBPOCF"[kind]);
  if (kind == OB_FRAME_CLOSE || kind == OB_FRAME_FAULT)
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%u", f->code);
  else
    t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%zu", f->payload.len);
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, ":%.*s ", n,
                             f->payload.ptr ? f->payload.ptr : "");
  for (size_t i = 0; i < f->payload.len; i++)
    t->sum = t->sum * 31 + (unsigned char)f->payload.ptr[i];
}

/* Reads the stream in pieces of that many bytes; each piece is a copy of its own, so that a byte
 * read beyond it or kept from it is seen by the sanitizer. */
static void read_in(struct told *t, struct span stream, size_t piece, bool from_client, size_t max)
{
  struct ob_frames f;
  *t = (struct told) { .len = 0 };
  ob_frames_init(&f, from_client, max);
  while (stream.len && t->len < LOG_MAX - 64) {
    size_t n = piece < stream.len ? piece : stream.len;
    char *copy = malloc(n);
    memcpy(copy, stream.ptr, n);
    struct span input = { copy, n };
    for (;;) {
      enum ob_frame_kind kind = ob_frames_next(&f, &input);
      if (kind == OB_FRAME_MORE) break;
      tell(t, &f, kind);
    }
    cr_expect_eq(input.len, 0);
    free(copy);
    stream.ptr += n;
    stream.len -= n;
  }
  ob_frames_done(&f);
}

static size_t add(char *to, unsigned opcode, bool final, struct span payload, bool masked)
{
  size_t n = ob_frame_write(to, (enum ob_opcode)opcode, &payload, 1, masked ? mask : NULL);
  if (!final) to[0] = (char)(to[0] & 0x7F);
  return n;
}

static const size_t sizes[] = { 0, 1, 3, 4, 7, 8, 9, 125, 126, 127, 65535, 65536, 70000 };

Test(frame, writes_what_it_reads_at_every_size)
{
  char *stream = malloc(STREAM_MAX), *payload = malloc(STREAM_MAX);
  for (size_t i = 0; i < STREAM_MAX; i++) payload[i] = (char)(i * 13 + (i >> 8));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int masked = 0; masked < 2; masked++) {
      struct span whole = { payload, sizes[i] };
      size_t n = add(stream, OB_OP_BINARY, true, whole, masked);
      cr_expect_eq(n, ob_frame_head_size(sizes[i], masked) + sizes[i]);
      struct ob_frames f;
      ob_frames_init(&f, masked, STREAM_MAX);
      struct span input = { stream, n };
      cr_expect_eq(ob_frames_next(&f, &input), OB_FRAME_BINARY, "%zu", sizes[i]);
      cr_expect(span_eq(f.payload, whole), "%zu masked %d", sizes[i], masked);
      cr_expect_eq(ob_frames_next(&f, &input), OB_FRAME_MORE);
      ob_frames_done(&f);
    }
  }
  free(stream);
  free(payload);
}

Test(frame, masks_in_parts_as_in_one)
{
  static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  char whole[64], parts[64];
  struct span all = { text, sizeof text - 1 };
  size_t n = ob_frame_write(whole, OB_OP_TEXT, &all, 1, mask);
  for (size_t a = 0; a <= all.len; a++) {
    for (size_t b = a; b <= all.len; b++) {
      struct span p[] = { { text, a }, { text + a, b - a }, { text + b, all.len - b } };
      cr_assert_eq(ob_frame_write(parts, OB_OP_TEXT, p, 3, mask), n);
      cr_assert_eq(memcmp(whole, parts, n), 0, "%zu %zu", a, b);
    }
  }
}

static const struct {
  const char *label, *bytes;
  size_t len;
  bool from_client;
  const char *told;
} streams[] = {
  { "text", "\x81\x05hello", 7, false, "T5:hello " },
  { "masked text", "\x81\x82\x01\x02\x03\x04\x69\x6b", 8, true, "T2:hi " },
  { "empty", "\x81\x00", 2, false, "T0: " },
  { "binary", "\x82\x01x", 3, false, "B1:x " },
  { "two bytes of length", "\x81\x7e\x00\x01x", 5, false, "T1:x " },
  { "eight bytes of length", "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01x", 11, false, "T1:x " },
  { "fragments",
    "\x01\x01"
    "a\x00\x01"
    "b\x80\x01"
    "c",
    9, false, "T3:abc " },
  { "empty fragments", "\x01\x00\x00\x00\x80\x00", 6, false, "T0: " },
  { "first one empty", "\x02\x00\x80\x02xy", 6, false, "B2:xy " },
  { "ping between",
    "\x01\x01"
    "a\x89\x01p\x8a\x00\x80\x01"
    "b",
    11, false, "P1:p O0: T2:ab " },
  { "close", "\x88\x00", 2, false, "C1005: " },
  { "close with code", "\x88\x02\x03\xe8", 4, false, "C1000: " },
  { "close with reason", "\x88\x05\x0f\xa0why", 7, false, "C4000:why " },
  { "a message after the close", "\x88\x00\x81\x01x", 5, false, "C1005: T1:x " },
  { "masked close", "\x88\x82\x01\x01\x01\x01\x02\xe9", 8, true, "C1000: " },
  { "header only", "\x81", 1, false, "" },
  { "not all of it", "\x81\x05hell", 6, false, "" },
  /* faults: the rest is discarded */
  { "unmasked from a client", "\x81\x01x\x81\x01x", 6, true, "F1002: " },
  { "masked from a server", "\x81\x81\x00\x00\x00\x00x", 7, false, "F1002: " },
  { "reserved bits", "\xa1\x01x", 3, false, "F1002: " },
  { "opcode 3", "\x83\x00", 2, false, "F1002: " },
  { "opcode 15", "\x8f\x00", 2, false, "F1002: " },
  { "fragmented ping", "\x09\x00", 2, false, "F1002: " },
  { "long ping", "\x89\x7e\x00\x7e", 4, false, "F1002: " },
  { "continuation of nothing", "\x80\x00", 2, false, "F1002: " },
  { "continuation after the end", "\x81\x01x\x80\x01y", 6, false, "T1:x F1002: " },
  { "a new message inside", "\x01\x01x\x81\x01y", 6, false, "F1002: " },
  { "half a code", "\x88\x01\x03\x81\x01x", 6, false, "F1002: " },
  { "larger than the limit", "\x81\x7e\x00\x81", 4, false, "F1009: " },
  { "larger in sum",
    "\x01\x7e\x00\x80........................................................"
    "........................................................................"
    "\x80\x01x",
    4 + 128 + 3, false, "F1009: " },
  { "far larger", "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10, false, "F1009: " },
};

Test(frame, reads_streams_cut_anywhere)
{
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    struct told t;
    struct span stream = { streams[i].bytes, streams[i].len };
    for (size_t piece = 1; piece <= stream.len; piece++) {
      read_in(&t, stream, piece, streams[i].from_client, 128);
      cr_expect_str_eq(t.text, streams[i].told, "%s in pieces of %zu: %s", streams[i].label, piece,
                       t.text);
    }
  }
}

Test(frame, reads_the_same_whatever_the_pieces)
{
  char *stream = malloc(STREAM_MAX), *payload = malloc(STREAM_MAX);
  static const size_t pieces[] = { 1, 2, 3, 13, 1000, 4096, 65535, 65536, STREAM_MAX };
  for (size_t i = 0; i < STREAM_MAX; i++) payload[i] = (char)('a' + i % 26);
  for (int masked = 0; masked < 2; masked++) {
    size_t n = 0;
    for (unsigned i = 0; i < 60; i++) {
      size_t len = (i * 2654435761u >> 8) % (i % 7 ? 300 : 20000);
      bool whole = i % 3 == 0;
      n += add(stream + n, OB_OP_TEXT, whole, (struct span) { payload + i, len }, masked);
      if (i % 4 == 0) n += add(stream + n, OB_OP_PING, true, (struct span) { "?", 1 }, masked);
      if (!whole)
        n += add(stream + n, OB_OP_CONTINUATION, true, (struct span) { payload, len / 2 }, masked);
    }
    cr_assert(n < STREAM_MAX);
    struct told first, other;
    read_in(&first, (struct span) { stream, n }, n, masked, STREAM_MAX);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
      read_in(&other, (struct span) { stream, n }, pieces[i], masked, STREAM_MAX);
      cr_expect_str_eq(other.text, first.text, "pieces of %zu", pieces[i]);
      cr_expect_eq(other.sum, first.sum, "pieces of %zu", pieces[i]);
    }
  }
  free(stream);
  free(payload);
}

Test(frame, keeps_to_the_limit_exactly)
{
  char stream[512];
  struct told t;
  struct span most = { "................................................................"
                       "................................................................",
                       128 };
  size_t n = add(stream, OB_OP_TEXT, false, (struct span) { most.ptr, 100 }, false);
  n += add(stream + n, OB_OP_CONTINUATION, true, (struct span) { most.ptr, 28 }, false);
  n += add(stream + n, OB_OP_TEXT, true, most, false);
  read_in(&t, (struct span) { stream, n }, n, false, 128);
  cr_expect_str_eq(t.text, "T128:................ T128:................ ");
}

Test(frame, gives_large_buffers_back)
{
  struct ob_frames f;
  size_t size = 1u << 20;
  char *stream = malloc(size + OB_FRAME_HEAD_MAX);
  struct span payload = { calloc(1, size), size };
  size_t n = ob_frame_write(stream, OB_OP_TEXT, &payload, 1, NULL);
  ob_frames_init(&f, false, size);
  struct span half = { stream, n / 2 }, rest = { stream + n / 2, n - n / 2 };
  cr_expect_eq(ob_frames_next(&f, &half), OB_FRAME_MORE);
  cr_expect_eq(ob_frames_next(&f, &rest), OB_FRAME_TEXT);
  cr_expect_geq(f.message.cap, size);
  cr_expect_eq(ob_frames_next(&f, &rest), OB_FRAME_MORE);
  cr_expect_lt(f.message.cap, size);
  ob_frames_done(&f);
  free((char *)payload.ptr);
  free(stream);
}

static const struct {
  unsigned code;
  const char *reason;
  size_t len;
} closes[] = {
  { 0, "ignored", 0 },
  { 1000, "", 2 },
  { 1008, "no", 4 },
  { 1000,
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
    "456789012345678901234567890123456789",
    125 },
  /* cut before a character, not within */
  { 1000,
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
    "4567890123456789012345678901\xe4\xbd\xa0",
    124 },
};

Test(frame, cuts_reasons_at_a_character)
{
  for (size_t i = 0; i < sizeof closes / sizeof *closes; i++) {
    char out[OB_FRAME_CONTROL_MAX];
    struct span reason = { closes[i].reason, strlen(closes[i].reason) };
    size_t n = ob_frame_close_payload(out, closes[i].code, reason);
    cr_expect_eq(n, closes[i].len, "row %zu: %zu", i, n);
    if (n >= 2) cr_expect_eq(span_utf8_fault((struct span) { out + 2, n - 2 }), n - 2);
  }
}
