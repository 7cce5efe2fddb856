/* admin_read: what is a command, what it asks and who may: pure functions. */
#include "onebot/id.h"
#include "onebot/native.h"
#include "plugin/admin/admin.h"
#include "plugin/admin/fold.h"

struct op_words {
  const char *en, *zh;
};

static const struct op_words op_words[RG_OP_COUNT] = {
#define X(name, en, zh) { en, zh },
  RG_OPS(X)
#undef X
};

const char *rg_op_word(enum rg_op op)
{
  return op < RG_OP_COUNT ? op_words[op].en : NULL;
}

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* ---- is it one ---- */

/* The folded text behind the prefix, or false. Folding keeps every character one character but not
 * its length, so that text is walked beside it. */
static bool behind_prefix(struct span text, struct span prefix, struct span *ret)
{
  text = rg_fold_trim(text);
  size_t length, i = 0, j = 0;
  while (j < prefix.len) {
    if (i == text.len) return false;
    struct span a = { text.ptr + i, text.len - i }, b = { prefix.ptr + j, prefix.len - j };
    size_t prefix_length;
    char x = rg_fold_first(a, &length), y = rg_fold_first(b, &prefix_length);
    bool same = x || y ? x == y : length == prefix_length && memcmp(a.ptr, b.ptr, length) == 0;
    if (!same) return false;
    i += length;
    j += prefix_length;
  }
  *ret = (struct span) { text.ptr + i, text.len - i };
  return ret->len == 0 || is_space(rg_fold_first(*ret, &length));
}

/* The text of a message behind its leading replies and mentions: the mention of the bot, or of
 * anyone where a reply stands right before it (clients put it there). Empty where something else
 * leads. */
static struct span leading_text(const struct ob_event *event, struct arena *arena)
{
  const struct schema_node *message = schema_tree_get(event->tree, "message");
  const struct schema_node *array = message ? ob_native_read(message, false, arena) : NULL;
  bool after_reply = false;
  struct buf words;
  buf_init(&words, 64 * 1024); /* a command is short: what is longer is none */
  for (const struct schema_node *s = array ? array->first : NULL; s; s = s->next) {
    struct span type = schema_tree_string(schema_tree_get(s, "type"));
    const struct schema_node *data = schema_tree_get(s, "data");
    if (span_is(type, "text")) {
      buf_add(&words, schema_tree_string(schema_tree_get(data, "text")));
      continue;
    }
    if (rg_fold_trim(buf_span(&words)).len > 0) continue;
    bool reply = span_is(type, "reply");
    bool at = span_is(type, "at") &&
              (after_reply || span_eq(schema_tree_id(schema_tree_get(data, "qq")), event->self_id));
    if (!reply && !at) break;
    after_reply = reply;
    buf_clear(&words);
  }
  struct span text = words.failed ? (struct span) { NULL, 0 } : arena_copy(arena, buf_span(&words));
  buf_done(&words);
  return text;
}

bool rg_command_find(const struct ob_event *event, struct span prefix, struct arena *arena,
                     struct span *retrest)
{
  if (event->type != OB_EVENT_GROUP && event->type != OB_EVENT_PRIVATE) return false;
  struct span text = leading_text(event, arena);
  return text.ptr && behind_prefix(text, prefix, retrest);
}

/* ---- who may ---- */

static bool among(const struct rg_ids *ids, uint64_t id)
{
  for (size_t i = 0; i < ids->count; i++)
    if (ids->items[i] == id) return true;
  return false;
}

/* Anonymous members share one account; some implementations only set `anonymous`. */
static bool is_anonymous(const struct ob_event *event, uint64_t user)
{
  enum { SHARED_ACCOUNT = 80000000 };
  const struct schema_node *mark = schema_tree_get(event->tree, "anonymous");
  const struct schema_node *kind = schema_tree_get(event->tree, "sub_type");
  return user == SHARED_ACCOUNT || (mark && mark->kind != SCHEMA_NULL) ||
         span_is(schema_tree_string(kind), "anonymous");
}

enum rg_rank rg_command_rank(const struct ob_event *event, const struct rg_view *view,
                             const struct rg_ids *own)
{
  int64_t number;
  if (event->user_id.len == 0) return RG_RANK_NONE;
  if (!ob_id_read(event->user_id, &number) || number <= 0) return RG_RANK_NONE;
  uint64_t user = (uint64_t)number;
  if (is_anonymous(event, user)) return RG_RANK_NONE;
  if (span_eq(event->user_id, event->self_id) || among(own, user)) return RG_RANK_NONE;
  if (among(&view->group->ignore, user)) return RG_RANK_NONE;
  if (among(&view->config->admins, user)) return RG_RANK_OPERATOR;
  bool leads = event->role == OB_ROLE_OWNER || event->role == OB_ROLE_ADMIN;
  if (event->type == OB_EVENT_GROUP && leads && view->group->group_admins) return RG_RANK_GROUP;
  return RG_RANK_NONE;
}

bool rg_command_may(const struct rg_command *command, enum rg_rank rank)
{
  if (rank == RG_RANK_OPERATOR) return true;
  /* named: also where it is the own group, for who names one means another */
  return rank == RG_RANK_GROUP && !command->named && command->op != RG_OP_GROUPS &&
         command->op != RG_OP_RELOAD;
}

/* ---- what it asks ---- */

struct reader {
  struct span rest; /* what is not read yet, as it was typed */
  struct arena *arena;
  enum schema_language language;
  struct rg_command *command;
};

/* Takes the next word, folded; empty at the end. */
static struct span word(struct reader *r)
{
  size_t length, n = 0;
  r->rest = rg_fold_trim(r->rest);
  while (n < r->rest.len &&
         !is_space(rg_fold_first((struct span) { r->rest.ptr + n, r->rest.len - n }, &length)))
    n += length;
  struct span folded = rg_fold((struct span) { r->rest.ptr, n }, r->arena);
  r->rest = (struct span) { r->rest.ptr + n, r->rest.len - n };
  return folded.ptr ? folded : SPAN("");
}

static enum rg_op op_of(struct span w)
{
  for (size_t i = 0; i < RG_OP_COUNT; i++)
    if (span_is(w, op_words[i].en) || span_is(w, op_words[i].zh)) return (enum rg_op)i;
  return RG_OP_COUNT;
}

/* What of a word a fault repeats. */
static int shown(struct span w)
{
  enum { SHOWN_MAX = 60 };
  if (w.len <= SHOWN_MAX) return (int)w.len;
  size_t n = SHOWN_MAX;
  while (n > 0 && ((unsigned char)w.ptr[n] & 0xc0) == 0x80) n--;
  return (int)n;
}

static void fault(struct reader *r, const char *en, const char *zh, struct span w)
{
  /* both texts hold one %s, in whose place w goes */
  const char *text = r->language == SCHEMA_EN ? en : zh;
  struct buf b;
  size_t at = span_find(span_of(text), SPAN("%s"));
  buf_init(&b, 4096);
  buf_add(&b, (struct span) { text, at });
  buf_add(&b, (struct span) { w.ptr, (size_t)shown(w) });
  if (text[at]) buf_add(&b, span_of(text + at + 2));
  r->command->fault = arena_copy(r->arena, buf_span(&b));
  buf_done(&b);
}

static void unknown_key(struct reader *r, struct span name)
{
  struct span names[RG_GROUP_KEYS_MAX];
  size_t n = rg_keys[RG_SCOPE_GROUP].count;
  for (size_t i = 0; i < n; i++) names[i] = span_of(rg_keys[RG_SCOPE_GROUP].items[i].name);
  struct span meant = rg_nearest(name, names, n);
  if (rg_key_find(RG_SCOPE_TOP, name) || rg_key_find(RG_SCOPE_ENDPOINT, name)) {
    fault(r, "%s is no setting of a group: it is in the configuration file.",
          "%s 不是群的设置，请在配置文件里改。", name);
  } else if (meant.len > 0) {
    struct span both = arena_printf(
        r->arena, r->language == SCHEMA_EN ? "%.*s: do you mean %.*s" : "%.*s：是不是 %.*s",
        shown(name), name.ptr, (int)meant.len, meant.ptr);
    fault(r, "Unknown key %s?", "没有这个键：%s？", both);
  } else
    fault(r, "Unknown key %s: the command help lists them.", "没有 %s 这个键，命令“帮助”列出全部。",
          name);
}

/* Reads the key; false after a fault. */
static bool key(struct reader *r, bool is_admin)
{
  struct rg_command *c = r->command;
  struct span name = word(r);
  c->key = rg_key_find(RG_SCOPE_GROUP, name);
  if (!c->key) {
    unknown_key(r, name);
    return false;
  }
  if ((c->key->flags & RG_KEY_OPERATOR) && !is_admin) {
    fault(r, "%s concerns the machine itself: only the accounts in `admins` may see or change it.",
          "%s 关系到主机，只有 admins 里的账号可以看和改。", name);
    c->key = NULL;
    return false;
  }
  return true;
}

static void on_value_fault(void *ctx, struct rg_text_place place, struct span what)
{
  struct reader *r = ctx;
  (void)place;
  if (r->command->fault.len == 0) r->command->fault = arena_copy(r->arena, what);
}

/* The rest of the line as a value of the key. */
static bool value(struct reader *r, const struct rg_view *view)
{
  struct rg_command *c = r->command;
  const struct rg_key *k = c->key;
  struct span text = rg_fold_trim(r->rest);
  if (k->type == RG_KEY_SECTION) {
    fault(r, "%s has keys of its own: name one of them, with a dot.",
          "%s 下面还有键，请用点号写出其中一个。", span_of(k->name));
    return true;
  }
  /* a text ends with its line; other values have no lines */
  if (k->type == RG_KEY_NOTICE || k->type == RG_KEY_PATH || k->type == RG_KEY_SCHEMA) {
    const char *end = text.len > 0 ? memchr(text.ptr, '\n', text.len) : NULL;
    if (end) text.len = (size_t)(end - text.ptr);
  }
  if (text.len == 0) {
    fault(r, "%s: a value is missing.", "%s：缺少值。", span_of(k->name));
    return true;
  }
  struct rg_yaml *v = rg_value_from_text(k, text, r->arena);
  if (!v) return false;
  struct rg_group probe = *view->group;
  struct rg_reading reading = { .arena = r->arena,
                                .notes = r->arena,
                                .language = r->language,
                                .folder = view->config->folder,
                                .fault = on_value_fault,
                                .ctx = r };
  c->value = v;
  rg_value_read(&reading, k, v, span_of(k->name), &probe);
  return true;
}

/* @123456789 in front of the word. */
static bool named_group(struct reader *r, struct span *w)
{
  struct rg_command *c = r->command;
  if (!span_starts(*w, SPAN("@"))) return true;
  struct span number = { w->ptr + 1, w->len - 1 };
  c->named = true;
  int64_t id;
  if (!ob_id_read(number, &id) || id <= 0) {
    fault(r, "%s is no group: write @ and its number.", "%s 不是群：写 @ 加群号。", *w);
    return false;
  }
  c->group = (uint64_t)id;
  *w = word(r);
  return true;
}

static bool needs_group(enum rg_op op)
{
  return op == RG_OP_ON || op == RG_OP_OFF || op == RG_OP_SET || op == RG_OP_RESET;
}

bool rg_command_read(const struct ob_event *event, struct span rest, const struct rg_view *view,
                     bool is_admin, struct arena *arena, struct rg_command *ret)
{
  struct reader r = { rest, arena, view->config->language, ret };
  *ret = (struct rg_command) { .op = RG_OP_COUNT, .group = view->group_id };
  (void)event;
  struct span w = word(&r);
  if (!named_group(&r, &w)) return true;
  ret->op = w.len == 0 ? RG_OP_HELP : op_of(w);
  if (ret->op == RG_OP_COUNT) {
    fault(&r, "Unknown command %s: the command help lists them.",
          "没有 %s 这个命令，命令“帮助”列出全部。", w);
    return true;
  }
  bool takes_key = ret->op == RG_OP_SET || ret->op == RG_OP_RESET || ret->op == RG_OP_SHOW;
  bool has_more = rg_fold_trim(r.rest).len > 0;
  if (takes_key && has_more) {
    if (!key(&r, is_admin)) return true;
  } else if (ret->op == RG_OP_SET) {
    fault(&r, "Write: set KEY VALUE%s", "请写：设置 键 值%s", SPAN(""));
    return true;
  }
  if (ret->op == RG_OP_SET) {
    if (!value(&r, view)) return false;
  } else {
    struct span extra = word(&r);
    if (extra.len > 0) fault(&r, "%s is one word too many.", "多了 %s，看不懂。", extra);
  }
  if (ret->fault.len == 0 && ret->group == 0 && needs_group(ret->op))
    fault(&r, "Name a group: @123456789 %s …", "请写出群：@123456789 %s …",
          span_of(op_words[ret->op].en));
  return true;
}
