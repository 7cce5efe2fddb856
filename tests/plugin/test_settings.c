#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/config/settings.h"

#define MAIN "endpoints: {main: {connect: host}, other: {connect: ws://x}}\n"

static struct rg_config *config_of(const char *text)
{
  struct arena arena;
  struct rg_config_faults faults;
  arena_init(&arena, 1 << 20);
  struct rg_config *c =
      rg_config_read(span_of(text), SPAN("/etc/bot"), NULL, NULL, &arena, &faults);
  cr_assert_not_null(c, "%.*s", faults.count ? (int)faults.items[0].what.len : 0,
                     faults.count ? faults.items[0].what.ptr : "");
  arena_done(&arena);
  return c;
}

/* A store in memory that can be told to fail. */
struct fake {
  struct rg_store head;
  struct {
    char endpoint[16], key[32], value[64];
    uint64_t group;
  } rows[64];
  size_t count;
  bool broken;
};

static bool fake_each(struct rg_store *s, rg_override_fn *each, void *ctx, char *why, size_t cap)
{
  struct fake *f = (struct fake *)s;
  if (f->broken) snprintf(why, cap, "the disk is full");
  for (size_t i = 0; !f->broken && i < f->count; i++) {
    struct rg_override o = { span_of(f->rows[i].endpoint), f->rows[i].group,
                             span_of(f->rows[i].key), span_of(f->rows[i].value), SPAN("1") };
    each(ctx, &o);
  }
  return !f->broken;
}

static bool fake_drop(struct rg_store *s, struct span endpoint, uint64_t group, struct span key,
                      char *why, size_t cap)
{
  struct fake *f = (struct fake *)s;
  size_t kept = 0;
  if (f->broken) snprintf(why, cap, "the disk is full");
  for (size_t i = 0; !f->broken && i < f->count; i++) {
    bool same = span_is(endpoint, f->rows[i].endpoint) && f->rows[i].group == group &&
                (key.len == 0 || span_is(key, f->rows[i].key));
    if (!same) f->rows[kept++] = f->rows[i];
  }
  if (!f->broken) f->count = kept;
  return !f->broken;
}

static bool fake_put(struct rg_store *s, const struct rg_override *o, char *why, size_t cap)
{
  struct fake *f = (struct fake *)s;
  if (!fake_drop(s, o->endpoint, o->group, o->key, why, cap)) return false;
  cr_assert_lt(f->count, 64);
  snprintf(f->rows[f->count].endpoint, 16, "%.*s", (int)o->endpoint.len, o->endpoint.ptr);
  snprintf(f->rows[f->count].key, 32, "%.*s", (int)o->key.len, o->key.ptr);
  snprintf(f->rows[f->count].value, 64, "%.*s", (int)o->value.len, o->value.ptr);
  f->rows[f->count++].group = o->group;
  return true;
}

static const struct rg_store_methods fake_methods = {
  .override_each = fake_each,
  .override_put = fake_put,
  .override_drop = fake_drop,
};

/* A scene: settings upon a configuration and a store. */
struct scene {
  struct fake store;
  struct rg_settings *settings;
  struct arena arena;
  char notes[1024];
};

static void note(void *ctx, struct span line)
{
  struct scene *s = ctx;
  snprintf(s->notes + strlen(s->notes), sizeof s->notes - strlen(s->notes), "%.*s\n", (int)line.len,
           line.ptr);
}

static void begin(struct scene *s, const char *text)
{
  struct rg_config *c = config_of(text);
  *s = (struct scene) { .store = { .head = { &fake_methods } } };
  arena_init(&s->arena, 16 << 20);
  s->settings = rg_settings_new(c, &s->store.head, note, s);
  rg_config_release(c);
  cr_assert_not_null(s->settings);
}

static void end(struct scene *s)
{
  rg_settings_free(s->settings);
  arena_done(&s->arena);
}

static const struct rg_key *key_of(const char *name)
{
  const struct rg_key *key = rg_key_find(RG_SCOPE_GROUP, span_of(name));
  cr_assert_not_null(key, "%s", name);
  return key;
}

static enum rg_change_result set(struct scene *s, const char *endpoint, uint64_t group,
                                 const char *key, const char *value, struct rg_change *change)
{
  const struct rg_yaml *v = rg_value_from_text(key_of(key), span_of(value), &s->arena);
  return rg_settings_set(s->settings, span_of(endpoint), group, key_of(key), v, SPAN("1"),
                         SCHEMA_EN, &s->arena, change);
}

static enum rg_change_result reset(struct scene *s, uint64_t group, const char *key, size_t *count,
                                   struct rg_change *change)
{
  return rg_settings_reset(s->settings, SPAN("main"), group, key ? key_of(key) : NULL, count,
                           &s->arena, change);
}

/* What a key holds now, and from where. */
static void expect(struct scene *s, const char *endpoint, uint64_t group, const char *key,
                   const char *value, enum rg_origin origin)
{
  struct rg_view v;
  struct buf b;
  buf_init(&b, 1 << 16);
  cr_expect(rg_settings_view(s->settings, span_of(endpoint), group, &v));
  rg_value_print(key_of(key), v.group, RG_PRINT_YAML, &b);
  cr_expect(span_is(buf_span(&b), value), "%s of %s/%llu is %s, not %s", key, endpoint,
            (unsigned long long)group, b.ptr, value);
  cr_expect_eq(rg_view_origin(&v, key_of(key)), origin, "%s: from %d", key,
               (int)rg_view_origin(&v, key_of(key)));
  rg_view_done(&v);
  buf_done(&b);
}

Test(settings, overrides_lie_on_top)
{
  struct scene s;
  struct rg_change c;
  begin(&s, MAIN "groups: {default: {card: ark}, 5: {quote: first}}\n");
  expect(&s, "main", 5, "card", "ark", RG_FROM_DEFAULT);
  expect(&s, "main", 5, "quote", "first", RG_FROM_GROUP);
  cr_expect_eq(set(&s, "main", 5, "card", "text", &c), RG_CHANGED);
  cr_expect(span_is(c.old, "ark") && span_is(c.now, "text"));
  expect(&s, "main", 5, "card", "text", RG_FROM_OVERRIDE);
  expect(&s, "main", 5, "quote", "first", RG_FROM_GROUP);
  expect(&s, "main", 6, "card", "ark", RG_FROM_DEFAULT);
  expect(&s, "other", 5, "card", "ark", RG_FROM_DEFAULT);
  cr_expect_eq(set(&s, "main", 5, "card", "music", &c), RG_CHANGED);
  cr_expect(span_is(c.old, "text") && span_is(c.now, "music"));
  cr_expect_eq(set(&s, "main", 5, "pace.max", "2", &c), RG_CHANGED);
  cr_expect_eq(s.store.count, 2);
  expect(&s, "main", 5, "card", "music", RG_FROM_OVERRIDE);
  expect(&s, "main", 5, "pace.max", "2", RG_FROM_OVERRIDE);
  end(&s);
}

Test(settings, an_empty_name_is_the_only_endpoint)
{
  struct scene s;
  struct rg_change c;
  begin(&s, "endpoints: {main: {connect: host}}\n");
  cr_expect_eq(set(&s, "main", 5, "card", "text", &c), RG_CHANGED);
  expect(&s, "", 5, "card", "text", RG_FROM_OVERRIDE);
  cr_expect_eq(set(&s, "", 5, "quote", "all", &c), RG_CHANGED);
  expect(&s, "main", 5, "quote", "all", RG_FROM_OVERRIDE);
  end(&s);
}

Test(settings, reset_by_key_section_and_whole)
{
  struct scene s;
  struct rg_change c;
  size_t count;
  begin(&s, MAIN);
  cr_expect_eq(reset(&s, 5, NULL, &count, &c), RG_CHANGED);
  cr_expect_eq(count, 0);
  static const char *const values[][2] = { { "card", "text" },
                                           { "pace.min", "0.1" },
                                           { "pace.max", "0.2" },
                                           { "quote", "all" },
                                           { "mode", "observe" } };
  for (size_t i = 0; i < 5; i++)
    cr_expect_eq(set(&s, "main", 5, values[i][0], values[i][1], &c), RG_CHANGED, "%zu", i);
  cr_expect_eq(reset(&s, 5, "card", &count, &c), RG_CHANGED);
  cr_expect(count == 1 && span_is(c.old, "text") && span_is(c.now, "auto"));
  expect(&s, "main", 5, "card", "auto", RG_FROM_BUILTIN);
  cr_expect_eq(reset(&s, 5, "card", &count, &c), RG_CHANGED);
  cr_expect_eq(count, 0);
  cr_expect_eq(reset(&s, 5, "pace", &count, &c), RG_CHANGED);
  cr_expect_eq(count, 2);
  expect(&s, "main", 5, "pace.max", "1.5", RG_FROM_BUILTIN);
  expect(&s, "main", 5, "quote", "all", RG_FROM_OVERRIDE);
  cr_expect_eq(s.store.count, 2);
  cr_expect_eq(reset(&s, 5, NULL, &count, &c), RG_CHANGED);
  cr_expect(count == 2 && s.store.count == 0);
  expect(&s, "main", 5, "quote", "never", RG_FROM_BUILTIN);
  end(&s);
}

Test(settings, what_is_refused_changes_nothing)
{
  static const struct {
    const char *key, *value, *says;
  } rows[] = {
    { "pace.min", "-1", "from 0 to 60" },       { "pace.min", "2", "pace.max 1.5" },
    { "pace.max", "0.1", "pace.min would be" }, { "segments", "texts", "texts" },
    { "output", "schema", "output_schema" },    { "mention_all", "maybe", "true or false" },
    { "agent.tools", "rm_rf", "no tool" },
  };
  struct scene s;
  begin(&s, MAIN);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_change c;
    cr_expect_eq(set(&s, "main", 5, rows[i].key, rows[i].value, &c), RG_NOT_CHANGED, "row %zu", i);
    cr_expect(span_find(c.why, span_of(rows[i].says)) < c.why.len, "row %zu: %.*s", i,
              (int)c.why.len, c.why.ptr);
  }
  cr_expect_eq(s.store.count, 0);
  expect(&s, "main", 5, "pace.min", "0.4", RG_FROM_BUILTIN);
  end(&s);
}

Test(settings, a_broken_store_is_said)
{
  struct scene s;
  struct rg_change c;
  size_t count;
  char why[64] = "";
  begin(&s, MAIN);
  cr_expect_eq(set(&s, "main", 5, "card", "text", &c), RG_CHANGED);
  s.store.broken = true;
  cr_expect_eq(set(&s, "main", 5, "enabled", "off", &c), RG_CHANGED_UNSAVED);
  cr_expect(span_is(c.why, "the disk is full"));
  expect(&s, "main", 5, "enabled", "false", RG_FROM_OVERRIDE);
  cr_expect_not(rg_settings_load(s.settings, why, sizeof why));
  cr_expect_str_eq(why, "the disk is full");
  expect(&s, "main", 5, "enabled", "false", RG_FROM_OVERRIDE);
  cr_expect_eq(reset(&s, 5, NULL, &count, &c), RG_CHANGED_UNSAVED);
  expect(&s, "main", 5, "enabled", "true", RG_FROM_BUILTIN);
  end(&s);
}

Test(settings, survive_a_restart_and_a_reload)
{
  struct scene s;
  struct rg_change c;
  char why[64] = "";
  begin(&s, MAIN "groups: {default: {card: ark, quote: first}}\n");
  cr_expect_eq(set(&s, "main", 5, "card", "text", &c), RG_CHANGED);
  cr_expect_eq(set(&s, "main", 7, "reactions", "赞，笑哭", &c), RG_CHANGED);
  struct rg_config *next = config_of(MAIN "groups: {default: {card: music, quote: all}}\n");
  rg_settings_use(s.settings, next, &s.store.head);
  expect(&s, "main", 5, "card", "text", RG_FROM_OVERRIDE);
  expect(&s, "main", 5, "quote", "all", RG_FROM_DEFAULT);
  expect(&s, "main", 6, "card", "music", RG_FROM_DEFAULT);
  rg_settings_free(s.settings);
  s.settings = rg_settings_new(next, &s.store.head, note, &s);
  rg_config_release(next);
  expect(&s, "main", 5, "card", "music", RG_FROM_DEFAULT);
  cr_expect(rg_settings_load(s.settings, why, sizeof why), "%s", why);
  expect(&s, "main", 5, "card", "text", RG_FROM_OVERRIDE);
  expect(&s, "main", 7, "reactions", "[赞, 笑哭]", RG_FROM_OVERRIDE);
  cr_expect_str_empty(s.notes);
  end(&s);
}

Test(settings, what_does_not_fit_any_more_is_noted)
{
  static const struct {
    const char *key, *value;
  } rows[] = { { "gone", "1" },      { "card", "\"gone\"" }, { "pace.min", "{}" },
               { "quote", "\"al" },  { "mode", "null" },     { "pace.max", "\"1\"" },
               { "unwrap", "false" } };
  struct scene s;
  char why[64] = "";
  begin(&s, MAIN);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_override o = { SPAN("main"), 5, span_of(rows[i].key), span_of(rows[i].value),
                             SPAN("1") };
    cr_assert(fake_put(&s.store.head, &o, why, sizeof why));
  }
  cr_expect(rg_settings_load(s.settings, why, sizeof why));
  size_t lines = 0;
  for (const char *at = s.notes; *at; at++) lines += *at == '\n';
  cr_expect_eq(lines, 6, "%s", s.notes);
  cr_expect_not_null(strstr(s.notes, "group 5"));
  cr_expect_not_null(strstr(s.notes, "gone in the chat has no effect"));
  expect(&s, "main", 5, "card", "auto", RG_FROM_BUILTIN);
  expect(&s, "main", 5, "unwrap", "false", RG_FROM_OVERRIDE);
  cr_expect_eq(s.store.count, 7, "they stay in the store");
  end(&s);
}

Test(settings, an_override_above_a_changed_file_stays_sound)
{
  struct scene s;
  struct rg_change c;
  begin(&s, MAIN "groups: {default: {pace: {max: 5}}}\n");
  cr_expect_eq(set(&s, "main", 5, "pace.min", "4", &c), RG_CHANGED);
  struct rg_config *next = config_of(MAIN);
  rg_settings_use(s.settings, next, &s.store.head);
  rg_config_release(next);
  expect(&s, "main", 5, "pace.min", "4", RG_FROM_OVERRIDE);
  expect(&s, "main", 5, "pace.max", "4", RG_FROM_BUILTIN);
  end(&s);
}

Test(settings, a_view_stays_while_it_is_kept)
{
  struct scene s;
  struct rg_change c;
  struct rg_view v, second;
  begin(&s, MAIN);
  cr_expect_eq(set(&s, "main", 5, "reactions", "赞", &c), RG_CHANGED);
  cr_expect(rg_settings_view(s.settings, SPAN("main"), 5, &v));
  second = rg_view_keep(&v);
  cr_expect_eq(set(&s, "main", 5, "reactions", "off", &c), RG_CHANGED);
  rg_view_done(&v);
  struct rg_config *next = config_of("endpoints: {}\n");
  rg_settings_use(s.settings, next, NULL);
  rg_config_release(next);
  end(&s);
  cr_expect(second.group->reaction_list.count == 1 &&
            span_is(second.group->reaction_list.items[0], "赞"));
  cr_expect(span_is(second.endpoint->name, "main"));
  rg_view_done(&second);
}

Test(settings, groups_are_listed)
{
  struct scene s;
  struct rg_change c;
  begin(&s, "endpoints: {main: {connect: host, groups: {9: {}}}, other: {connect: ws://x}}\n"
            "groups: {5: {}, 7: {}}\n");
  set(&s, "main", 7, "card", "text", &c);
  set(&s, "main", 3, "card", "text", &c);
  set(&s, "other", 4, "card", "text", &c);
  struct rg_ids ids = rg_settings_groups(s.settings, SPAN("main"), &s.arena);
  static const uint64_t wanted[] = { 3, 5, 7, 9 };
  cr_assert_eq(ids.count, 4);
  for (size_t i = 0; i < 4; i++) cr_expect_eq(ids.items[i], wanted[i]);
  end(&s);
}

Test(settings, many_groups)
{
  struct scene s;
  struct rg_change c;
  begin(&s, MAIN);
  rg_settings_free(s.settings);
  struct rg_config *config = config_of(MAIN);
  s.settings = rg_settings_new(config, NULL, note, &s);
  rg_config_release(config);
  char value[16];
  for (uint64_t g = 1; g <= 3000; g++) {
    snprintf(value, sizeof value, "%llu", (unsigned long long)g + 10);
    cr_assert_eq(set(&s, "main", g, "long_text_chars", value, &c), RG_CHANGED);
  }
  for (uint64_t g = 1; g <= 3000; g++) {
    struct rg_view v;
    cr_assert(rg_settings_view(s.settings, SPAN("main"), g, &v));
    cr_assert_eq(v.group->long_text_chars, g + 10);
    rg_view_done(&v);
  }
  cr_expect_eq(rg_settings_groups(s.settings, SPAN("main"), &s.arena).count, 3000);
  end(&s);
}

/* Several administrators and messages at once, while the file is loaded again. */
static void *change_and_look(void *arg)
{
  struct scene *s = arg;
  struct arena arena;
  arena_init(&arena, 64 << 20);
  for (size_t i = 0; i < 300; i++) {
    struct rg_change c;
    struct rg_view v;
    size_t count;
    const struct rg_key *key = key_of(i % 2 ? "card" : "quote");
    const struct rg_yaml *value =
        rg_value_from_text(key, i % 2 ? SPAN("text") : SPAN("all"), &arena);
    rg_settings_set(s->settings, SPAN("main"), i % 3 + 1, key, value, SPAN("1"), SCHEMA_EN, &arena,
                    &c);
    rg_settings_view(s->settings, SPAN("main"), i % 3 + 1, &v);
    if (v.group->long_text_chars != 1500) abort();
    rg_view_done(&v);
    if (i % 7 == 0)
      rg_settings_reset(s->settings, SPAN("main"), i % 3 + 1, NULL, &count, &arena, &c);
    if (i % 50 == 0) {
      struct rg_config *next = config_of(MAIN);
      rg_settings_use(s->settings, next, NULL);
      rg_config_release(next);
    }
  }
  arena_done(&arena);
  return NULL;
}

Test(settings, many_threads)
{
  struct scene s;
  pthread_t threads[4];
  begin(&s, MAIN);
  struct rg_config *config = config_of(MAIN);
  rg_settings_use(s.settings, config, NULL);
  rg_config_release(config);
  for (size_t i = 0; i < 4; i++)
    cr_assert_eq(pthread_create(&threads[i], NULL, change_and_look, &s), 0);
  for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  end(&s);
}
