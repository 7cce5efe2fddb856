/* Two tables tell what an implementation does: the planner's (onebot/profile.c) and the sandbox's
 * (tests/data/peers), written apart from each other. Every difference between them is listed here
 * and fails, unless the short list below says why it is right. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "onebot/card.h"
#include "onebot/native.h"
#include "onebot/profile.h"
#include "onebot/sandbox/judge.h"
#include "tests/lib/vectors.h"

static const struct {
  const char *profile, *fact, *why;
} explained[] = {
  /* the sandbox plays the document; the planner sends an unknown implementation what all show */
  { "spec", "shows poke", "OneBot 11 has it, few implementations do" },
  { "spec", "shows shake", "the same" },
  { "spec", "shows contact", "the same" },
  { "spec", "shows location", "the same" },
};

static size_t differences, tellings;

static void tell(const struct ob_profile *p, const char *fact, const char *ours, const char *peers)
{
  tellings++;
  if (strcmp(ours, peers) == 0) return;
  for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
    if (strcmp(explained[i].profile, p->name) == 0 && strcmp(explained[i].fact, fact) == 0) return;
  }
  fprintf(stderr, "%s: %s: the planner says %s, the sandbox %s\n", p->name, fact, ours, peers);
  differences++;
}

static void tell_bool(const struct ob_profile *p, const char *fact, bool ours, bool peers)
{
  tell(p, fact, ours ? "yes" : "no", peers ? "yes" : "no");
}

static struct span cell(const struct ob_profile *p, enum ob_table table, const char *row)
{
  return ob_played_cell(p->name, table, span_of(row));
}

static bool cell_is(const struct ob_profile *p, enum ob_table table, const char *row,
                    const char *value)
{
  return span_is(cell(p, table, row), value);
}

static bool in(struct span list, const char *word)
{
  return ob_word_in(list, span_of(word));
}

/* Segments: what the sandbox shows to people. */
static void segments(const struct ob_profile *p)
{
  static const char *const shown = "ok raw known admin random value alone swapped nodes";
  for (int i = 0; i < OB_NATIVE_COUNT; i++) {
    struct span rule = cell(p, OB_TABLE_SEGMENTS, ob_native_types[i].name);
    char fact[64];
    snprintf(fact, sizeof fact, "shows %s", ob_native_types[i].name);
    if (!rule.ptr) rule = cell(p, OB_TABLE_SEGMENTS, "*");
    struct span word = ob_word_next(&rule);
    tell_bool(p, fact, ob_profile_shows(p, (enum ob_native)i), ob_word_in(span_of(shown), word));
  }
}

static void music(const struct ob_profile *p)
{
  static const char *const forms[] = { "none", "platform", "custom", "gocq" };
  static const struct {
    const char *word;
    uint32_t bit;
  } needs[] = { { "title", OB_NEEDS_TITLE },
                { "audio", OB_NEEDS_AUDIO },
                { "image", OB_NEEDS_IMAGE } };
  struct span types = cell(p, OB_TABLE_MUSIC, "types without id");
  bool subtypes = cell(p, OB_TABLE_MUSIC, "subtypes").len > 0;
  const char *form = subtypes              ? "gocq"
                     : in(types, "qq")     ? "platform"
                     : in(types, "custom") ? "custom"
                                           : "none";
  tell(p, "music form", forms[p->music], form);
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    char fact[64];
    snprintf(fact, sizeof fact, "music needs %s", needs[i].word);
    tell_bool(p, fact, p->music_needs & needs[i].bit,
              in(cell(p, OB_TABLE_MUSIC, "wants"), needs[i].word));
  }
  for (int i = 0; i < OB_PLATFORM_COUNT; i++) {
    char fact[64];
    snprintf(fact, sizeof fact, "music by id: %s", ob_apps[i].music);
    tell_bool(p, fact, p->music_ids >> i & 1u,
              in(cell(p, OB_TABLE_MUSIC, "types with id"), ob_apps[i].music));
  }
  tell_bool(p, "music by id: xm", p->music_ids & OB_MUSIC_XM,
            in(cell(p, OB_TABLE_MUSIC, "types with id"), "xm"));
}

static void facts(const struct ob_profile *p)
{
  static const char *const reactions[] = { "", "set_msg_emoji_like", "set_group_reaction" };
  static const char *const files[] = { "none", "segment", "upload" };
  struct span name = cell(p, OB_TABLE_FACTS, "app_name");
  bool has_upload = cell_is(p, OB_TABLE_ACTIONS, "upload_group_file", "yes");
  bool has_file = cell_is(p, OB_TABLE_SEGMENTS, "file", "ok");
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)cell(p, OB_TABLE_FACTS, "reaction").len,
           cell(p, OB_TABLE_FACTS, "reaction").ptr);
  tell(p, "reaction", reactions[p->reaction], word);
  tell_bool(p, "reaction needs result", p->reaction_result,
            cell_is(p, OB_TABLE_FACTS, "reaction_unknown", "result"));
  tell(p, "detected as", ob_profile_detect(name)->name, p->name);
  tell(p, "file", files[p->file], has_file ? "segment" : has_upload ? "upload" : "none");
  tell_bool(p, "share swaps", p->share_swaps, cell_is(p, OB_TABLE_SEGMENTS, "share", "swapped"));
  tell_bool(p, "mentions a person", p->mention_person, cell_is(p, OB_TABLE_SEGMENTS, "at", "ok"));
  tell_bool(p, "opaque media", p->opaque_media, cell_is(p, OB_TABLE_FILES, "name", "known"));
  tell_bool(p, "base64 video", p->base64_video, cell_is(p, OB_TABLE_FILES, "base64 video", "ok"));
  tell_bool(p, "ids of 32 bits", p->id_uint32, cell_is(p, OB_TABLE_FACTS, "id_max", "4294967295"));
  tell_bool(p, "reply by seq", p->reply_seq, in(cell(p, OB_TABLE_FIELDS, "reply"), "seq:n"));
  tell_bool(p, "forwards", p->forward,
            cell_is(p, OB_TABLE_ACTIONS, "send_group_forward_msg", "yes"));
  tell_bool(p, "send_forward_msg only uploads", p->forward_only_uploads,
            cell_is(p, OB_TABLE_FACTS, "send_forward", "id only"));
  tell_bool(p, "messages of nodes", p->node_message,
            cell_is(p, OB_TABLE_SEGMENTS, "node", "nodes"));
  tell_bool(p, "nodes need a user", p->node_needs_user,
            in(cell(p, OB_TABLE_FIELDS, "node"), "uin|user_id:s!"));
  char frame[32];
  snprintf(frame, sizeof frame, "%zu", p->frame_max);
  tell(p, "largest frame", frame,
       p->frame_max == 52428800                       ? "52428800"
       : cell_is(p, OB_TABLE_FACTS, "frame_max", "0") ? "0"
                                                      : "another");
  tell_bool(p, "frame is 50 MiB", p->frame_max == 52428800,
            cell_is(p, OB_TABLE_FACTS, "frame_max", "52428800"));
}

Test(sandbox_tables, planner_and_sandbox_agree)
{
  for (int i = 0; i < OB_PROFILE_COUNT; i++) {
    const struct ob_profile *p = &ob_profiles[i];
    cr_assert(ob_played_find(span_of(p->name)), "%s is not played", p->name);
    segments(p);
    music(p);
    facts(p);
  }
  cr_expect_gt(tellings, 200, "%zu facts compared", tellings);
  cr_expect_eq(differences, 0, "%zu unexplained differences, see above", differences);
}

Test(sandbox_tables, both_know_the_same_apps)
{
  for (int i = 0; i < OB_PLATFORM_COUNT; i++) {
    const struct ob_app *ours = &ob_apps[i];
    struct ob_played_app app = ob_played_app_by_type(span_of(ours->music));
    char appid[16];
    snprintf(appid, sizeof appid, "%u", ours->appid);
    cr_expect(span_is(app.appid, appid), "%s", ours->name);
    cr_expect(span_is(app.package, ours->package), "%s", ours->name);
    cr_expect(span_is(app.sign, ours->sign), "%s", ours->name);
    cr_expect(span_is(app.tag, ours->tag), "%s", ours->name);
    cr_expect(span_is(ob_played_app_by_id(app.appid).type, ours->music));
  }
}

/* ---- the planner's vectors, sent to the sandbox ---- */

/* Why a planned send is not simply shown: what the vector's people and files are to this sandbox. */
static const struct {
  const char *text, *why;
} usual[] = {
  { "Get Uid Error", "the account of the vector is not in the demo group" },
  { "mention of a stranger", "the same" },
  { "mention of nobody", "the same on LLBot" },
  { "dropped: at", "@all where the bot is no admin" },
  { "@all as text", "the same on go-cqhttp" },
  { "文件处理失败", "the file of the vector is not on this machine" },
  { "file not found", "the same on go-cqhttp" },
  { "unknown id: reply", "the quoted message is not in the chat" },
  { "json without a signature", "card: ark sends what the operator signs himself" },
};

static bool is_usual(struct span said)
{
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (span_find(said, span_of(usual[i].text)) < said.len) return true;
  return false;
}

/* Only the machine of the implementation can judge such a file, or such a name. */
static bool elsewhere(struct span params)
{
  return span_find(params, SPAN("file:///")) < params.len ||
         span_find(params, SPAN("://")) == params.len;
}

static size_t sent;

static void send(const char *id, const char *played, const struct schema_node *action,
                 struct ob_world *world, struct arena *arena)
{
  struct span name = schema_tree_string(schema_tree_get(action, "action"));
  const struct schema_node *params = schema_tree_get(action, "params");
  const struct schema_node *message = schema_tree_get(params, "message");
  if (!message) {
    cr_expect(span_is(ob_played_cell(played, OB_TABLE_ACTIONS, name), "yes"),
              "%s: %.*s is not an action of %s", id, (int)name.len, name.ptr, played);
    return;
  }
  struct ob_judge j;
  ob_judge_init(&j, played, world, arena);
  j.group = span_is(name, "send_group_msg") ? 123456789 : 0;
  j.user = j.group ? 0 : 10001;
  ob_judge_message(&j, message, false);
  sent++;
  struct span text = buf_span(&j.text), notes = buf_span(&j.notes), raw = params->raw;
  cr_expect(!j.refused || elsewhere(raw) || is_usual(text), "%s: %s refuses with %d %.*s: %.*s", id,
            played, (int)j.retcode, (int)text.len, text.ptr ? text.ptr : "", (int)raw.len, raw.ptr);
  cr_expect(j.refused || span_is(notes, "[]") || is_usual(notes), "%s: %s notes %.*s: %.*s", id,
            played, (int)notes.len, notes.ptr, (int)raw.len, raw.ptr);
  ob_judge_done(&j);
}

/* Sends the expected actions of each row whose verdict (where it has one) is replace. */
static void send_rows(const char *file)
{
  struct vectors v;
  struct ob_world world;
  cr_assert(vectors_open(&v, file));
  ob_world_init(&world, 1);
  for (struct schema_node *row; (row = vectors_next(&v));) {
    char id[64];
    struct span name = vectors_string(row, "id");
    snprintf(id, sizeof id, "%.*s", (int)name.len, name.ptr);
    const char *played = ob_played_find(vectors_string(row, "profile"));
    const struct schema_node *expect = schema_tree_get(row, "expect");
    const struct schema_node *actions = schema_tree_get(expect, "actions");
    struct span verdict = vectors_string(expect, "verdict");
    if (!actions || !played || (verdict.ptr && !span_is(verdict, "replace"))) continue;
    for (const struct schema_node *a = actions->first; a; a = a->next)
      send(id, played, a, &world, &v.arena);
  }
  ob_world_done(&world);
  vectors_close(&v);
}

Test(sandbox_tables, what_is_planned_is_shown)
{
  send_rows("plan");
  cr_expect_gt(sent, 100, "%zu sends", sent);
}

Test(sandbox_tables, what_the_gate_rewrites_is_shown)
{
  send_rows("action");
  cr_expect_gt(sent, 30, "%zu sends", sent);
}
