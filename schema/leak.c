#include "schema/leak.h"

/* ---- the shapes of secrets ---- */

enum chars {
  WORD = 1,  /* A-Z a-z 0-9 _ - */
  UPPER = 2, /* A-Z 0-9 */
  ALNUM = 3, /* A-Z a-z 0-9 */
};

/* A secret begins with prefix, at the begin of a word, and goes on with at least min characters,
 * among them a digit, or letters of both cases where no words can be joined. The first row that
 * fits decides; the prefix is what stays to be seen. */
static const struct {
  const char *prefix;
  size_t min, max;
  enum chars chars;
} shapes[] = {
  { "sk-ant-", 20, 512, WORD },     /* Anthropic */
  { "sk-proj-", 20, 512, WORD },    /* OpenAI */
  { "sk-or-", 20, 512, WORD },      /* OpenRouter */
  { "sk-", 20, 512, WORD },         /* OpenAI, DeepSeek, Moonshot, DashScope … */
  { "sk_live_", 16, 256, WORD },    /* Stripe */
  { "rk_live_", 16, 256, WORD },    /**/
  { "whsec_", 16, 256, WORD },      /**/
  { "ghp_", 30, 256, ALNUM },       /* GitHub */
  { "gho_", 30, 256, ALNUM },       /**/
  { "ghu_", 30, 256, ALNUM },       /**/
  { "ghs_", 30, 256, ALNUM },       /**/
  { "ghr_", 30, 256, ALNUM },       /**/
  { "github_pat_", 22, 256, WORD }, /**/
  { "glpat-", 20, 256, WORD },      /* GitLab */
  { "AKIA", 16, 16, UPPER },        /* Amazon */
  { "ASIA", 16, 16, UPPER },        /**/
  { "LTAI", 12, 26, ALNUM },        /* Alibaba Cloud */
  { "AKID", 28, 64, ALNUM },        /* Tencent Cloud */
  { "AKLT", 28, 64, ALNUM },        /* Volcengine */
  { "AIza", 35, 35, WORD },         /* Google */
  { "GOCSPX-", 20, 64, WORD },      /**/
  { "xoxb-", 20, 256, WORD },       /* Slack */
  { "xoxp-", 20, 256, WORD },       /**/
  { "xoxa-", 20, 256, WORD },       /**/
  { "xapp-", 20, 256, WORD },       /**/
  { "hf_", 30, 64, ALNUM },         /* Hugging Face */
  { "gsk_", 40, 128, ALNUM },       /* Groq */
  { "r8_", 36, 64, ALNUM },         /* Replicate */
  { "xai-", 40, 256, WORD },        /* xAI */
  { "nvapi-", 40, 256, WORD },      /* NVIDIA */
  { "pplx-", 40, 128, ALNUM },      /* Perplexity */
  { "tvly-", 20, 128, WORD },       /* Tavily */
  { "npm_", 36, 64, ALNUM },        /* npm */
  { "pypi-", 50, 512, WORD },       /* PyPI */
  { "dop_v1_", 60, 128, ALNUM },    /* DigitalOcean */
  { "shpat_", 30, 64, ALNUM },      /* Shopify */
};

/* KEY=value is masked where the key has one of these in it, in lower case. */
static const char *const secret_keys[] = {
  "password", "passwd",    "secret",     "token",      "credential", "apikey",      "api_key",
  "api-key",  "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key",
};

/* Below a folder of that name everything is secret. */
static const char *const secret_folders[] = { ".ssh", ".gnupg", ".aws", ".kube", ".docker" };

enum {
  SECRET_MIN = 15,      /* the shortest of the shapes with its prefix */
  SECRET_VALUE_MIN = 8, /* of KEY=value; shorter ones are examples */
  BASE64_MIN = 1024,    /* no word, key or hash is as long */
  USERINFO_MAX = 256,   /* of an address */
  PEM_MAX = 16 * 1024,  /* a key of 8,192 bits has 6,400 characters */
};

static bool is_alnum(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
  return is_alnum(c) || c == '_' || c == '-';
}

static bool is_of(char c, enum chars chars)
{
  if (chars == UPPER) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
  return chars == ALNUM ? is_alnum(c) : is_word(c);
}

static bool starts_at(struct span text, size_t at, const char *what)
{
  size_t n = strlen(what);
  return at <= text.len && text.len - at >= n && memcmp(text.ptr + at, what, n) == 0;
}

static bool has_digit(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if (s.ptr[i] >= '0' && s.ptr[i] <= '9') return true;
  return false;
}

static bool has_letter(struct span s)
{
  for (size_t i = 0; i < s.len; i++)
    if (is_alnum(s.ptr[i]) && !(s.ptr[i] >= '0' && s.ptr[i] <= '9')) return true;
  return false;
}

static bool has_both_cases(struct span s)
{
  bool upper = false, lower = false;
  for (size_t i = 0; i < s.len; i++) {
    upper = upper || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z');
    lower = lower || (s.ptr[i] >= 'a' && s.ptr[i] <= 'z');
  }
  return upper && lower;
}

/* ---- what is found ---- */

struct find {
  size_t begin, end;   /* what goes */
  const char *instead; /* what comes in its place */
  enum schema_repair_kind kind;
};

/* A secret by its prefix in the word [begin, end). */
static bool find_shape(struct span text, size_t begin, struct find *ret)
{
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    if (shapes[i].prefix[0] != text.ptr[begin] || !starts_at(text, begin, shapes[i].prefix))
      continue;
    size_t from = begin + strlen(shapes[i].prefix), to = from;
    while (to < text.len && is_of(text.ptr[to], shapes[i].chars)) to++;
    struct span tail = { text.ptr + from, to - from };
    if (tail.len < shapes[i].min || tail.len > shapes[i].max) continue;
    bool letters = shapes[i].chars == ALNUM && has_both_cases(tail); /* Hugging Face: no digits */
    if (!letters && !has_digit(tail)) continue;
    *ret = (struct find) { from, to, "***", SCHEMA_FIX_MASKED };
    return true;
  }
  return false;
}

/* A JSON Web Token: three parts, of which the first two are JSON. */
static bool find_web_token(struct span text, size_t begin, struct find *ret)
{
  enum { PART_MIN = 10 };
  if (!starts_at(text, begin, "eyJ")) return false;
  size_t at = begin;
  for (int part = 0; part < 3; part++) {
    size_t from = at;
    if (part == 1 && !starts_at(text, at, "eyJ")) return false;
    while (at < text.len && is_word(text.ptr[at])) at++;
    if (at - from < PART_MIN) return false;
    if (part < 2 && (at >= text.len || text.ptr[at++] != '.')) return false;
  }
  *ret = (struct find) { begin, at, "***", SCHEMA_FIX_MASKED };
  return true;
}

/* 123456789:AA…: the token of a Telegram bot. */
static bool find_bot_token(struct span text, size_t begin, size_t end, struct find *ret)
{
  enum { SECRET_LEN = 35 };
  if (end - begin < 8 || end - begin > 10 || end >= text.len || text.ptr[end] != ':') return false;
  for (size_t i = begin; i < end; i++)
    if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
  size_t to = end + 1;
  while (to < text.len && is_word(text.ptr[to])) to++;
  if (to - end - 1 != SECRET_LEN || !starts_at(text, end + 1, "AA")) return false;
  *ret = (struct find) { end + 1, to, "***", SCHEMA_FIX_MASKED };
  return true;
}

static bool is_base64(char c)
{
  return is_word(c) || c == '+' || c == '/' || c == '=';
}

/* A run of base64 that begins at byte begin, with the data: address before it. What ends before
 * *seen has been looked at. */
static bool find_base64(struct span text, size_t begin, size_t *seen, struct find *ret)
{
  if (begin < *seen) return false;
  enum { SCHEME_MAX = 80 };
  bool upper = false, lower = false, digit = false;
  size_t to = begin;
  for (; to < text.len && is_base64(text.ptr[to]); to++) {
    char c = text.ptr[to];
    upper = upper || (c >= 'A' && c <= 'Z');
    lower = lower || (c >= 'a' && c <= 'z');
    digit = digit || (c >= '0' && c <= '9');
  }
  *seen = to;
  if (to - begin >= BASE64_MIN / 2) /* what stands before its first long word is part of it */
    while (begin > 0 && is_base64(text.ptr[begin - 1])) begin--;
  if (to - begin < BASE64_MIN || !upper || !lower || !digit) return false;
  size_t window = begin < SCHEME_MAX ? begin : SCHEME_MAX;
  const char *data = memmem(text.ptr + begin - window, window, "data:", 5);
  bool scheme = data && text.ptr[begin - 1] == ',';
  *ret =
      (struct find) { scheme ? (size_t)(data - text.ptr) : begin, to, "…", SCHEMA_FIX_BASE64_CUT };
  return true;
}

/* user:password@ behind the :// whose colon is at byte colon. */
static bool find_userinfo(struct span text, size_t colon, struct find *ret)
{
  if (!starts_at(text, colon, "://")) return false;
  size_t begin = colon + 3, at = begin, parts = 0;
  for (; at < text.len && at - begin < USERINFO_MAX; at++) {
    char c = text.ptr[at];
    if (c == '@') break;
    if (c == ':') parts++;
    if (c & 0x80 || c <= ' ' || strchr("/?#\"'<>()[]{}", c)) return false;
  }
  if (at >= text.len || text.ptr[at] != '@' || at == begin || parts == 0) return false;
  *ret = (struct find) { begin, at, "***", SCHEMA_FIX_MASKED };
  return true;
}

static bool is_secret_key(struct span key)
{
  char word[64];
  size_t len = 0;
  for (size_t i = 0; i < key.len && len + 1 < sizeof word; i++) {
    char c = key.ptr[i];
    word[len++] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
  }
  word[len] = '\0';
  for (size_t i = 0; i < sizeof secret_keys / sizeof *secret_keys; i++)
    if (strstr(word, secret_keys[i])) return true;
  return false;
}

/* How values begin that documentation shows in the place of a secret: they may be seen. */
static const char *const examples[] = { "your", "xxx", "XXX", "example", "changeme", "my_" };

/* KEY=value, "key": "value"; the key is the word [begin, end). */
static bool find_pair(struct span text, size_t begin, size_t end, struct find *ret)
{
  size_t at = end;
  if (at >= text.len) return false;
  bool quoted = text.ptr[at] == '"' || text.ptr[at] == '\'';
  if (quoted) at++;
  while (at < text.len && text.ptr[at] == ' ') at++;
  if (at >= text.len || !(text.ptr[at] == '=' || (quoted && text.ptr[at] == ':'))) return false;
  if (!is_secret_key((struct span) { text.ptr + begin, end - begin })) return false;
  at++;
  while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '"' || text.ptr[at] == '\''))
    at++;
  size_t to = at;
  while (to < text.len && (is_word(text.ptr[to]) || strchr("+/.~=", text.ptr[to])) && text.ptr[to])
    to++;
  struct span value = { text.ptr + at, to - at };
  if (value.len < SECRET_VALUE_MIN || !has_digit(value) || !has_letter(value)) return false;
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
    if (starts_at(text, at, examples[i])) return false;
  *ret = (struct find) { at, to, "***", SCHEMA_FIX_MASKED };
  return true;
}

/* Authorization: Bearer … */
static bool find_bearer(struct span text, size_t begin, size_t end, struct find *ret)
{
  if (end - begin != 6 || !span_eq_nocase((struct span) { text.ptr + begin, 6 }, SPAN("bearer")))
    return false;
  size_t at = end;
  while (at < text.len && text.ptr[at] == ' ') at++;
  size_t to = at, word = at;
  while (word < text.len && is_word(text.ptr[word])) word++;
  while (to < text.len && (is_base64(text.ptr[to]) || text.ptr[to] == '.')) to++;
  if (at == end || word - at < SECRET_MIN || !has_digit((struct span) { text.ptr + at, to - at }))
    return false;
  *ret = (struct find) { at, to, "***", SCHEMA_FIX_MASKED };
  return true;
}

/* Whether a line of a key's base64 is in s: as they begin where nothing is encrypted, or whole. */
static bool has_key_line(struct span s)
{
  enum { LINE = 64 };
  for (size_t begin = 0, end; begin < s.len; begin = end + 1) {
    end = begin;
    while (end < s.len && is_word(s.ptr[end])) end++;
    size_t n = end - begin;
    if (n >= LINE || (n >= SECRET_MIN && memchr("Mb", s.ptr[begin], 2))) return true;
  }
  return false;
}

/* A private key in PEM's form, whose first hyphen is at byte at. */
static bool find_private_key(struct span text, size_t at, struct find *ret)
{
  static const struct span close = { "PRIVATE KEY-----", 16 };
  if (!starts_at(text, at, "-----BEGIN ")) return false;
  struct span rest = { text.ptr + at, text.len - at < PEM_MAX ? text.len - at : PEM_MAX };
  enum { LABEL_MAX = 64 };
  struct span head = { rest.ptr, rest.len < LABEL_MAX ? rest.len : LABEL_MAX };
  size_t open = span_find(head, close);
  if (open == head.len) return false;
  size_t from = open + close.len;
  size_t n = span_find((struct span) { rest.ptr + from, rest.len - from }, close);
  size_t len = n < rest.len - from ? from + n + close.len : rest.len;
  if (!has_key_line((struct span) { rest.ptr + from, len - from })) return false; /* no key in it */
  *ret = (struct find) { at, at + len, "***", SCHEMA_FIX_MASKED };
  return true;
}

/* ---- paths ---- */

static bool same_char(char a, char b)
{
  if (a == '\\') a = '/';
  if (b == '\\') b = '/';
  return a == b;
}

static bool starts_with_path(struct span text, size_t at, struct span path)
{
  if (text.len - at < path.len) return false;
  for (size_t i = 0; i < path.len; i++)
    if (!same_char(text.ptr[at + i], path.ptr[i])) return false;
  size_t behind = at + path.len;
  return behind == text.len || !(is_word(text.ptr[behind]) || text.ptr[behind] == '.');
}

static bool is_path_char(char c)
{
  return is_word(c) || c & 0x80 || strchr("/\\.~+@%", c);
}

/* A path below folder that begins at byte at. */
static bool find_path(struct span text, size_t at, struct span folder, const char *instead,
                      struct find *ret)
{
  enum { SCHEME_LEN = 7 };
  while (folder.len > 1 && same_char(folder.ptr[folder.len - 1], '/')) folder.len--;
  if (folder.len < 2 || !starts_with_path(text, at, folder)) return false;
  size_t begin = at;
  if (at >= SCHEME_LEN && starts_at(text, at - SCHEME_LEN, "file://"))
    begin = at - SCHEME_LEN;
  else if (at > 0 && is_path_char(text.ptr[at - 1]))
    return false; /* the middle of another path, or of an address */
  size_t end = at + folder.len;
  *ret = (struct find) { begin, end, instead, SCHEMA_FIX_PATH_SHORTENED };
  if (end >= text.len || !same_char(text.ptr[end], '/')) return true;
  for (size_t i = 0; i < sizeof secret_folders / sizeof *secret_folders; i++) {
    if (!starts_at(text, end + 1, secret_folders[i])) continue;
    ret->instead = "~/***";
    while (ret->end < text.len && is_path_char(text.ptr[ret->end])) ret->end++;
  }
  return true;
}

static bool find_private_path(struct span text, size_t at, const struct schema_private *hide,
                              struct find *ret)
{
  if (!hide) return false;
  return find_path(text, at, hide->project, ".", ret) || find_path(text, at, hide->home, "~", ret);
}

/* ---- all together ---- */

/* What the word [at, end) may be or begin. */
static bool find_in_word(struct span text, size_t at, size_t end, size_t *seen, struct find *ret)
{
  while (at < end && text.ptr[at] == '-') at++;
  size_t n = end - at;
  if (n >= SECRET_MIN && (find_shape(text, at, ret) || find_base64(text, at, seen, ret)))
    return true;
  return (n >= 13 && find_web_token(text, at, ret)) || find_pair(text, at, end, ret) ||
         find_bot_token(text, at, end, ret) || find_bearer(text, at, end, ret);
}

enum schema_leak schema_leak_mask(struct span text, const struct schema_private *hide, size_t at,
                                  struct arena *arena, struct schema_repairs *repairs,
                                  struct span *ret)
{
  struct buf out;
  struct find find;
  size_t done = 0, seen = 0, next;
  bool masked = false;
  enum { LONGER = 4 }; /* what comes in the place of something is at most that much longer */
  *ret = text;
  buf_init(&out, text.len < SIZE_MAX / 8 ? text.len * LONGER + 16 : SIZE_MAX / 2);
  for (size_t i = 0; i < text.len; i = next) {
    char c = text.ptr[i];
    bool here = false;
    next = i + 1;
    if (is_word(c)) {
      while (next < text.len && is_word(text.ptr[next])) next++;
      here = find_in_word(text, i, next, &seen, &find) ||
             (c == '-' && find_private_key(text, i, &find));
    } else if (c == ':') {
      here = find_userinfo(text, i, &find);
    }
    if (!here && hide) here = find_private_path(text, i, hide, &find);
    if (!here || find.begin < done) continue;
    masked = true;
    schema_repairs_add(repairs, find.kind, at);
    buf_add(&out, (struct span) { text.ptr + done, find.begin - done });
    buf_add(&out, span_of(find.instead));
    done = next = find.end > i ? find.end : i + 1;
  }
  if (masked) {
    buf_add(&out, (struct span) { text.ptr + done, text.len - done });
    *ret = arena_copy(arena, buf_span(&out));
  }
  bool failed = out.failed || (masked && !ret->ptr);
  buf_done(&out);
  return failed ? SCHEMA_LEAK_NOMEM : masked ? SCHEMA_LEAK_MASKED : SCHEMA_LEAK_NONE;
}

bool schema_leak_begins(struct span text, size_t at)
{
  static const char firsts[] = "srwgALGxhntdpe"; /* of the shapes, of web and of bots' tokens */
  if (at >= text.len || !memchr(firsts, text.ptr[at], sizeof firsts - 1)) return false;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (starts_at(text, at, shapes[i].prefix)) return true;
  return starts_at(text, at, "eyJ") ||
         (at > 0 && text.ptr[at - 1] == ':' && starts_at(text, at, "AA"));
}

bool schema_leak_in_address(struct span address)
{
  struct find find;
  size_t next;
  for (size_t i = 0; i < address.len; i = next) {
    next = i + 1;
    char c = address.ptr[i];
    if (c == ':' && find_userinfo(address, i, &find)) return true;
    if (!is_word(c)) continue;
    while (next < address.len && is_word(address.ptr[next])) next++;
    if (next - i >= SECRET_MIN && find_shape(address, i, &find)) return true;
  }
  return false;
}
