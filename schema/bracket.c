#include "schema/bracket.h"

enum {
  DEPTH_MAX = 40, /* a reply has 9; deeper ones are not put right */
  RUN_MAX = 16,   /* brackets and commas in a row: at most 9 close, a comma, 7 open */
};

/* Open brackets, outermost first. */
struct stack {
  char open[DEPTH_MAX];
  size_t depth;
};

struct mark {
  size_t at;
  char c; /* a bracket or a comma */
};

struct scan {
  struct span text;
  size_t fault;
  struct stack stack; /* at the begin of the run that leads to the fault */
  struct mark run[RUN_MAX];
  size_t run_count;
  bool run_begins_value; /* a value may begin where the run does: behind a colon, at the start */
  struct mark closers[DEPTH_MAX]; /* from the fault on: those that close what is open before it */
  size_t closer_count;
  bool ends_at_fault; /* nothing of the object follows */
  bool valid;
};

static bool is_space(char c)
{
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static char closer_of(char open)
{
  return open == '{' ? '}' : ']';
}

static bool push(struct stack *s, char open)
{
  if (s->depth == DEPTH_MAX) return false;
  s->open[s->depth++] = open;
  return true;
}

static bool pop(struct stack *s, char close)
{
  if (s->depth == 0 || closer_of(s->open[s->depth - 1]) != close) return false;
  s->depth--;
  return true;
}

static bool apply(struct stack *s, char c)
{
  if (c == '{' || c == '[') return push(s, c);
  if (c == '}' || c == ']') return pop(s, c);
  return true;
}

/* The marks from the first to before the last, but the one to skip. False: they do not fit, or the
 * object would be complete before them. */
static bool apply_all(struct stack *s, const struct mark *marks, size_t first, size_t last,
                      size_t skip)
{
  for (size_t i = first; i < last; i++) {
    if (i == skip) continue;
    if ((s->depth == 0 && i > 0) || !apply(s, marks[i].c)) return false;
  }
  return true;
}

/* Behind the string whose quote is at byte at; text.len where it is not closed. */
static size_t skip_string(struct span text, size_t at)
{
  for (at++; at < text.len;) {
    const char *quote = memchr(text.ptr + at, '"', text.len - at);
    if (!quote) return text.len;
    size_t end = (size_t)(quote - text.ptr), slashes = 0;
    while (end - slashes > at && text.ptr[end - slashes - 1] == '\\') slashes++;
    at = end + 1;
    if (slashes % 2 == 0) return at;
  }
  return text.len;
}

static bool is_word(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

/* Walks to the fault and keeps the last run of brackets and commas before it. */
static bool scan_before(struct scan *s)
{
  struct stack now = { .depth = 0 };
  size_t at = 0;
  bool after_colon = true;
  while (at < s->fault) {
    char c = s->text.ptr[at];
    if (is_space(c)) {
      at++;
      continue;
    }
    bool mark = c == '{' || c == '}' || c == '[' || c == ']' || c == ',';
    if (!mark) {
      s->run_count = 0;
      after_colon = c == ':';
      at = c == '"' ? skip_string(s->text, at) : at + 1;
      if (at > s->fault) return false; /* the fault is inside a string */
      continue;
    }
    if (s->run_count == 0) {
      s->stack = now;
      s->run_begins_value = after_colon;
    }
    if (s->run_count == RUN_MAX || !apply(&now, c)) return false;
    s->run[s->run_count++] = (struct mark) { at++, c };
  }
  if (s->run_count == 0) {
    s->stack = now;
    s->run_begins_value = after_colon;
  }
  return true;
}

/* Walks on from the fault and notes the closers of what stands open before it. */
static void scan_behind(struct scan *s)
{
  size_t depth = 0, at = s->fault;
  s->ends_at_fault = true;
  while (at < s->text.len && s->closer_count < DEPTH_MAX) {
    char c = s->text.ptr[at];
    if (is_space(c) || c == ',' || c == ':') {
      at++;
    } else if (c == '"') {
      size_t behind = skip_string(s->text, at);
      if (behind == s->text.len) break;
      at = behind;
    } else if (is_word(c)) {
      while (at < s->text.len && is_word(s->text.ptr[at])) at++;
    } else if (c == '{' || c == '[') {
      depth++;
      at++;
    } else if (c == '}' || c == ']') {
      if (depth)
        depth--;
      else
        s->closers[s->closer_count++] = (struct mark) { at, c };
      at++;
    } else {
      break;
    }
    if (at > s->fault && s->closer_count) s->ends_at_fault = false;
  }
}

/* Whether text goes on as JSON at or behind byte at: then what ends there is no whole object. */
static bool goes_on(struct span text, size_t at)
{
  while (at < text.len && is_space(text.ptr[at])) at++;
  return at < text.len && memchr(",:{}[]", text.ptr[at], 6) != NULL;
}

/* Whether the closers behind the fault close all that is open then, and the object ends with it. */
static bool closes(const struct scan *s, const struct stack *open)
{
  size_t n = open->depth;
  if (n == 0) return !goes_on(s->text, s->fault);
  if (s->closer_count < n) return false;
  for (size_t i = 0; i < n; i++)
    if (s->closers[i].c != closer_of(open->open[n - 1 - i])) return false;
  return !goes_on(s->text, s->closers[n - 1].at + 1);
}

struct fixes {
  struct schema_bracket_fix *items;
  size_t count;
};

static void add(struct fixes *fixes, size_t at, const char *insert, size_t len)
{
  if (fixes->count == SCHEMA_BRACKET_FIXES_MAX) return;
  struct schema_bracket_fix *fix = &fixes->items[fixes->count++];
  fix->at = at;
  memset(fix->insert, 0, sizeof fix->insert);
  memcpy(fix->insert, insert, len);
}

/* The marks of the run and the one at the fault: count of them, with the fault's last. */
static size_t marks_of(const struct scan *s, struct mark *marks)
{
  memcpy(marks, s->run, s->run_count * sizeof *marks);
  char c = s->fault < s->text.len ? s->text.ptr[s->fault] : '\0';
  if (c == '\0' || !memchr("{}[]", c, 4)) return s->run_count;
  marks[s->run_count] = (struct mark) { s->fault, c };
  return s->run_count + 1;
}

/* The same where the bracket c at the fault itself goes. */
static bool closes_without_fault(const struct scan *s, char c, const struct stack *open)
{
  struct scan rest = *s;
  if (c == '{' || c == '[') {
    rest.fault++;
    rest.closer_count = 0;
    scan_behind(&rest);
  } else { /* it closes nothing any more */
    rest.closer_count--;
    memmove(rest.closers, rest.closers + 1, rest.closer_count * sizeof *rest.closers);
  }
  return closes(&rest, open);
}

/* Takes each bracket of the run out in turn, of neighbours alike only the first. */
static void try_without(const struct scan *s, struct fixes *fixes)
{
  struct mark marks[RUN_MAX + 1];
  size_t count = marks_of(s, marks);
  for (size_t skip = 0; skip < count; skip++) {
    if (marks[skip].c == ',' || (skip && marks[skip - 1].c == marks[skip].c)) continue;
    struct stack now = s->stack;
    if (!apply_all(&now, marks, 0, s->run_count, skip)) continue;
    bool fits =
        skip == s->run_count ? closes_without_fault(s, marks[skip].c, &now) : closes(s, &now);
    if (fits) add(fixes, marks[skip].at, "", 0);
  }
}

/* Whether so many closers behind the fault would end the object, whatever they close. */
static bool ends_after(const struct scan *s, ptrdiff_t closers)
{
  if (closers < 0 || (size_t)closers > s->closer_count) return false;
  return !goes_on(s->text, closers ? s->closers[closers - 1].at + 1 : s->fault);
}

/* How many containers are open at the fault if the run is taken as it stands. */
static ptrdiff_t depth_at_fault(const struct scan *s)
{
  ptrdiff_t depth = (ptrdiff_t)s->stack.depth;
  for (size_t i = 0; i < s->run_count; i++) {
    char c = s->run[i].c;
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
  }
  return depth;
}

/* Puts each bracket in at each place of the run, of places alike only the first. */
static void try_with(const struct scan *s, struct fixes *fixes)
{
  static const char brackets[] = "}]{[";
  ptrdiff_t depth = depth_at_fault(s);
  bool can_close = ends_after(s, depth - 1), can_open = ends_after(s, depth + 1);
  if (!can_close && !can_open) return;
  for (size_t place = 0; place <= s->run_count; place++) {
    char before = place ? s->run[place - 1].c : s->run_begins_value ? ':' : '"';
    size_t at = place < s->run_count ? s->run[place].at : s->fault;
    bool at_end = place == s->run_count && s->ends_at_fault;
    bool behind_opener = before == '{' || before == '[';
    bool value_may_begin = behind_opener || before == ':' || before == ',';
    for (const char *b = brackets; *b; b++) {
      bool opens = *b == '{' || *b == '[';
      if (!(opens ? can_open : can_close)) continue;
      if (opens != value_may_begin && !behind_opener) continue;
      bool same_follows = place < s->run_count && s->run[place].c == *b;
      if (same_follows || (at_end && opens)) continue;
      struct stack now = s->stack;
      if (apply_all(&now, s->run, 0, place, SIZE_MAX) && apply(&now, *b) &&
          apply_all(&now, s->run, place, s->run_count, SIZE_MAX) && closes(s, &now))
        add(fixes, at, b, 1);
    }
  }
}

/* Whether the white space before the end is that of a printer which has come to the closer that
 * belongs to depth: a text cut in the middle of its indentation has lost more than closers. */
static bool fits_indentation(struct span text, size_t end, size_t depth)
{
  size_t begin = end, indent = 0;
  while (begin > 0 && is_space(text.ptr[begin - 1])) begin--;
  if (begin == end) return true;
  const char *newline = memrchr(text.ptr + begin, '\n', end - begin);
  if (!newline) return false;
  indent = (size_t)(text.ptr + end - newline - 1);
  return indent == 0 || (depth > 1 && indent % (depth - 1) == 0);
}

/* Closes all that is open at the end of the object. */
static void try_closing(const struct scan *s, size_t closers_max, struct fixes *fixes)
{
  struct stack now = s->stack;
  char all[SCHEMA_CLOSERS_MAX];
  for (size_t i = 0; i < s->run_count; i++)
    if (!apply(&now, s->run[i].c)) return;
  if (!s->ends_at_fault || now.depth < 2 || now.depth > closers_max) return;
  if (s->run_count == 0 || s->run[s->run_count - 1].c == ',') return;
  if (!fits_indentation(s->text, s->fault, now.depth)) return;
  size_t n = now.depth;
  for (size_t i = 0; i < n; i++) all[i] = closer_of(now.open[n - 1 - i]);
  add(fixes, s->fault, all, n);
}

/* Whether the last visible byte can be the end of a value: else a text that is cut has lost more than
 * brackets. */
static bool may_end_value(struct span text)
{
  size_t end = text.len;
  while (end > 0 && is_space(text.ptr[end - 1])) end--;
  return end > 0 && (is_word(text.ptr[end - 1]) || memchr("\"}]", text.ptr[end - 1], 3));
}

size_t schema_bracket_fixes(struct span text, size_t fault, size_t closers_max,
                            struct schema_bracket_fix items[SCHEMA_BRACKET_FIXES_MAX])
{
  struct scan s = { .text = text, .fault = fault < text.len ? fault : text.len };
  struct fixes fixes = { items, 0 };
  if (closers_max > SCHEMA_CLOSERS_MAX) closers_max = SCHEMA_CLOSERS_MAX;
  if (s.fault == text.len && !may_end_value(text)) return 0;
  while (s.fault < text.len && is_space(text.ptr[s.fault])) s.fault++;
  if (!scan_before(&s)) return 0;
  scan_behind(&s);
  try_with(&s, &fixes);
  try_without(&s, &fixes);
  if (closers_max > 1) try_closing(&s, closers_max, &fixes);
  return fixes.count;
}

struct span schema_bracket_apply(struct span text, const struct schema_bracket_fix *fix,
                                 struct arena *arena)
{
  size_t n = strlen(fix->insert), gone = n ? 0 : 1;
  char *copy = arena_alloc(arena, text.len + n + 1);
  if (!copy) return (struct span) { NULL, 0 };
  memcpy(copy, text.ptr, fix->at);
  memcpy(copy + fix->at, fix->insert, n);
  memcpy(copy + fix->at + n, text.ptr + fix->at + gone, text.len - fix->at - gone);
  return (struct span) { copy, text.len + n - gone };
}
