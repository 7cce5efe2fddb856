/* stream: an answer in pieces is read as its whole, however the bytes are cut. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/provider/stream.h"

static const struct {
  const char *dialect, *body, *text, *stop;
  size_t calls;
  bool failed, broken;
  int64_t status;
} streams[] = {
  { "openai",
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"a\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":null}]}\r\n\r\n: ping\n"
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"total_tokens\":7}}\n\ndata: [DONE]\n\n",
    "ab", "stop", 0, false, false, 0 },
  { "openai",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{"
    "\"name\":\"x\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
    "\":1}\"}},{\"index\":99}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "", "tool_calls", 1, false, false, 0 },
  { "openai", "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n", "", "", 0, true, true,
    0 },
  { "openai", "data: {\"error\":{\"code\":429}}\n\n", "", "", 0, true, false, 429 },
  { "mistral",
    "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\"},{\"type\":\"text\","
    "\"text\":\"a\"}]},\"finish_reason\":\"stop\"}]}\n",
    "a", "stop", 0, false, false, 0 },
  { "anthropic",
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{"
    "\"input_tokens\":4}}}\n\n"
    "data: "
    "{\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
    "data: "
    "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
    "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\","
    "\"name\":\"x\"}}\n\n"
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"partial_json\":\"{\\\"a\\\":1}\"}}\n\n"
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{"
    "\"output_tokens\":3}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    "hi", "tool_use", 1, false, false, 0 },
  { "anthropic", "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", "", "",
    0, true, false, 529 },
  { "anthropic", "event: message_start\ndata: {\"type\":\"message_start\"}\n\n", "", "", 0, true,
    true, 0 },
  { "gemini",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n"
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"thought\":true,\"text\":\"no\"},{\"text\":"
    "\"b\"},{\"functionCall\":{\"name\":\"x\",\"args\":{\"a\":1}}}]},\"finishReason\":\"STOP\"}],"
    "\"usageMetadata\":{\"totalTokenCount\":7}}\n\n",
    "ab", "STOP", 1, false, false, 0 },
  { "gemini", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n", "", "",
    0, true, true, 0 },
  { "ollama",
    "{\"message\":{\"content\":\"a\"},\"done\":false}\n"
    "{\"message\":{\"content\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":{"
    "\"a\":1}}}]},\"done\":false}\n"
    "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":7}\n",
    "ab", "stop", 1, false, false, 0 },
  { "ollama", "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"message\":{}}\n", "", "", 0,
    true, true, 0 },
  { "ollama", "{\"message\":{\"content\":\"a\"}}\n{\"error\":\"out of memory\"}\n", "", "", 0, true,
    false, 0 },
  /* what is no JSON is passed over, an event may have several lines, ends of lines are of any kind */
  { "openai",
    "\xEF\xBB\xBF: hello\r\nevent: x\rid: 1\r\nretry: 3\ndata: garbage\r\rdata: "
    "{\"choices\":\r\n"
    "data: [{\"delta\":{\"content\":\"ab\"},\r\ndata:\"finish_reason\":\"stop\"}]}\r\n\r\n",
    "ab", "stop", 0, false, false, 0 },
  { "openai", "data:{\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}\n\ndata:[DONE]", "ab", "", 0,
    false, false, 0 },
  { "openai", "data: [DONE]", "", "", 0, false, false, 0 },
  { "openai", ": only a ping\n\n", "", "", 0, false, true, 0 },
  { "openai", "data: {\"choices\":[{\"delta\":{\"content\":\"cut\"},\"fin", "", "", 0, false, true,
    0 },
  { "openai", "data: {\"error\":null,\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n", "", "stop",
    0, false, false, 0 },
  /* two calls with one index, one call without any */
  { "openai",
    "data: "
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":"
    "\"x\","
    "\"arguments\":\"{\\\"a\\\":\"}}]}}]}\n\n"
    "data: "
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}},"
    "{\"index\":0,\"id\":\"d\",\"function\":{\"name\":\"y\",\"arguments\":\"{}\"}}]}}]}\n\ndata: "
    "[DONE]\n\n",
    "", "", 2, false, false, 0 },
  { "openai",
    "data: "
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"x\"}}]}}]}"
    "\n\n"
    "data: "
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"arguments\":\"{"
    "\\\"a\\\":1}\"}}]},"
    "\"finish_reason\":\"tool_calls\"}]}\n\n",
    "", "tool_calls", 1, false, false, 0 },
  /* bodies that are none */
  { "openai",
    "  {\"choices\":[{\"finish_reason\":\"stop\",\n\"message\":{\"content\":\"ab\"}}]}\n\n", "ab",
    "stop", 0, false, false, 0 },
  { "openai", "{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":\"ab\"}}]}", "ab",
    "stop", 0, false, false, 0 },
  { "ollama", "{\"message\":{\"content\":\"ab\"},\"done\":true,\"done_reason\":\"stop\"}\r\n \r\n",
    "ab", "stop", 0, false, false, 0 },
};

/* Feeds a body in pieces of step bytes, the first of first bytes. */
static enum rg_stream_end read_in_pieces(const struct rg_provider *config, struct span body,
                                         size_t first, size_t step, struct buf *out)
{
  struct rg_stream s;
  rg_stream_init(&s, config);
  for (size_t at = 0, n = first; at < body.len; at += n, n = step) {
    if (n > body.len - at) n = body.len - at;
    char *piece = malloc(n + 1); /* so that nothing beside it can be read unseen */
    if (n > 0) memcpy(piece, body.ptr + at, n);
    cr_expect(rg_stream_feed(&s, (struct span) { piece, n }));
    free(piece);
    if (n == 0 && step == 0) break;
  }
  enum rg_stream_end end = rg_stream_finish(&s, out);
  rg_stream_done(&s);
  return end;
}

Test(stream, is_read_as_its_whole)
{
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    struct arena arena;
    struct rg_provider_answer a;
    struct buf body;
    arena_init(&arena, 1 << 24);
    buf_init(&body, 1 << 24);
    const struct rg_provider config = { .dialect = span_of(streams[i].dialect) };
    struct span text = span_of(streams[i].body);
    enum rg_stream_end end = read_in_pieces(&config, text, text.len, text.len, &body);
    cr_expect_eq(end, streams[i].broken ? RG_STREAM_BROKEN : RG_STREAM_WHOLE, "row %zu", i);
    if (end == RG_STREAM_WHOLE) {
      cr_assert(rg_provider_read(&config, buf_span(&body), &arena, &a), "row %zu", i);
      cr_expect(a.failed == streams[i].failed && a.failed_status == streams[i].status, "row %zu",
                i);
      cr_expect(span_is(a.said.text, streams[i].text), "row %zu: %.*s", i, (int)a.said.text.len,
                a.said.text.ptr);
      cr_expect(span_is(a.said.stop, streams[i].stop), "row %zu", i);
      cr_expect_eq(a.call_count, streams[i].calls, "row %zu: %zu", i, a.call_count);
      if (a.call_count > 0)
        cr_expect(span_is(a.calls[0].name, "x") && span_is(a.calls[0].arguments, "{\"a\":1}"),
                  "row %zu", i);
    }
    buf_done(&body);
    arena_done(&arena);
  }
}

Test(stream, is_the_same_however_it_is_cut)
{
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    const struct rg_provider config = { .dialect = span_of(streams[i].dialect) };
    struct span text = span_of(streams[i].body);
    struct buf whole, cut;
    buf_init(&whole, 1 << 24);
    buf_init(&cut, 1 << 24);
    enum rg_stream_end end = read_in_pieces(&config, text, text.len, text.len, &whole);
    for (size_t at = 0; at <= text.len; at++) {
      size_t step = at > 0 ? text.len : 1; /* two pieces; at first byte by byte */
      buf_clear(&cut);
      cr_expect_eq(read_in_pieces(&config, text, at > 0 ? at : 1, step, &cut), end,
                   "row %zu cut at %zu", i, at);
      cr_expect(span_eq(buf_span(&cut), buf_span(&whole)), "row %zu cut at %zu: %.*s", i, at,
                (int)cut.len, cut.ptr);
    }
    buf_done(&whole);
    buf_done(&cut);
  }
}

/* A truncated tail is never taken for a whole. */
Test(stream, is_broken_wherever_it_ends_too_early)
{
  const struct rg_provider config = { .dialect = SPAN("openai") };
  const char *const body = "data: {\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}\n\n"
                           "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}";
  for (size_t n = 6; n < strlen(body); n++) {
    struct buf out;
    buf_init(&out, 1 << 20);
    cr_expect_eq(read_in_pieces(&config, (struct span) { body, n }, n, n, &out), RG_STREAM_BROKEN,
                 "%zu bytes", n);
    buf_done(&out);
  }
}

/* ---- bounds ---- */

/* Feeds the same piece until it is refused; returns the bytes that were taken. */
static size_t flood(struct rg_stream *s, const char *piece, size_t most)
{
  size_t n = strlen(piece), taken = 0;
  while (taken < most && rg_stream_feed(s, (struct span) { piece, n })) taken += n;
  return taken;
}

static const struct {
  const char *first, *then;
  size_t most; /* bytes that may be taken before it is too large */
} floods[] = {
  { "data: ",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    RG_PROVIDER_BODY_MAX },
  { ": a\n",
    "data: not json xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
    RG_PROVIDER_BODY_MAX + 1024 * 1024 },
  { ": a\n",
    ": ping                                                                             \n\n",
    RG_STREAM_BYTES_MAX },
  { ": a\n", "{}\n", 3 * (RG_STREAM_EVENTS_MAX + 2) },
  { "{\"a\":",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
    "[",
    RG_PROVIDER_BODY_MAX },
  { "{}\n",
    "\n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n "
    "\n \n",
    RG_PROVIDER_BODY_MAX },
  { "",
    "\n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n \n "
    "\n \n \n",
    RG_PROVIDER_BODY_MAX },
};

Test(stream, is_bounded)
{
  const struct rg_provider config = { .dialect = SPAN("openai") };
  for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
    struct rg_stream s;
    struct buf out;
    buf_init(&out, 1 << 28);
    rg_stream_init(&s, &config);
    rg_stream_feed(&s, span_of(floods[i].first));
    size_t taken = flood(&s, floods[i].then, 2 * (size_t)RG_STREAM_BYTES_MAX);
    cr_expect_leq(taken, floods[i].most, "row %zu: %zu bytes", i, taken);
    cr_expect_eq(rg_stream_finish(&s, &out), RG_STREAM_TOO_LARGE, "row %zu", i);
    rg_stream_done(&s);
    buf_done(&out);
  }
}

/* What is held is the answer, not the bytes around it. */
Test(stream, holds_what_the_answer_comes_to)
{
  const struct rg_provider config = { .dialect = SPAN("openai") };
  struct rg_stream s;
  rg_stream_init(&s, &config);
  const char *const event =
      "data: {\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\","
      "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
  size_t taken = flood(&s, event, 4 << 20);
  cr_expect_gt(taken, 3 << 20);
  cr_expect_eq(s.line.cap + s.data.cap, 0, "%zu", s.line.cap + s.data.cap);
  cr_expect_lt(s.joined.text.cap, 256 * 1024);
  cr_expect_lt(s.arena.used, 64 * 1024);
  rg_stream_done(&s);
}
