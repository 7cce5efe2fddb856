#include <criterion/criterion.h>

#include "schema/print.h"

enum { OUT_MAX = 1 << 24 };

Test(print, strings)
{
  static const struct {
    struct span in;
    const char *out;
  } rows[] = {
    { { "", 0 }, "\"\"" },
    { { NULL, 0 }, "\"\"" },
    { { "a/b\x7f\xe5\x9c\xa8", 7 }, "\"a/b\x7f\xe5\x9c\xa8\"" },
    { { "\"\\\b\f\n\r\t", 7 }, "\"\\\"\\\\\\b\\f\\n\\r\\t\"" },
    { { "\0\x01\x0b\x1f ", 5 }, "\"\\u0000\\u0001\\u000b\\u001f \"" },
    { { "x\"", 2 }, "\"x\\\"\"" },
    { { "\"x", 2 }, "\"\\\"x\"" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct buf out;
    buf_init(&out, OUT_MAX);
    struct schema_writer w = { .out = &out };
    schema_write_string(&w, rows[i].in);
    cr_expect_str_eq(out.ptr, rows[i].out, "row %zu: %s", i, out.ptr);
    buf_done(&out);
  }
}

static void add_naively(struct buf *out, struct span s)
{
  static const char escaped[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
  buf_add_char(out, '"');
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    const char *at = c ? strchr(escaped, c) : NULL;
    if (at)
      buf_printf(out, "\\%c", names[at - escaped]);
    else if (c < 0x20)
      buf_printf(out, "\\u%04x", c);
    else
      buf_add_char(out, (char)c);
  }
  buf_add_char(out, '"');
}

/* Each byte at each place of strings of each length, as short and long ones go different ways. */
Test(print, every_byte_at_every_place)
{
  size_t wrong = 0;
  struct buf out, wanted;
  buf_init(&out, OUT_MAX);
  buf_init(&wanted, OUT_MAX);
  for (size_t len = 1; len < 40; len++)
    for (size_t at = 0; at < len; at++)
      for (unsigned c = 0; c < 256; c++) {
        char text[40];
        memset(text, 'x', sizeof text);
        text[at] = (char)c;
        struct schema_writer w = { .out = &out };
        buf_clear(&out);
        buf_clear(&wanted);
        schema_write_string(&w, (struct span) { text, len });
        add_naively(&wanted, (struct span) { text, len });
        wrong += !span_eq(buf_span(&out), buf_span(&wanted)) || out.ptr[out.len];
      }
  cr_expect_eq(wrong, 0, "%zu", wrong);
  buf_done(&out);
  buf_done(&wanted);
}

Test(print, commas)
{
  struct buf out;
  buf_init(&out, OUT_MAX);
  struct schema_writer w = { .out = &out };
  schema_write_object(&w);
  schema_write_pair(&w, "a", SPAN("b"));
  schema_write_key(&w, SPAN("c\n"));
  schema_write_array(&w);
  schema_write_int(&w, INT64_MIN);
  schema_write_int(&w, 0);
  schema_write_array(&w);
  schema_write_array_end(&w);
  schema_write_object(&w);
  schema_write_object_end(&w);
  schema_write_bool(&w, true);
  schema_write_bool(&w, false);
  schema_write_null(&w);
  schema_write_raw(&w, SPAN("1e5"));
  schema_write_array_end(&w);
  schema_write_key(&w, SPAN("d"));
  schema_write_null(&w);
  schema_write_object_end(&w);
  cr_expect_str_eq(out.ptr, "{\"a\":\"b\",\"c\\n\":[-9223372036854775808,0,[],{},true,false,null,"
                            "1e5],\"d\":null}");
  buf_done(&out);
}

Test(print, trees_come_out_as_they_went_in)
{
  static const char *const rows[] = {
    "null", "true", "-1.50E+3",       "\"\\u0000x\\n\"",
    "[]",   "{}",   "[1,[2,[3]],{}]", "{\"b\":1,\"a\":[{\"\":\"\"},false],\"\\\"\":{\"x\":null}}",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct arena arena;
    struct schema_node *root;
    struct buf out;
    arena_init(&arena, 1 << 20);
    buf_init(&out, OUT_MAX);
    struct schema_writer w = { .out = &out };
    cr_assert_eq(schema_tree_read(span_of(rows[i]), 8, &arena, &root, NULL), SCHEMA_OK);
    schema_write_tree(&w, root);
    cr_expect_str_eq(out.ptr, rows[i]);
    buf_done(&out);
    arena_done(&arena);
  }
}

/* Each type of segment in the contract's shape. */
Test(print, replies)
{
  static const struct schema_button buttons[] = { { { "L", 1 }, { "P", 1 } },
                                                  { { "", 0 }, { "\"", 1 } } };
  static const struct schema_row keyboard_rows[] = { { buttons, 2 }, { buttons, 1 } };
  static const struct schema_pair fields[] = { { { "url", 3 }, { "u", 1 } },
                                               { { "title", 5 }, { "t", 1 } } };
  static const struct {
    struct schema_segment segment;
    const char *out;
  } rows[] = {
    { { .type = SCHEMA_TEXT, .text = { "a\n", 2 } },
      "{\"type\":\"text\",\"data\":{\"text\":\"a\\n\"}}" },
    { { .type = SCHEMA_MENTION, .text = { "1", 1 } },
      "{\"type\":\"mention\",\"data\":{\"target\":\"1\"}}" },
    { { .type = SCHEMA_MARKDOWN, .text = { "#", 1 } },
      "{\"type\":\"markdown\",\"data\":{\"content\":\"#\"}}" },
    { { .type = SCHEMA_FILE, .media_kind = SCHEMA_MEDIA_BASE64, .text = { "AA", 2 } },
      "{\"type\":\"file\",\"data\":{\"media\":{\"kind\":\"base64\",\"value\":\"AA\"}}}" },
    { { .type = SCHEMA_DICE }, "{\"type\":\"dice\",\"data\":{}}" },
    { { .type = SCHEMA_RPS }, "{\"type\":\"rps\",\"data\":{}}" },
    { { .type = SCHEMA_KEYBOARD, .keyboard = { keyboard_rows, 2 } },
      "{\"type\":\"keyboard\",\"data\":{\"rows\":[[{\"label\":\"L\",\"payload\":\"P\"},"
      "{\"label\":\"\",\"payload\":\"\\\"\"}],[{\"label\":\"L\",\"payload\":\"P\"}]]}}" },
    { { .type = SCHEMA_SHARE, .share = { fields, 2 } },
      "{\"type\":\"share\",\"data\":{\"url\":\"u\",\"title\":\"t\"}}" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct schema_message messages[] = { { &rows[i].segment, 1, { "-7", 2 } }, { NULL, 0, { 0 } } };
    struct schema_reply reply = { messages, 2, { "76", 2 } };
    struct buf out, wanted;
    buf_init(&out, OUT_MAX);
    buf_init(&wanted, OUT_MAX);
    for (int reaction = 0; reaction < 2; reaction++) {
      struct schema_writer w = { .out = &out };
      buf_clear(&out);
      buf_clear(&wanted);
      schema_write_reply(&w, &reply, reaction);
      buf_printf(&wanted,
                 "{\"messages\":[{\"reply_to\":\"-7\",\"segments\":[%s]},{\"segments\":[]}]%s}",
                 rows[i].out, reaction ? ",\"reaction\":\"76\"" : "");
      cr_expect_str_eq(out.ptr, wanted.ptr, "row %zu: %s", i, out.ptr);
    }
    buf_done(&out);
    buf_done(&wanted);
  }
}

Test(print, no_room)
{
  struct buf out;
  buf_init(&out, 5);
  struct schema_writer w = { .out = &out };
  schema_write_string(&w, SPAN("12345"));
  cr_expect(out.failed);
  buf_done(&out);
}
