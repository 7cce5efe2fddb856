#include "schema/step.h"

#include "schema/markup.h"

enum part {
  NAMES,       /* the line names what is called */
  NAMES_VAGUE, /* the same by a word that has other uses */
  GIVES,       /* the line gives its input */
  GIVES_VAGUE, /* the same, if JSON follows */
};

#define LABEL(text, part)                                                                          \
  {                                                                                                \
    { text, sizeof(text) - 1 }, part                                                               \
  }

static const struct {
  struct span label; /* in lower case */
  enum part part;
} labels[] = {
  LABEL("action", NAMES),
  LABEL("动作", NAMES),
  LABEL("行动", NAMES),
  LABEL("✿function✿", NAMES),
  LABEL("action input", GIVES),
  LABEL("action_input", GIVES),
  LABEL("动作输入", GIVES),
  LABEL("行动输入", GIVES),
  LABEL("✿args✿", GIVES),
  LABEL("tool", NAMES_VAGUE),
  LABEL("tool name", NAMES_VAGUE),
  LABEL("tool call", NAMES_VAGUE),
  LABEL("tool_call", NAMES_VAGUE),
  LABEL("function", NAMES_VAGUE),
  LABEL("function call", NAMES_VAGUE),
  LABEL("function_call", NAMES_VAGUE),
  LABEL("call", NAMES_VAGUE),
  LABEL("工具", NAMES_VAGUE),
  LABEL("工具名称", NAMES_VAGUE),
  LABEL("工具调用", NAMES_VAGUE),
  LABEL("调用工具", NAMES_VAGUE),
  LABEL("函数调用", NAMES_VAGUE),
  LABEL("调用函数", NAMES_VAGUE),
  LABEL("tool input", GIVES_VAGUE),
  LABEL("input", GIVES_VAGUE),
  LABEL("arguments", GIVES_VAGUE),
  LABEL("args", GIVES_VAGUE),
  LABEL("parameters", GIVES_VAGUE),
  LABEL("输入", GIVES_VAGUE),
  LABEL("工具输入", GIVES_VAGUE),
  LABEL("参数", GIVES_VAGUE),
};

static char char_at(struct span text, size_t at)
{
  return at < text.len ? text.ptr[at] : '\0';
}

/* Behind the marks of a list, of quoting, of a heading and of bold at byte at. */
static size_t skip_marks(struct span text, size_t at)
{
  while (at < text.len && memchr("*#>- \t", text.ptr[at], 6)) at++;
  return at;
}

/* The label that ends at byte colon, without marks; it has to begin its line. */
static struct span label_before(struct span text, size_t colon)
{
  enum { LABEL_MAX = 40 };
  size_t from = colon;
  while (from > 0 && colon - from < LABEL_MAX && text.ptr[from - 1] != '\n') from--;
  from = skip_marks(text, from);
  struct span label = { text.ptr + from, colon > from ? colon - from : 0 };
  while (label.len && memchr("* ", label.ptr[label.len - 1], 2)) label.len--;
  return label;
}

/* Qwen's labels stand between flowers, wherever in the line they are. */
static struct span take_flowers(struct span label)
{
  static const struct span flower = { "✿", 3 };
  if (label.len <= flower.len || !span_ends(label, flower)) return label;
  for (size_t at = label.len - flower.len; at-- > 0;) {
    struct span from = { label.ptr + at, label.len - at };
    if (span_starts(from, flower)) return from;
  }
  return label;
}

enum { LABEL_LEN_MAX = 14, LABEL_COUNT = sizeof labels / sizeof *labels };

/* The row of the label that ends at byte colon, or LABEL_COUNT. */
static size_t find_label(struct span text, size_t colon, struct span *ret)
{
  size_t i = LABEL_COUNT;
  *ret = take_flowers(label_before(text, colon));
  if (ret->len < 3 || ret->len > LABEL_LEN_MAX) return i;
  for (i = 0; i < LABEL_COUNT; i++)
    if (ret->len == labels[i].label.len && span_eq_nocase(*ret, labels[i].label)) break;
  return i;
}

bool schema_step_may_be(struct span text, size_t colon)
{
  static const char lasts[] = "nNtTlLeEsS* \x9C\xA8\xA5\xB7\xB0\xBF"; /* of the labels above */
  if (colon == 0 || !memchr(lasts, text.ptr[colon - 1], sizeof lasts - 1)) return false;
  struct span label;
  return find_label(text, colon, &label) < LABEL_COUNT;
}

/* Whether a tool's name is the value at byte at: alone on its line, or with its arguments behind it. */
static bool is_named(struct span text, size_t at, bool vague, bool *retcomplete)
{
  size_t name = skip_marks(text, at), end;
  if (char_at(text, name) == '`') name++;
  end = name;
  bool odd = false;
  for (; end < text.len && (schema_is_word(text.ptr[end]) || text.ptr[end] == '.'); end++)
    odd = odd || text.ptr[end] == '_' || text.ptr[end] == '.';
  if (end == name) return false;
  char next = char_at(text, end);
  *retcomplete = next && memchr("[({", next, 3) && (odd || !vague);
  if (next == '`') next = char_at(text, end + 1);
  return *retcomplete || !vague || next == '\n' || next == '\r';
}

bool schema_step_see(struct schema_step *step, struct span text, size_t colon, size_t behind,
                     size_t *retat)
{
  struct span label;
  size_t i = find_label(text, colon, &label);
  if (i == LABEL_COUNT) return false;
  enum part part = labels[i].part;
  bool complete = false;
  if (part == NAMES || part == NAMES_VAGUE) {
    bool vague = part == NAMES_VAGUE;
    if (!is_named(text, behind, vague, &complete)) return false;
    *step = (struct schema_step) { (size_t)(label.ptr - text.ptr), vague };
  } else if (step->at != SIZE_MAX) {
    char value = char_at(text, schema_skip_blank(text, skip_marks(text, behind)));
    complete = (part == GIVES && !step->vague) || value == '{';
  }
  if (complete) *retat = step->at;
  return complete;
}
