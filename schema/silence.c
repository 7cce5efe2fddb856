#include "schema/silence.h"

#include "schema/tree.h"
#include "schema/white.h"

static const char token[] = "NO_REPLY";
enum { TOKEN_LEN = sizeof token - 1 };

/* Unicode's category P beyond ASCII, but for scripts that no model puts around the token. */
static const struct {
  uint16_t first, last;
} punctuation[] = {
  { 0x00A1, 0x00A1 }, { 0x00A7, 0x00A7 }, { 0x00AB, 0x00AB }, { 0x00B6, 0x00B7 },
  { 0x00BB, 0x00BB }, { 0x00BF, 0x00BF }, { 0x2010, 0x2027 }, { 0x2030, 0x2043 },
  { 0x2045, 0x2051 }, { 0x2053, 0x205E }, { 0x207D, 0x207E }, { 0x208D, 0x208E },
  { 0x2308, 0x230B }, { 0x2329, 0x232A }, { 0x2768, 0x2775 }, { 0x27C5, 0x27C6 },
  { 0x27E6, 0x27EF }, { 0x2983, 0x2998 }, { 0x29D8, 0x29DB }, { 0x29FC, 0x29FD },
  { 0x2CF9, 0x2CFC }, { 0x2CFE, 0x2CFF }, { 0x2D70, 0x2D70 }, { 0x2E00, 0x2E2E },
  { 0x2E30, 0x2E4F }, { 0x2E52, 0x2E5D }, { 0x3001, 0x3003 }, { 0x3008, 0x3011 },
  { 0x3014, 0x301F }, { 0x3030, 0x3030 }, { 0x303D, 0x303D }, { 0x30A0, 0x30A0 },
  { 0x30FB, 0x30FB }, { 0xFE10, 0xFE19 }, { 0xFE30, 0xFE52 }, { 0xFE54, 0xFE61 },
  { 0xFE63, 0xFE63 }, { 0xFE68, 0xFE68 }, { 0xFE6A, 0xFE6B }, { 0xFF01, 0xFF03 },
  { 0xFF05, 0xFF0A }, { 0xFF0C, 0xFF0F }, { 0xFF1A, 0xFF1B }, { 0xFF1F, 0xFF20 },
  { 0xFF3B, 0xFF3D }, { 0xFF3F, 0xFF3F }, { 0xFF5B, 0xFF5B }, { 0xFF5D, 0xFF5D },
  { 0xFF5F, 0xFF65 },
};

static bool is_punctuation(uint32_t c)
{
  if (c < 0x80) return c > ' ' && c != 0x7F && strchr("!\"#%&'()*,-./:;?@[\\]_{}", (int)c);
  for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++)
    if (c >= punctuation[i].first && c <= punctuation[i].last) return true;
  return false;
}

static struct span without_punctuation(struct span s)
{
  for (uint32_t c; s.len;) {
    size_t n = utf8_decode(s.ptr, s.len, &c);
    if (!is_punctuation(c)) break;
    s = (struct span) { s.ptr + n, s.len - n };
  }
  for (uint32_t c; s.len;) {
    size_t at = s.len - 1;
    while (at > 0 && ((unsigned char)s.ptr[at] & 0xC0) == 0x80) at--;
    utf8_decode(s.ptr + at, s.len - at, &c);
    if (!is_punctuation(c)) break;
    s.len = at;
  }
  return s;
}

/* The token, once or more with white space between. */
static bool is_token(struct span s)
{
  s = schema_white_trim(s);
  bool any = false;
  for (size_t at = 0; at < s.len;) {
    struct span here = { s.ptr + at, s.len - at < TOKEN_LEN ? s.len - at : TOKEN_LEN };
    if (!span_eq_nocase(here, (struct span) { token, TOKEN_LEN })) return false;
    at += TOKEN_LEN;
    size_t next = schema_white_skip(s, at);
    if (next == at && at < s.len) return false;
    at = next;
    any = true;
  }
  return any;
}

/* The token in the exact spelling as a JSON string or the one member action. */
static bool is_json_token(struct span s, struct arena *arena)
{
  enum { LONGEST = 256 }; /* an envelope of one member; longer ones say something else */
  if (s.len > LONGEST || s.len == 0 || (s.ptr[0] != '{' && s.ptr[0] != '"')) return false;
  struct schema_node *root;
  if (schema_tree_read(s, SCHEMA_DEPTH_REPLY, arena, &root, NULL) != SCHEMA_OK) return false;
  const struct schema_node *said = root;
  if (root->kind == SCHEMA_OBJECT) said = root->count == 1 ? schema_tree_get(root, "action") : NULL;
  struct span text = schema_tree_string(said);
  return text.ptr && span_is(schema_white_trim(text), token);
}

bool schema_silence_is(struct span text, struct arena *arena)
{
  struct span s = schema_white_trim(text);
  return is_token(s) || is_token(without_punctuation(s)) || is_json_token(s, arena);
}
