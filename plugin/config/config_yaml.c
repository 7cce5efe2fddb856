#include "plugin/config/config_yaml.h"

#include <stdlib.h>
#include <yaml.h>

struct reading {
  yaml_parser_t parser;
  struct span text;
  struct arena *arena;
  rg_yaml_fault_fn *fault;
  void *ctx;
};

static struct rg_text_place place_of(yaml_mark_t mark)
{
  return (struct rg_text_place) { mark.line + 1, mark.column + 1 };
}

static void tell(struct reading *r, yaml_mark_t mark, const char *what)
{
  r->fault(r->ctx, place_of(mark), span_of(what));
}

const char *rg_yaml_hint(struct span line)
{
  size_t indent = 0, colons = 0;
  while (indent < line.len && (line.ptr[indent] == ' ' || line.ptr[indent] == '\t')) indent++;
  if (memchr(line.ptr, '\t', indent)) return " (indent with spaces, not with tabs)";
  if (span_find(line, SPAN("：")) < line.len)
    return " (behind a key stands an ordinary : and a space, not ：)";
  for (size_t i = indent; i < line.len; i++) {
    if (line.ptr[i] != ':') continue;
    if (i + 1 == line.len || line.ptr[i + 1] == ' ') return "";
    colons++;
  }
  return colons > 0 ? " (behind the : of a key stands a space)" : "";
}

/* The line of that number, from 0. */
static struct span line_of(struct span text, size_t number)
{
  for (size_t line = 0;; line++) {
    size_t n = 0;
    while (n < text.len && text.ptr[n] != '\n' && text.ptr[n] != '\r') n++;
    if (line == number || n == text.len) return (struct span) { text.ptr, n };
    n += 1 + (n + 1 < text.len && text.ptr[n] == '\r' && text.ptr[n + 1] == '\n');
    text = (struct span) { text.ptr + n, text.len - n };
  }
}

/* The hint of the line of a fault, else of the one above it, where libyaml often sees it late. */
static const char *hint_at(const struct reading *r, size_t line)
{
  const char *hint = rg_yaml_hint(line_of(r->text, line));
  return *hint || line == 0 ? hint : rg_yaml_hint(line_of(r->text, line - 1));
}

/* What libyaml says, as a sentence with its place. */
static void tell_syntax(struct reading *r)
{
  const yaml_parser_t *p = &r->parser;
  if (p->error == YAML_MEMORY_ERROR) {
    tell(r, p->mark, "out of memory");
    return;
  }
  struct span what;
  const char *problem = p->problem ? p->problem : "cannot be read";
  const char *hint = hint_at(r, p->problem_mark.line);
  if (p->context && p->context_mark.line != p->problem_mark.line)
    what = arena_printf(r->arena, "not valid YAML: %s (%s that begins in line %zu)%s", problem,
                        p->context, p->context_mark.line + 1, hint);
  else
    what = arena_printf(r->arena, "not valid YAML: %s%s", problem, hint);
  r->fault(r->ctx, place_of(p->problem_mark), what);
}

/* The next event; false after a syntax fault, which is told. */
static bool next(struct reading *r, yaml_event_t *event)
{
  if (yaml_parser_parse(&r->parser, event)) return true;
  tell_syntax(r);
  return false;
}

static struct rg_yaml *node_new(struct reading *r, const yaml_event_t *event,
                                enum rg_yaml_kind kind)
{
  struct rg_yaml *node = arena_zalloc(r->arena, 1, sizeof *node);
  if (!node) {
    tell(r, event->start_mark, "out of memory");
    return NULL;
  }
  node->kind = kind;
  node->place = place_of(event->start_mark);
  return node;
}

static struct rg_yaml *scalar(struct reading *r, const yaml_event_t *event)
{
  struct rg_yaml *node = node_new(r, event, RG_YAML_SCALAR);
  if (!node) return NULL;
  node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  size_t length = event->data.scalar.length;
  if (length > RG_YAML_SCALAR_MAX) {
    tell(r, event->start_mark, "a value of more than 64 KiB: is a quote missing?");
    node->faulty = true;
    return node;
  }
  node->text =
      arena_copy(r->arena, (struct span) { (const char *)event->data.scalar.value, length });
  if (node->text.ptr) return node;
  tell(r, event->start_mark, "out of memory");
  return NULL;
}

/* The node of one event, without its children; NULL ends the reading. */
static struct rg_yaml *begin(struct reading *r, const yaml_event_t *event)
{
  const yaml_char_t *tag = NULL;
  struct rg_yaml *node;
  switch ((int)event->type) {
  case YAML_SCALAR_EVENT:
    node = scalar(r, event);
    tag = event->data.scalar.tag;
    break;
  case YAML_SEQUENCE_START_EVENT:
    node = node_new(r, event, RG_YAML_LIST);
    tag = event->data.sequence_start.tag;
    break;
  case YAML_MAPPING_START_EVENT:
    node = node_new(r, event, RG_YAML_MAP);
    tag = event->data.mapping_start.tag;
    break;
  default: /* an alias: libyaml sends nothing else here */
    node = node_new(r, event, RG_YAML_SCALAR);
    if (!node) return NULL;
    node->faulty = true;
    tell(r, event->start_mark, "an alias (*…): write the value out");
    return node;
  }
  if (node && tag) {
    tell(r, event->start_mark, "a tag (!…): write the value without it");
    node->faulty = true;
  }
  return node;
}

static int by_text(const void *a, const void *b)
{
  const struct rg_yaml *x = *(struct rg_yaml *const *)a, *y = *(struct rg_yaml *const *)b;
  size_t n = x->text.len < y->text.len ? x->text.len : y->text.len;
  int order = n > 0 ? memcmp(x->text.ptr, y->text.ptr, n) : 0;
  if (order != 0) return order;
  if (x->text.len != y->text.len) return x->text.len < y->text.len ? -1 : 1;
  if (x->place.line != y->place.line) return x->place.line < y->place.line ? -1 : 1;
  return x->place.column < y->place.column ? -1 : x->place.column > y->place.column;
}

/* Tells keys that are no words and keys that come again. Sorted, so that a mapping of 10,000 groups
 * costs no square. */
static bool check_keys(struct reading *r, struct rg_yaml *map)
{
  size_t n = 0;
  struct rg_yaml **keys = map->count ? calloc(map->count, sizeof(struct rg_yaml *)) : NULL;
  if (map->count && !keys) return false;
  for (struct rg_yaml *key = map->first; key; key = key->next->next) {
    if (!key->faulty && key->kind != RG_YAML_SCALAR) {
      key->faulty = true;
      r->fault(r->ctx, key->place, SPAN("a list or mapping as a key: a key is one word"));
    }
    if (!key->faulty) keys[n++] = key;
  }
  if (n > 1) qsort(keys, n, sizeof(struct rg_yaml *), by_text);
  for (size_t i = 1; i < n; i++) {
    if (!span_eq(keys[i - 1]->text, keys[i]->text)) continue;
    keys[i]->faulty = true;
    struct span shown = keys[i]->text;
    if (shown.len > 80) shown = SPAN("this key");
    r->fault(r->ctx, keys[i]->place,
             arena_printf(r->arena, "%.*s: doubled, it is already in line %zu", (int)shown.len,
                          shown.ptr, keys[i - 1]->place.line));
  }
  free(keys);
  return true;
}

static void append(struct rg_yaml *parent, struct rg_yaml *child)
{
  if (parent->last)
    parent->last->next = child;
  else
    parent->first = child;
  parent->last = child;
  parent->count++;
}

/* Reads nodes until the one that begins with event is complete. The stack is as deep as nesting
 * may be. */
static struct rg_yaml *tree(struct reading *r, yaml_event_t *event)
{
  struct rg_yaml *stack[RG_YAML_DEPTH_MAX], *node = NULL;
  size_t depth = 0;
  for (;;) {
    bool ends = event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
    if (ends) {
      node = stack[--depth];
      if (node->kind == RG_YAML_MAP) {
        node->count /= 2;
        if (!check_keys(r, node)) {
          r->fault(r->ctx, node->place, SPAN("out of memory"));
          node = NULL;
        }
      }
    } else {
      node = begin(r, event);
      if (node && depth > 0) append(stack[depth - 1], node);
      if (node &&
          (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT)) {
        if (depth == RG_YAML_DEPTH_MAX) {
          tell(r, event->start_mark, "nested too deep: the configuration has at most 8 levels");
          node = NULL;
        } else
          stack[depth++] = node;
      }
    }
    yaml_event_delete(event);
    if (!node || depth == 0) return node;
    if (!next(r, event)) return NULL;
  }
}

/* The document: one, or none at all. */
static bool document(struct reading *r, struct rg_yaml **retroot)
{
  yaml_event_t event;
  struct rg_yaml *root = NULL;
  for (;;) {
    if (!next(r, &event)) return false;
    yaml_event_type_t type = event.type;
    if (type == YAML_STREAM_END_EVENT) {
      *retroot = root;
      return true;
    }
    if (type == YAML_DOCUMENT_START_EVENT && root) {
      tell(r, event.start_mark, "a second document: the configuration is one");
      yaml_event_delete(&event);
      return false;
    }
    if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT ||
        type == YAML_DOCUMENT_END_EVENT) {
      yaml_event_delete(&event);
      continue;
    }
    root = tree(r, &event);
    if (!root) return false;
  }
}

/* Tells a %TAG directive. libyaml compares each with all before it, which takes minutes for a file
 * that is full of them, and tags are not used anyway. */
static bool has_tag_directive(struct span text, rg_yaml_fault_fn *fault, void *ctx)
{
  struct rg_text_place place = { 1, 1 };
  for (size_t i = 0; i < text.len; place.line++) {
    struct span rest = { text.ptr + i, text.len - i };
    if (span_starts(rest, SPAN("%TAG"))) {
      fault(ctx, place, SPAN("a %TAG directive: tags are not used here"));
      return true;
    }
    while (i < text.len && text.ptr[i] != '\n' && text.ptr[i] != '\r') i++;
    if (i + 1 < text.len && text.ptr[i] == '\r' && text.ptr[i + 1] == '\n') i++;
    i++;
  }
  return false;
}

bool rg_yaml_read(struct span text, struct arena *arena, rg_yaml_fault_fn *fault, void *ctx,
                  struct rg_yaml **retroot)
{
  struct rg_text_place start = { 1, 1 };
  if (text.len > RG_YAML_TEXT_MAX) {
    fault(ctx, start, SPAN("larger than 8 MiB: is this the right file?"));
    return false;
  }
  if (has_tag_directive(text, fault, ctx)) return false;
  struct reading r = { .text = text, .arena = arena, .fault = fault, .ctx = ctx };
  if (!yaml_parser_initialize(&r.parser)) {
    fault(ctx, start, SPAN("out of memory"));
    return false;
  }
  yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.ptr, text.len);
  bool fine = document(&r, retroot);
  yaml_parser_delete(&r.parser);
  return fine;
}
