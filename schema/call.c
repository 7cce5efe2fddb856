#include "schema/call.h"

#include "schema/markup.h"

/* ---- what an object's keys say ---- */

enum {
  NAME = 1 << 0,         /* a non-empty string */
  ARGUMENTS = 1 << 1,    /* what it is called with */
  PARAMETERS = 1 << 2,   /* the same, or the schema of a declaration */
  INPUT = 1 << 3,        /* the same beside "type":"tool_use" */
  TOOL = 1 << 4,         /* a string that can only be a tool's name */
  ACTION = 1 << 5,       /* of an agent's step */
  ACTION_INPUT = 1 << 6, /* what goes with it */
  FUNCTION = 1 << 7,     /* a string */
  CALLS = 1 << 8,        /* a list of calls */
  CALL = 1 << 9,         /* one call as an object or as a string */
  TYPE = 1 << 10,
  DECLARES = 1 << 11,   /* description beside a name: a tool is explained, not called */
  PROPERTIES = 1 << 12, /* of a JSON Schema */
  TYPE_CALL = 1 << 13,  /* "type":"tool_use" */
  IS_SCHEMA = 1 << 14,  /* its parameters are a JSON Schema */
  IS_CALL = 1 << 15,
};

static const struct {
  const char *word; /* in lower case without separators */
  unsigned bit;
} keys[] = {
  { "name", NAME },
  { "arguments", ARGUMENTS },
  { "args", ARGUMENTS },
  { "kwargs", ARGUMENTS },
  { "params", ARGUMENTS },
  { "toolinput", ARGUMENTS },
  { "toolargs", ARGUMENTS },
  { "toolarguments", ARGUMENTS },
  { "toolparameters", ARGUMENTS },
  { "parameters", PARAMETERS },
  { "input", INPUT },
  { "tool", TOOL },
  { "toolname", TOOL },
  { "functionname", TOOL },
  { "recipientname", TOOL },
  { "action", ACTION },
  { "actioninput", ACTION_INPUT },
  { "function", FUNCTION },
  { "toolcalls", CALLS },
  { "tooluses", CALLS },
  { "functioncalls", CALLS },
  { "functioncall", CALL },
  { "toolcall", CALL },
  { "tooluse", CALL },
  { "type", TYPE },
  { "description", DECLARES },
  { "properties", PROPERTIES },
};

static bool is_call(unsigned seen)
{
  unsigned with = seen & (ARGUMENTS | PARAMETERS | INPUT);
  if (seen & IS_CALL) return true;
  if (seen & NAME && seen & ARGUMENTS) return true;
  if (seen & NAME && seen & PARAMETERS) return !(seen & (IS_SCHEMA | DECLARES));
  if (seen & NAME && seen & INPUT) return (seen & TYPE_CALL) != 0;
  if (seen & TOOL && with) return true;
  if (seen & FUNCTION && seen & (ARGUMENTS | PARAMETERS)) return !(seen & IS_SCHEMA);
  return (seen & (ACTION | ACTION_INPUT)) == (ACTION | ACTION_INPUT);
}

/* ---- reading ---- */

enum { FRAMES_MAX = 64 }; /* as deep as events may be; deeper is no call that a model writes */

struct frame {
  unsigned seen;
  unsigned key; /* bit of the key whose value is being read, 0 for all other keys */
  bool object;
  bool valued; /* a key has been read, its value not yet */
};

struct json_reading {
  struct span text;
  size_t at;
  struct frame frames[FRAMES_MAX];
  size_t depth;
};

static bool starts(struct span text, size_t at, const char *what)
{
  size_t n = strlen(what);
  return text.len - at >= n && memcmp(text.ptr + at, what, n) == 0;
}

/* What opens a string, and what ends it. */
static const struct {
  const char *open, *close;
} quotes[] = {
  { "\\\"", "\\\"" },
  { "“", "”" },
  { "”", "”" },
  { "「", "」" },
};

/* Where the string ends that began before byte at with a plain quote; text.len: nowhere. */
static size_t find_quote(struct span text, size_t at, char quote)
{
  while (at < text.len) {
    const char *hit = memchr(text.ptr + at, quote, text.len - at);
    if (!hit) return text.len;
    size_t end = (size_t)(hit - text.ptr), slashes = 0;
    while (end - slashes > at && text.ptr[end - slashes - 1] == '\\') slashes++;
    if (slashes % 2 == 0) return end;
    at = end + 1;
  }
  return text.len;
}

/* Reads the string at byte at. *retbehind is text.len where it is not closed. */
static bool read_quoted(struct span text, size_t at, struct span *ret, size_t *retbehind)
{
  size_t begin = at + 1, end = text.len, n = 1;
  char c = text.ptr[at];
  if (c == '"' || c == '\'') {
    end = find_quote(text, begin, c);
  } else {
    size_t i = 0, count = sizeof quotes / sizeof *quotes;
    while (i < count && !starts(text, at, quotes[i].open)) i++;
    if (i == count) return false;
    begin = at + strlen(quotes[i].open);
    struct span rest = { text.ptr + begin, text.len - begin }, close = span_of(quotes[i].close);
    end = begin + span_find(rest, close);
    n = close.len;
  }
  *ret = (struct span) { text.ptr + begin, end - begin };
  *retbehind = end < text.len ? end + n : text.len;
  return true;
}

static unsigned key_bit(struct span key)
{
  if (key.len == 0 || !memchr("nNaAkKtTpPiIrRfFdD", key.ptr[0], 18))
    return 0; /* the first letters */
  char word[16];
  size_t len = 0;
  for (size_t i = 0; i < key.len; i++) {
    char c = key.ptr[i];
    if (c == '_' || c == '-' || c == ' ') continue;
    if (len == sizeof word) return 0;
    word[len++] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
  }
  for (size_t i = 0; len && i < sizeof keys / sizeof *keys; i++)
    if (keys[i].word[0] == word[0] && strlen(keys[i].word) == len &&
        memcmp(keys[i].word, word, len) == 0)
      return keys[i].bit;
  return 0;
}

static bool is_word_of(struct span value, const char *const *words)
{
  for (; *words; words++)
    if (span_eq_nocase(value, span_of(*words))) return true;
  return false;
}

/* Notes in the innermost frame that the value of its key has begun with a string. */
static void note_string(struct frame *f, struct span value)
{
  static const char *const call_types[] = { "tool_use",  "tool_call", "function_call",
                                            "tool-call", "function",  NULL };
  static const char *const final_actions[] = { "Final Answer", "final_answer", "FinalAnswer",
                                               NULL };
  switch (f->key) {
  case NAME:
  case TOOL:
  case FUNCTION: f->seen |= value.len ? f->key : 0; break;
  case TYPE: f->seen |= is_word_of(value, call_types) ? TYPE_CALL : 0; break;
  case ACTION: f->seen |= value.len && !is_word_of(value, final_actions) ? ACTION : 0; break;
  case CALL: f->seen |= value.len ? IS_CALL : 0; break;
  case CALLS:
  case PROPERTIES: break;
  default: f->seen |= f->key;
  }
}

/* The same for a container whose bracket is at byte at. */
static void note_container(struct json_reading *in, struct frame *f, bool object)
{
  size_t inside = schema_skip_blank(in->text, in->at + 1);
  bool empty =
      inside < in->text.len && (in->text.ptr[inside] == ']' || in->text.ptr[inside] == '}');
  switch (f->key) {
  case CALLS: f->seen |= empty ? 0 : IS_CALL; break;
  case CALL: f->seen |= object && !empty ? IS_CALL : 0; break;
  case NAME:
  case TOOL:
  case FUNCTION:
  case TYPE:
  case ACTION: break;
  default: f->seen |= f->key;
  }
}

static void note_other(struct frame *f)
{
  if (f->key & (ARGUMENTS | PARAMETERS | ACTION_INPUT)) f->seen |= f->key;
}

/* Opens the container at in->at. False: too deep. */
static bool open_frame(struct json_reading *in, bool object)
{
  if (in->depth == FRAMES_MAX) return false;
  if (in->depth) {
    struct frame *outer = &in->frames[in->depth - 1];
    if (outer->object && !outer->valued) return false;
    note_container(in, outer, object);
    outer->valued = false;
  }
  in->frames[in->depth++] = (struct frame) { .object = object };
  in->at++;
  return true;
}

/* Closes the innermost frame. True: it is a call. */
static bool close_frame(struct json_reading *in)
{
  struct frame *f = &in->frames[--in->depth];
  in->at++;
  if (is_call(f->seen)) return true;
  if (in->depth && f->seen & PROPERTIES) {
    struct frame *outer = &in->frames[in->depth - 1];
    if (outer->key == PARAMETERS) outer->seen |= IS_SCHEMA;
  }
  return false;
}

/* A word without quotes: a key before a colon, else a value. False: neither may be here. */
static bool read_bare(struct json_reading *in, struct frame *f)
{
  size_t begin = in->at, p = begin;
  while (p < in->text.len && (schema_is_word(in->text.ptr[p]) || in->text.ptr[p] == '.' ||
                              in->text.ptr[p] == '-' || in->text.ptr[p] == '+'))
    p++;
  if (p == begin) return false;
  in->at = p;
  if (f->object && !f->valued) {
    size_t colon = schema_skip_blank(in->text, p);
    if (colon < in->text.len && in->text.ptr[colon] != ':') return false;
    f->key = key_bit((struct span) { in->text.ptr + begin, p - begin });
    f->valued = true;
    in->at = colon + (colon < in->text.len);
    return true;
  }
  note_other(f);
  f->valued = false;
  return true;
}

/* A string: a key before a colon, else a value. False: neither may be here, or the text ends. */
static bool read_string(struct json_reading *in, struct frame *f, struct span *retlast)
{
  struct span string;
  size_t behind;
  if (!read_quoted(in->text, in->at, &string, &behind)) return false;
  *retlast = string;
  in->at = behind;
  if (f->object && !f->valued) {
    size_t colon = schema_skip_blank(in->text, behind);
    size_t n = starts(in->text, colon, "：") ? strlen("：") : 1;
    if (colon < in->text.len && n == 1 && in->text.ptr[colon] != ':') return false;
    f->key = key_bit(string);
    f->valued = true;
    in->at = colon < in->text.len ? colon + n : colon;
    return true;
  }
  note_string(f, string);
  f->valued = false;
  return true;
}

/* Where to go on when what followed the string was none of JSON: if that string ends in a brace,
 * its quotes were meant for another object, which begins there. */
static size_t reach_of(const struct json_reading *in, size_t begin, struct span last)
{
  struct span tail = span_trim(last);
  if (tail.len == 0 || tail.ptr[tail.len - 1] != '{') return in->at;
  size_t brace = (size_t)(tail.ptr + tail.len - 1 - in->text.ptr);
  return brace > begin ? brace : in->at;
}

bool schema_call_json(struct span text, size_t at, size_t *retreach)
{
  struct json_reading in; /* its frames are set as they are opened */
  struct span last = { NULL, 0 };
  bool call = false;
  in.text = text;
  in.at = at;
  in.depth = 0;
  open_frame(&in, true);
  while (in.depth && !call && (in.at = schema_skip_blank(text, in.at)) < text.len) {
    struct frame *f = &in.frames[in.depth - 1];
    char c = text.ptr[in.at];
    if (c == (f->object ? '}' : ']'))
      call = close_frame(&in);
    else if (c == ',')
      in.at++;
    else if (starts(text, in.at, "，"))
      in.at += strlen("，");
    else if (c == '{' || c == '[') {
      if (!open_frame(&in, c == '{')) break;
    } else if (!read_string(&in, f, &last) && !read_bare(&in, f))
      break;
    call = call || (f->seen & IS_CALL && f->object);
  }
  /* cut by the end of the text: what is there counts */
  if (in.at >= text.len)
    for (; in.depth; in.depth--) {
      const struct frame *f = &in.frames[in.depth - 1];
      call = call || is_call(f->seen | (f->key & (ARGUMENTS | PARAMETERS | ACTION_INPUT)));
    }
  *retreach = in.depth == 0 ? in.at : reach_of(&in, at, last);
  if (*retreach <= at) *retreach = at + 1;
  return call;
}

/* ---- Python's syntax ---- */

static size_t skip_name(struct span text, size_t at)
{
  if (at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9') return at;
  while (at < text.len && (schema_is_word(text.ptr[at]) || text.ptr[at] == '.')) at++;
  return at;
}

/* Behind the parenthesis that closes the one at byte at; text.len + 1: none does. */
static size_t skip_arguments(struct span text, size_t at)
{
  size_t depth = 0;
  while (at < text.len) {
    struct span string;
    char c = text.ptr[at];
    if ((c == '"' || c == '\'') && read_quoted(text, at, &string, &at)) continue;
    at++;
    if (c == '(') depth++;
    if (c == ')' && --depth == 0) return at;
  }
  return text.len + 1;
}

/* Whether the argument list whose parenthesis is at byte at begins with name=. */
static bool has_keyword(struct span text, size_t at)
{
  size_t begin = schema_skip_blank(text, at + 1);
  size_t end = skip_name(text, begin);
  size_t equals = schema_skip_blank(text, end);
  return end > begin && equals + 1 < text.len && text.ptr[equals] == '=' &&
         text.ptr[equals + 1] != '=';
}

static bool is_snake(struct span name)
{
  return name.len > 2 && memchr(name.ptr + 1, '_', name.len - 2) != NULL;
}

/* Whether the argument list whose parenthesis is at byte at is a string or strings. */
static bool has_string(struct span text, size_t at)
{
  size_t begin = schema_skip_blank(text, at + 1);
  return begin < text.len && (text.ptr[begin] == '"' || text.ptr[begin] == '\'');
}

bool schema_call_named(struct span text)
{
  struct span t = schema_trim_blank(text);
  size_t marks = 0;
  if (t.len == 0) return false;
  while (marks < t.len && t.ptr[marks] == '>') marks++;
  size_t end = skip_name(t, marks), at = schema_skip_blank(t, end);
  struct span name = { t.ptr + marks, end - marks };
  if (!(is_snake(name) || (marks == 3 && name.len)) || at == end) return false;
  if (!memchr(t.ptr + end, '\n', at - end)) return false;
  if (starts(t, at, "```")) {
    at += 3;
    while (at < t.len && schema_is_word(t.ptr[at])) at++;
    at = schema_skip_blank(t, at);
  }
  size_t inside = schema_skip_blank(t, at + 1);
  bool object =
      at < t.len && t.ptr[at] == '{' && inside < t.len &&
      ((schema_is_word(t.ptr[inside]) && t.ptr[inside] > '9') || memchr("\"'}", t.ptr[inside], 3));
  return object && (t.ptr[t.len - 1] == '}' || t.ptr[t.len - 1] == '`');
}

bool schema_call_pythonic(struct span text)
{
  static const char *const builtins[] = { "print", "dict", "sorted", "open", NULL };
  struct span t = schema_trim_blank(text);
  if (t.len > 2 && t.ptr[0] == '[' && t.ptr[t.len - 1] == ']') {
    t = schema_trim_blank((struct span) { t.ptr + 1, t.len - 2 });
  }
  if (t.len < 5 || t.ptr[t.len - 1] != ')') return false;
  size_t at = 0;
  while (at < t.len) {
    size_t name_end = skip_name(t, at);
    struct span name = { t.ptr + at, name_end - at };
    if (name.len < 2 || name_end >= t.len || t.ptr[name_end] != '(') return false;
    bool called = has_keyword(t, name_end) || (is_snake(name) && has_string(t, name_end));
    if (is_word_of(name, builtins) || !called) return false;
    at = skip_arguments(t, name_end);
    if (at > t.len) return false;
    while (at < t.len && (schema_is_space(t.ptr[at]) || t.ptr[at] == ',' || t.ptr[at] == ';')) at++;
  }
  return true;
}
