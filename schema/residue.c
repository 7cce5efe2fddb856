#include "schema/residue.h"

#include "schema/call.h"
#include "schema/glance.h"
#include "schema/markup.h"
#include "schema/step.h"

/* ---- the names ---- */

enum kind {
  NONE,
  CALL,   /* opens a call: a call must follow */
  INVOKE, /* names what is called in its attributes */
  NESTED, /* an ordinary word that is a call when tags follow in it */
  PARAM,  /* an argument */
  RESULT, /* what a call is said to have given */
  END,    /* a token that ends one of them */
};

enum match {
  PART,  /* anywhere in the name, vendor and number included */
  WHOLE, /* the name or its last part */
  TOKEN, /* the same, only between bars */
};

/* Names in lower case without separators; the first row that fits decides. */
static const struct {
  const char *word;
  enum match match;
  enum kind kind;
} names[] = {
  { "toolcallresult", PART, RESULT },
  { "toolresult", PART, RESULT },
  { "tooloutput", PART, RESULT },
  { "toolresponse", PART, RESULT },
  { "toolreturn", PART, RESULT },
  { "toollist", PART, RESULT },
  { "functionresult", PART, RESULT },
  { "functionresponse", PART, RESULT },
  { "functionoutput", PART, RESULT },
  { "observation", TOKEN, RESULT },
  { "recipient", TOKEN, CALL },
  { "dsml", PART, CALL },
  { "toolcall", PART, CALL },
  { "functioncall", PART, CALL },
  { "toolsep", PART, CALL },
  { "tooluse", PART, CALL },
  { "toolcode", PART, CALL },
  { "toolrequest", PART, CALL },
  { "toolexchange", PART, CALL },
  { "toolinvocation", PART, CALL },
  { "toolsprefix", PART, CALL },
  { "toolssuffix", PART, END },
  { "usemcptool", WHOLE, CALL },
  { "accessmcpresource", WHOLE, CALL },
  { "pythontag", PART, CALL },
  { "plugin", TOKEN, CALL },
  { "ipython", TOKEN, CALL },
  { "interpreter", TOKEN, CALL },
  { "actionstart", TOKEN, CALL },
  { "startaction", TOKEN, CALL },
  { "actionend", TOKEN, END },
  { "endaction", TOKEN, END },
  { "invoke", WHOLE, INVOKE },
  { "function", WHOLE, INVOKE },
  { "functions", WHOLE, INVOKE },
  { "parameter", WHOLE, PARAM },
  { "argkey", WHOLE, PARAM },
  { "argvalue", WHOLE, PARAM },
  { "servername", WHOLE, PARAM },
  { "toolname", WHOLE, PARAM },
  { "executecommand", WHOLE, NESTED },
  { "readfile", WHOLE, NESTED },
  { "writetofile", WHOLE, NESTED },
  { "replaceinfile", WHOLE, NESTED },
  { "applydiff", WHOLE, NESTED },
  { "searchfiles", WHOLE, NESTED },
  { "listfiles", WHOLE, NESTED },
  { "browseraction", WHOLE, NESTED },
  { "askfollowupquestion", WHOLE, NESTED },
  { "attemptcompletion", WHOLE, NESTED },
  { "tool", WHOLE, NESTED },
  { "calltool", WHOLE, NESTED },
  { "runtool", WHOLE, NESTED },
  { "usetool", WHOLE, NESTED },
  { "websearch", WHOLE, NESTED },
};

/* Whether a and b differ by at most one letter: put in, left out, changed or two swapped. */
static bool nearly(const char *a, const char *b)
{
  while (*a && *a == *b) a++, b++;
  if (*a && *b && a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0) return true;
  if (*a && *b && strcmp(a + 1, b + 1) == 0) return true;
  return (*a && strcmp(a + 1, b) == 0) || (*b && strcmp(a, b + 1) == 0) || strcmp(a, b) == 0;
}

/* The kind of a misspelt name; only for tags that show a call by themselves. */
static enum kind kind_near(const struct schema_mark *tag)
{
  static const struct {
    const char *word;
    enum kind kind;
  } near[] = {
    { "toolcall", CALL },      { "toolcalls", CALL }, { "functioncall", CALL },
    { "functioncalls", CALL }, { "invoke", INVOKE },  { "function", INVOKE },
    { "parameter", PARAM },
  };
  for (size_t i = 0; i < sizeof near / sizeof *near; i++)
    if (nearly(tag->name, near[i].word) || nearly(tag->name + tag->local, near[i].word))
      return near[i].kind;
  return NONE;
}

static bool ends_in(const char *name, const char *tail)
{
  size_t n = strlen(name), m = strlen(tail);
  return n > m && strcmp(name + n - m, tail) == 0;
}

static enum kind kind_of(const struct schema_mark *tag)
{
  bool bar = tag->bar_front || tag->bar_back;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool fits = names[i].match == PART ? schema_mark_has(tag, names[i].word)
                                       : schema_mark_is(tag, names[i].word);
    if (!fits || (names[i].match == TOKEN && !bar)) continue;
    bool ends = bar && (ends_in(tag->name, "end") || strncmp(tag->name, "end", 3) == 0);
    return ends && names[i].kind != RESULT ? END : names[i].kind;
  }
  return NONE;
}

/* Whether the end of the text cuts a name of the table short: "<tool_c", "<｜DSM". */
static bool is_cut_name(const struct schema_mark *tag)
{
  enum { ENOUGH = 4 }; /* shorter ones begin too many words */
  const char *name = tag->name + tag->local;
  size_t n = strlen(name);
  if (!tag->truncated || n < (tag->bar_front ? 2 : ENOUGH)) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].kind != NESTED && (names[i].match != TOKEN || tag->bar_front) &&
        strncmp(names[i].word, name, n) == 0)
      return true;
  return false;
}

/* ---- what follows a tag ---- */

enum payload {
  WORDS,
  AT_END,     /* the text ends */
  IDENTIFIER, /* a tool's name */
  CONTENT,    /* JSON, or the next tag of a call */
};

static char at_or_nul(struct span text, size_t at)
{
  return at < text.len ? text.ptr[at] : '\0';
}

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool starts_at(struct span text, size_t at, const char *what)
{
  size_t n = strlen(what);
  return at <= text.len && text.len - at >= n && memcmp(text.ptr + at, what, n) == 0;
}

/* Passes over what stands between a tag and its content: blanks, MiniMax's name space mark
 * "]<]minimax[>[", the line that opens a fence. */
static size_t skip_between(struct span text, size_t at)
{
  enum { MARK_MAX = 32 };
  while (at_or_nul(text, at) == '>') at++; /* of <<<tool_call>>> */
  at = schema_skip_blank(text, at);
  if (starts_at(text, at, "]<]")) {
    size_t left = text.len - at < MARK_MAX ? text.len - at : MARK_MAX;
    size_t n = span_find((struct span) { text.ptr + at, left }, SPAN("[>["));
    if (n < left) at = schema_skip_blank(text, at + n + 3);
  }
  if (starts_at(text, at, "```")) {
    size_t word = at + 3;
    while (word < text.len && schema_is_word(text.ptr[word])) word++;
    at = schema_skip_blank(text, word);
  }
  return at;
}

static bool is_json_string_key(struct span text, size_t at)
{
  size_t p = at + 1;
  while (p < text.len && schema_is_word(text.ptr[p])) p++;
  if (p == at + 1 || at_or_nul(text, p) != text.ptr[at]) return false;
  return at_or_nul(text, schema_skip_blank(text, p + 1)) == ':';
}

static bool opens_call(const struct schema_mark *tag)
{
  enum kind kind = tag->closing ? NONE : kind_of(tag);
  return kind != NONE && kind != RESULT && kind != END;
}

/* A name at byte at: one of a tool, or only a word? at_tag: it stands right behind the tag. */
static enum payload identifier_at(struct span text, size_t at, bool at_tag, bool own_line)
{
  size_t end = at;
  bool odd = false; /* not what an English word looks like */
  while (end < text.len && (schema_is_word(text.ptr[end]) || memchr(".:-", text.ptr[end], 3))) {
    odd = odd || text.ptr[end] == '_' || text.ptr[end] == '.' || text.ptr[end] == ':';
    end++;
  }
  while (end > at && memchr(".:-", text.ptr[end - 1], 3)) end--;
  char next = at_or_nul(text, end);
  if (memchr("({[<=", next, 5) && next) return IDENTIFIER;
  if (!at_tag && !own_line) return WORDS;
  if (end == text.len || next == '\n' || next == '\r') return IDENTIFIER;
  if (odd && end < text.len) return IDENTIFIER;
  size_t word = schema_skip_blank(text, end), equals = word;
  while (equals < text.len && schema_is_word(text.ptr[equals])) equals++;
  return equals > word && at_or_nul(text, equals) == '=' ? IDENTIFIER : WORDS;
}

/* Whether what the bracket at byte at opens is a list of calls. */
static bool is_list_of_calls(struct span text, size_t at)
{
  size_t inside = schema_skip_blank(text, at + 1);
  char c = at_or_nul(text, inside);
  if (is_letter(c)) return identifier_at(text, inside, false, false) == IDENTIFIER;
  return c == '{' || c == '[' || c == '"' || c == '\'';
}

static enum payload payload_of(struct span text, const struct schema_mark *before)
{
  size_t behind_tag = before->end, at = skip_between(text, behind_tag);
  if (at >= text.len) return AT_END;
  bool at_tag = at == behind_tag;
  bool own_line = memchr(text.ptr + behind_tag, '\n', at - behind_tag) != NULL;
  char c = text.ptr[at], next = at_or_nul(text, schema_skip_blank(text, at + 1));
  switch (c) {
  case '{': return next == '.' || (next & 0x80 && !own_line && !at_tag) ? WORDS : CONTENT;
  case '[': return is_list_of_calls(text, at) ? CONTENT : WORDS;
  case '"':
  case '\'': return is_json_string_key(text, at) ? CONTENT : WORDS;
  case '\\':
    if (next == '"') return CONTENT;
    break;
  default: break;
  }
  struct schema_mark tag;
  size_t fold = at;
  if (schema_fold(text, &fold) == '<' && schema_mark_read(text, at, &tag) && !tag.closing) {
    bool child = tag.complete && (at_tag || own_line) && !tag.bar_front;
    return child || opens_call(&tag) ? CONTENT : WORDS;
  }
  if (is_letter(c) && at_tag && before->bar_front) return IDENTIFIER;
  return is_letter(c) ? identifier_at(text, at, at_tag, own_line) : WORDS;
}

/* ---- the walk ---- */

static const size_t nowhere = (size_t)-1;

struct walk {
  struct span text;
  struct span here;  /* text, cut at the end of the code that the walk is in */
  bool around;       /* scraps pass */
  size_t code_end;   /* 0: outside code */
  bool fenced;       /* the code is a fence */
  size_t quoted_at;  /* the first call inside code */
  size_t fence_end;  /* of the last fence with a call in it; 0: none */
  size_t found_at;   /* the first call */
  size_t json_until; /* braces before it have been judged */
  size_t opener;     /* the last opener without a call behind it, or nowhere */
  size_t opener_end;
  struct schema_step step; /* what was seen of an agent's step */
  struct schema_quoted_reader codes;
};

static void found(struct walk *w, size_t at)
{
  size_t *to = w->code_end ? &w->quoted_at : &w->found_at;
  if (w->code_end && w->fenced) w->fence_end = w->code_end;
  if (*to == nowhere) *to = at;
}

/* Whether the tag at byte at is part of a type: List<Invoke>. */
static bool is_generic(struct span text, const struct schema_mark *tag)
{
  return !tag->bar_front && tag->begin > 0 && schema_is_word(text.ptr[tag->begin - 1]);
}

/* Whether a sentence goes on around the tag: words before and behind it on its line. */
static bool is_named_in_sentence(struct span text, size_t begin, size_t end)
{
  enum { SEEN_MAX = 200 }; /* as far as one looks for the words of a sentence */
  size_t from = begin, to = text.len - end < SEEN_MAX ? text.len : end + SEEN_MAX;
  while (from > 0 && begin - from < SEEN_MAX && text.ptr[from - 1] != '\n') from--;
  const char *newline = memchr(text.ptr + end, '\n', to - end);
  if (newline) to = (size_t)(newline - text.ptr);
  size_t next = schema_skip_blank((struct span) { text.ptr, to }, end);
  if (next >= to || (text.ptr[next] & 0x80) == 0) {
    /* ASCII: a word with a blank before it, or a comma, goes on with the sentence */
    char c = at_or_nul(text, next);
    bool goes_on = next < to && ((next > end && is_letter(c)) || c == ',' || c == ')' || c == ':');
    if (!goes_on) return false;
  }
  return schema_has_words((struct span) { text.ptr + from, begin - from });
}

/* A closing tag: does it end a call that the walk has passed, is it named, or is it left over? */
static void on_closer(struct walk *w, const struct schema_mark *tag, enum kind kind)
{
  struct span text = w->here;
  size_t opener = w->opener;
  w->opener = nowhere;
  if (opener != nowhere) {
    struct span between = { text.ptr + w->opener_end, tag->begin - w->opener_end };
    bool spaced = between.len && *between.ptr == ' ';
    bool alone = !schema_has_words((struct span) { text.ptr, opener }) &&
                 !schema_has_words((struct span) { text.ptr + tag->end, text.len - tag->end });
    if (alone || (!spaced && !schema_joins_names(between))) found(w, opener);
    return;
  }
  if (w->around || w->code_end || kind == NESTED) return;
  if (kind == PARAM && !tag->bar_front && !schema_mark_has(tag, "arg")) return;
  if (!is_named_in_sentence(text, tag->begin, tag->end)) found(w, tag->begin);
}

static bool shows_call(struct walk *w, const struct schema_mark *tag, enum kind kind)
{
  struct span text = w->here;
  bool generic = is_generic(text, tag);
  enum payload payload = payload_of(text, tag);
  /* at the end of the text a tag is cut, unless it is quoted, escaped, or the last of a list */
  bool listed = w->opener != nowhere || text.ptr[tag->begin] != '<';
  if (payload == AT_END && (w->code_end || generic || listed)) payload = WORDS;
  if (payload == IDENTIFIER && generic) payload = WORDS;
  switch (kind) {
  case CALL:
    if (schema_mark_is(tag, "recipient") && starts_at(text, tag->end, "all")) return false;
    if (tag->has_value || tag->has_attributes) return true;
    if (tag->truncated) return !w->code_end && !generic;
    if (!tag->complete)
      return payload == CONTENT || strlen(tag->name) > strlen("dsml") + tag->local;
    return payload != WORDS;
  case INVOKE:
    if (tag->has_value || tag->has_name) return true;
    if (tag->truncated) return !w->code_end && !generic;
    return tag->complete && payload != WORDS;
  case PARAM:
    if (tag->has_value || tag->has_name) return true;
    if (!tag->complete || schema_mark_is(tag, "parameter")) return false;
    return tag->end < text.len && !schema_is_space(text.ptr[tag->end]) && text.ptr[tag->end] != '`';
  case NESTED:
    return tag->complete && payload == CONTENT && tag->end < text.len &&
           (schema_is_space(text.ptr[tag->end]) || text.ptr[tag->end] == '{');
  case RESULT:
    if (payload == CONTENT && tag->complete) return true;
    return !w->around && !w->code_end && (tag->bar_front || payload == AT_END) && payload != WORDS;
  case NONE:
  case END: break;
  }
  return false;
}

static size_t on_tag(struct walk *w, size_t at)
{
  struct schema_mark tag;
  if (!schema_mark_read(w->here, at, &tag)) return at + 1;
  enum kind kind = kind_of(&tag);
  if (kind == NONE && !w->code_end && is_cut_name(&tag) && !is_generic(w->here, &tag)) {
    found(w, at);
    return at + 1;
  }
  if (kind == NONE && (tag.has_name || tag.has_value || payload_of(w->here, &tag) == CONTENT) &&
      tag.complete)
    kind = kind_near(&tag);
  if (kind == NONE) return at + 1;
  if (tag.closing || kind == END) {
    if (tag.complete || tag.truncated) on_closer(w, &tag, kind);
  } else if (shows_call(w, &tag, kind)) {
    found(w, at);
  } else if (tag.complete && kind != PARAM && !schema_mark_is(&tag, "tool")) {
    w->opener = at;
    w->opener_end = tag.end;
  }
  return tag.complete ? tag.end : at + 1;
}

/* ---- square brackets ---- */

/* [TOOL_CALLS] and its like: names without separators in lower case. */
static const char *const square_names[] = {
  "toolcalls", "toolcall", "toolrequest", "functioncall", "functioncalls", "toolresults", "tooluse",
};
/* Marks of a chat's history that a model writes as if it had called: words, then a tool's name. */
static const char *const imitations[] = {
  "called tool",    "called the tool",  "called function",
  "calling tool",   "calling function", "call tool",
  "using tool",     "used tool",        "invoking tool",
  "executing tool", "executed tool",    "running tool",
  "ran tool",       "tool call",        "tool_call",
  "tool use",       "tool_use",         "tool result",
  "tool_result",    "function call",    "function_call",
  "tool",           "已调用工具",       "正在调用工具",
  "调用了工具",     "调用工具",         "工具调用",
  "使用工具",       "执行工具",         "工具结果",
  "工具返回",       "调用函数",         "函数调用",
};

static bool starts_nocase_at(struct span text, size_t at, const char *what)
{
  size_t n = strlen(what);
  return text.len - at >= n && span_eq_nocase((struct span) { text.ptr + at, n }, span_of(what));
}

/* Whether "tool NAME …" goes on like a report: "[Tool web_search returned: 3 results]". */
static bool is_report(struct span text, size_t at)
{
  static const char *const verbs[] = { "returned", "result", "output", "responded", "said" };
  while (at < text.len && (schema_is_word(text.ptr[at]) || text.ptr[at] == '.')) at++;
  at = schema_skip_blank(text, at);
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (starts_nocase_at(text, at, verbs[i])) return true;
  return false;
}

static bool is_imitation(struct span text, size_t at)
{
  for (size_t i = 0; i < sizeof imitations / sizeof *imitations; i++) {
    if (!starts_nocase_at(text, at, imitations[i])) continue;
    size_t p = schema_skip_blank(text, at + strlen(imitations[i]));
    bool colon = at_or_nul(text, p) == ':' || starts_at(text, p, "：");
    if (colon) p = schema_skip_blank(text, p + (text.ptr[p] == ':' ? 1 : strlen("：")));
    if (at_or_nul(text, p) == '`') p++;
    if (!is_letter(at_or_nul(text, p))) return false;
    return strcmp(imitations[i], "tool") != 0 || is_report(text, p);
  }
  return false;
}

/* The square bracket (n bytes long) at byte at. */
static void on_square(struct walk *w, size_t at, size_t n)
{
  struct span text = w->here;
  char word[24];
  size_t len = 0, p = at + n;
  if (!schema_glance_square(text, p)) return;
  if (n == 1 && at >= 9 && starts_nocase_at(text, at - 9, "functools") &&
      at_or_nul(text, schema_skip_blank(text, p)) == '{')
    found(w, at - 9);
  if (memchr("{[\"'", text.ptr[p], 4)) return;
  bool closing = at_or_nul(text, p) == '/';
  for (p += closing; p < text.len && (schema_is_word(text.ptr[p]) || text.ptr[p] == '-'); p++) {
    char c = text.ptr[p];
    if (c == '_' || c == '-') continue;
    if (len + 1 == sizeof word) break;
    word[len++] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
  }
  word[len] = '\0';
  bool ends = strncmp(word, "end", 3) == 0;
  if (at_or_nul(text, p) == ']') {
    for (size_t i = 0; i < sizeof square_names / sizeof *square_names; i++) {
      if (strcmp(ends ? word + 3 : word, square_names[i]) != 0) continue;
      enum payload payload = payload_of(text, &(struct schema_mark) { .end = p + 1 });
      if (closing || ends) {
        if (!w->around && !w->code_end && !is_named_in_sentence(text, at, p + 1)) found(w, at);
      } else if (payload != WORDS && !(payload == AT_END && w->code_end)) {
        found(w, at);
      }
      return;
    }
  }
  if (is_imitation(text, at + n)) found(w, at);
}

/* ---- forms that hang on a colon or an equals sign ---- */

static size_t word_begin(struct span text, size_t end)
{
  enum { WORD_MAX = 80 };
  size_t at = end;
  while (at > 0 && end - at < WORD_MAX &&
         (schema_is_word(text.ptr[at - 1]) || text.ptr[at - 1] == '.' || text.ptr[at - 1] == '-'))
    at--;
  return at;
}

/* name:0{"…": what is left of Kimi's call without its tokens. */
static void on_numbered_call(struct walk *w, size_t colon)
{
  struct span text = w->here;
  size_t p = colon + 1;
  if (!(at_or_nul(text, p) >= '0' && text.ptr[p] <= '9')) return;
  while (p < text.len && text.ptr[p] >= '0' && text.ptr[p] <= '9') p++;
  size_t begin = word_begin(text, colon);
  if (colon - begin < 3 || !is_letter(text.ptr[begin])) return;
  p = schema_skip_blank(text, p);
  if (at_or_nul(text, p) != '{') return;
  char next = at_or_nul(text, schema_skip_blank(text, p + 1));
  if (next == '"' || next == '\'' || next == '}' || next == '\\') found(w, begin);
}

/* A label's colon: does it complete a step of an agent? */
static void on_label(struct walk *w, size_t colon, size_t behind)
{
  size_t at;
  if (schema_step_may_be(w->here, colon) && schema_step_see(&w->step, w->here, colon, behind, &at))
    found(w, at);
}

/* to=functions.name: the recipient of a harmony message. */
static void on_recipient(struct walk *w, size_t equals)
{
  static const char *const channels[] = { "commentary", "analysis", "assistant" };
  struct span text = w->here;
  if (equals < 2 || !starts_nocase_at(text, equals - 2, "to")) return;
  size_t before = equals - 2;
  if (before > 0 && schema_is_word(text.ptr[before - 1])) return;
  size_t name = equals + 1, end = name;
  while (end < text.len && (schema_is_word(text.ptr[end]) || memchr(".-:", text.ptr[end], 3)))
    end++;
  if (end == name) return;
  while (before > 0 && text.ptr[before - 1] == ' ') before--;
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    size_t n = strlen(channels[i]);
    if (before >= n && starts_nocase_at(text, before - n, channels[i])) {
      found(w, equals - 2);
      return;
    }
  }
  if (!starts_nocase_at(text, name, "functions.")) return;
  size_t next = schema_skip_blank(text, end);
  size_t word = next;
  while (word < text.len && is_letter(text.ptr[word])) word++;
  if (word >= text.len || text.ptr[word] == '{' || text.ptr[word] == '<' || text.ptr[next] == '{')
    found(w, equals - 2);
}

/* ---- code ---- */

static const char *const fence_words[] = { "tool_code", "tool_call", "tool_calls",    "tool_use",
                                           "tool",      "toolcall",  "function_call", NULL };

/* The backtick at byte at. Returns where the walk goes on. */
static size_t on_backtick(struct walk *w, size_t at)
{
  struct schema_quoted code;
  if (!schema_quoted_read(&w->codes, w->text, at, &code)) return code.end;
  if (code.fenced)
    for (const char *const *word = fence_words; *word; word++)
      if (span_eq_nocase(code.info, span_of(*word))) found(w, at);
  w->code_end = code.end;
  w->fenced = code.fenced;
  w->here.len = code.inner_end;
  return code.inner_begin;
}

static void leave_code(struct walk *w)
{
  w->code_end = 0;
  w->here.len = w->text.len;
  w->opener = nowhere;
}

/* Words of who shows a format; who only announces what comes is calling. */
static const char *const showing_words[] = {
  "格式",   "长这样",  "样子",      "例",         "写法",      "语法",   "结构",    "标签", "标记",
  "format", "example", "look like", "looks like", "like this", "syntax", "such as", "e.g.",
};

static bool is_showing(struct span text)
{
  for (size_t i = 0; i < sizeof showing_words / sizeof *showing_words; i++)
    for (size_t at = 0, n = strlen(showing_words[i]); at + n <= text.len; at++)
      if (starts_nocase_at(text, at, showing_words[i])) return true;
  return false;
}

/* Whether anything is said outside code. */
static bool has_words_outside_code(struct span text)
{
  struct schema_quoted_reader codes = { 0 };
  size_t at = 0;
  while (at < text.len) {
    const char *tick = memchr(text.ptr + at, '`', text.len - at);
    size_t end = tick ? (size_t)(tick - text.ptr) : text.len;
    if (schema_has_words((struct span) { text.ptr + at, end - at })) return true;
    if (!tick) return false;
    struct schema_quoted code;
    schema_quoted_read(&codes, text, end, &code);
    at = code.end;
  }
  return false;
}

/* ---- all together ---- */

/* functions.name({: the brace of arguments in the syntax of TypeScript. */
static bool is_called(struct span text, size_t brace)
{
  if (brace < 2 || text.ptr[brace - 1] != '(') return false;
  char inside = at_or_nul(text, schema_skip_blank(text, brace + 1));
  if (!is_letter(inside) && (!inside || !memchr("\"'}", inside, 3))) return false;
  size_t begin = word_begin(text, brace - 1);
  struct span name = { text.ptr + begin, brace - 1 - begin };
  return span_starts(name, SPAN("functions.")) || span_starts(name, SPAN("tools."));
}

static size_t on_brace(struct walk *w, size_t at)
{
  if (is_called(w->here, at)) found(w, word_begin(w->here, at - 1));
  if (at < w->json_until) return at + 1;
  if (schema_call_json(w->here, at, &w->json_until)) found(w, at);
  return at + 1;
}

/* Judges what begins at byte at and returns where the walk goes on. */
static size_t step(struct walk *w, size_t at)
{
  struct span text = w->here;
  size_t fold = at;
  switch ((unsigned char)text.ptr[at]) {
  case '[': on_square(w, at, 1); return at + 1;
  case '{': return on_brace(w, at);
  case '=': on_recipient(w, at); return at + 1;
  case '`': return w->code_end ? at + 1 : on_backtick(w, at);
  case ':':
    on_numbered_call(w, at);
    on_label(w, at, at + 1);
    return at + 1;
  case 0xE3:
    if (starts_at(text, at, "【")) on_square(w, at, strlen("【"));
    break;
  case 0xEF:
    if (starts_at(text, at, "：")) on_label(w, at, at + strlen("："));
    break;
  default: break;
  }
  return schema_mark_may_begin(text, at) && schema_fold(text, &fold) == '<' ? on_tag(w, at)
                                                                            : at + 1;
}

/* Whether the calls in code are examples: words stand outside code, and where a fence holds a call,
 * behind it or such before it that show a format. A model that calls stops behind the call. */
static bool is_example(const struct walk *w)
{
  if (!has_words_outside_code(w->text)) return false;
  if (w->fence_end == 0) return true;
  struct span behind = { w->text.ptr + w->fence_end, w->text.len - w->fence_end };
  return schema_has_words(behind) || is_showing((struct span) { w->text.ptr, w->quoted_at });
}

static bool walk_text(struct span text, bool around, size_t *retat)
{
  struct walk w = {
    .text = text,
    .here = text,
    .around = around,
    .quoted_at = nowhere,
    .found_at = nowhere,
    .opener = nowhere,
    .step = { .at = SIZE_MAX },
  };
  struct schema_glancer glancer = schema_glancer_of(text);
  for (size_t at = 0; at < text.len && w.found_at == nowhere;) {
    if (w.code_end && at >= w.here.len) {
      at = w.code_end;
      leave_code(&w);
      continue;
    }
    size_t next = schema_glance_next(&glancer, at);
    if (w.code_end && next >= w.here.len)
      at = w.here.len;
    else
      at = next < text.len ? step(&w, next) : next;
  }
  if (w.found_at == nowhere && w.quoted_at != nowhere && !is_example(&w)) w.found_at = w.quoted_at;
  if (w.found_at == nowhere && (schema_call_pythonic(text) || schema_call_named(text)))
    w.found_at = 0;
  if (w.found_at == nowhere) return false;
  if (retat) *retat = w.found_at;
  return true;
}

bool schema_residue_tool_call(struct span text, size_t *retat)
{
  return walk_text(text, false, retat);
}

bool schema_residue_tool_call_around(struct span text, size_t *retat)
{
  return walk_text(text, true, retat);
}
