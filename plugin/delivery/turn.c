/* turn: see turn.h. */
#include "plugin/delivery/turn.h"

#include <stdlib.h>

#include "onebot/longtext.h"
#include "plugin/delivery/notice.h"
#include "plugin/media/media_ref.h"
#include "schema/payload.h"

enum {
  /* the text, what was read from it, and the frames that it becomes */
  JOB_ARENA_MAX = 2 * RG_TEXT_MAX + SCHEMA_REPLY_ARENA_MAX + RG_TEXT_MAX,
  MEDIA_MS = 10 * 1000,           /* and what moving the bytes takes */
  MEDIA_BYTES_PER_S = 128 * 1024, /* half of what NapCat counts with */
  MEDIA_MS_MAX = 30 * 60 * 1000,  /* NapCat's own cap */
};

static const struct span none = { NULL, 0 };

static struct span bytes_copy(struct arena *a, struct rg_bytes b)
{
  return b.len > 0 ? arena_copy(a, (struct span) { b.ptr, b.len }) : none;
}

/* Whether the group lets through what does not pass: switched off, or only watched. */
static bool lets_through(const struct rg_group *group)
{
  return !group->enabled || group->mode == RG_MODE_OBSERVE;
}

/* A folder that is worth hiding: "/" would be in every path. */
static struct span folder(struct span path)
{
  return path.len > 1 ? path : none;
}

struct ob_plan_settings rg_plan_settings(const struct rg_view *view, struct span home)
{
  const struct rg_group *group = view->group;
  struct ob_plan_settings s = ob_plan_settings_default();
  s.language = view->config->language;
  s.mention_all = group->mention_all;
  s.share_platforms = group->share_platforms;
  s.card = group->card;
  s.reactions = group->reactions;
  if (!group->reactions_handy) {
    s.reaction_list = group->reaction_list.items;
    s.reaction_list_count = group->reaction_list.count;
  }
  s.roots = group->media.roots.items;
  s.root_count = group->media.roots.count;
  for (size_t i = 0; i < s.root_count; i++) {
    if (span_eq(s.roots[i], home)) s.home = home;
  }
  return s;
}

struct schema_directive_options rg_directive_options(const struct rg_group *group,
                                                     struct span message_id)
{
  return (struct schema_directive_options) {
    .current_message_id = message_id,
    .media_lines = group->directives.media_lines,
    .markdown_images = group->directives.markdown_images,
  };
}

/* ---- how a text is read ---- */

enum {
  ASKED_KEPT = 1, /* the bits of a packed one; its output stands behind them */
  ASKED_DIRECTIVES = 2,
  ASKED_MEDIA_LINES = 4,
  ASKED_MARKDOWN_IMAGES = 8,
  ASKED_OUTPUT = 16,
};

uint32_t rg_asked_pack(const struct rg_asked *r)
{
  return ASKED_KEPT | (r->directives ? ASKED_DIRECTIVES : 0) |
         (r->media_lines ? ASKED_MEDIA_LINES : 0) |
         (r->markdown_images ? ASKED_MARKDOWN_IMAGES : 0) | (uint32_t)r->output * ASKED_OUTPUT;
}

bool rg_asked_unpack(uint32_t packed, struct rg_asked *ret)
{
  uint32_t output = packed / ASKED_OUTPUT;
  if ((packed & ASKED_KEPT) == 0 || output > RG_OUTPUT_SCHEMA) return false;
  *ret = (struct rg_asked) {
    .output = (enum rg_output)output,
    .directives = (packed & ASKED_DIRECTIVES) != 0,
    .media_lines = (packed & ASKED_MEDIA_LINES) != 0,
    .markdown_images = (packed & ASKED_MARKDOWN_IMAGES) != 0,
  };
  return true;
}

static struct rg_asked asked_of(const struct rg_group *group)
{
  return (struct rg_asked) {
    .output = group->output,
    .directives = group->directives.enabled,
    .media_lines = group->directives.media_lines,
    .markdown_images = group->directives.markdown_images,
  };
}

/* Which schema the answer is to have: the group's, else the turn's, else none but the reply's
 * (response-schema.md 122). What an earlier process chose comes as the turn's. False: the turn's is
 * none. */
static bool schema_choose(struct rg_job *job, const struct rg_job_input *in, struct buf *why)
{
  const struct rg_turn *turn = in->turn;
  struct arena notes;
  struct span fault;
  if (job->kind == RG_KIND_NOTICE) return true;
  if (!in->asked && job->group->output == RG_OUTPUT_SCHEMA) {
    job->wanted = job->group->output_schema;
    return true;
  }
  if (turn->schema.len == 0) return true;
  arena_init(&notes, 4 * RG_SCHEMA_MAX);
  job->wanted.text = bytes_copy(&job->arena, turn->schema);
  bool made = job->wanted.text.ptr &&
              rg_schema_read(job->wanted.text, &job->arena, &notes, &job->wanted.tree, &fault);
  if (!made && job->wanted.text.ptr && why) buf_add(why, fault);
  arena_done(&notes);
  return made;
}

struct rg_job *rg_job_new(const struct rg_job_input *in, struct buf *why)
{
  struct rg_job *job = calloc(1, sizeof *job);
  if (!job) return NULL;
  arena_init(&job->arena, JOB_ARENA_MAX);
  const struct rg_turn *turn = in->turn;
  job->timing = in->timing ? in->timing : &rg_timing;
  job->kind = turn->kind;
  job->view = rg_view_keep(in->view);
  job->group = job->view.group;
  job->asked = in->asked ? *in->asked : asked_of(job->group);
  job->text = arena_copy(&job->arena, in->text);
  job->target.group_id = bytes_copy(&job->arena, turn->group_id);
  job->target.user_id = bytes_copy(&job->arena, turn->user_id);
  job->sender_id = bytes_copy(&job->arena, turn->sender_id);
  if (turn->kind == RG_KIND_ANSWER) job->message_id = bytes_copy(&job->arena, turn->message_id);
  struct span home = arena_copy(&job->arena, in->home);
  job->settings = rg_plan_settings(&job->view, home);
  job->hide.home = folder(home);
  job->hide.project = folder(job->view.config->folder);
  if (!schema_choose(job, in, why) || job->arena.failed) {
    rg_job_free(job);
    return NULL;
  }
  return job;
}

bool rg_job_fit(struct rg_job *job, const struct rg_peer *peer)
{
  job->peer = *peer;
  job->settings.card = peer->cards_as_text ? OB_CARD_TEXT : job->group->card;
  bool answers = job->message_id.len > 0 && job->target.group_id.len > 0;
  ob_plan_offer(&peer->profile, &job->settings, job->group->segments,
                job->group->reactions && answers, &job->arena, &job->offer);
  job->directives = rg_directive_options(job->group, job->message_id);
  job->directives.media_lines = job->asked.media_lines;
  job->directives.markdown_images = job->asked.markdown_images;
  if (job->asked.directives) job->offer.directives = &job->directives;
  return !job->arena.failed;
}

void rg_job_free(struct rg_job *job)
{
  if (!job) return;
  rg_view_done(&job->view);
  arena_done(&job->arena);
  free(job);
}

/* text without the control characters that no chat shows, trimmed; *ret in the arena. */
static enum schema_code plain_text(struct arena *arena, struct span text, struct span *ret,
                                   struct schema_error *reterr)
{
  size_t fault = span_utf8_fault(text);
  if (fault < text.len) return schema_fail(reterr, SCHEMA_EUTF8, fault, NULL, NULL);
  char *copy = arena_alloc(arena, text.len + 1);
  if (!copy) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  size_t n = 0;
  for (size_t i = 0; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if ((c >= ' ' && c != 0x7F) || c == '\n' || c == '\t') copy[n++] = text.ptr[i];
  }
  *ret = span_trim((struct span) { copy, n });
  if (ret->len == 0) return schema_fail(reterr, SCHEMA_EEMPTY, 0, NULL, NULL);
  return SCHEMA_OK;
}

/* A reply of one text. */
static enum schema_code plain_reply(struct rg_job *job, struct span text, struct schema_reply *ret,
                                    struct schema_error *reterr)
{
  struct span clean;
  enum schema_code code = plain_text(&job->arena, text, &clean, reterr);
  if (code != SCHEMA_OK) return code;
  struct schema_segment *segment = arena_zalloc(&job->arena, 1, sizeof *segment);
  struct schema_message *message = arena_zalloc(&job->arena, 1, sizeof *message);
  if (!segment || !message) return schema_fail(reterr, SCHEMA_ENOMEM, 0, NULL, NULL);
  segment->type = SCHEMA_TEXT;
  segment->text = clean;
  *message = (struct schema_message) { .segments = segment, .count = 1 };
  *ret = (struct schema_reply) { .messages = message, .count = 1 };
  return SCHEMA_OK;
}

/* Which messages quote: the setting `quote` for what a message answers, and the targets that the
 * directives of the answer name (rich-output.md 191 to 194). */
static bool quote_fill(struct rg_job *job)
{
  static const enum schema_reply_mode modes[] = {
    [RG_QUOTE_NEVER] = SCHEMA_REPLY_OFF,
    [RG_QUOTE_FIRST] = SCHEMA_REPLY_FIRST,
    [RG_QUOTE_ALL] = SCHEMA_REPLY_ALL,
  };
  enum schema_reply_mode mode = modes[job->group->quote];
  if (mode == SCHEMA_REPLY_OFF && job->quoted) mode = SCHEMA_REPLY_FIRST;
  struct schema_message *messages = arena_zalloc(&job->arena, job->reply.count, sizeof *messages);
  if (job->reply.count > 0 && !messages) return false;
  bool used = false;
  for (size_t i = 0; i < job->reply.count; i++) {
    struct schema_message *m = &messages[i];
    *m = job->reply.messages[i];
    /* what the action itself quotes goes before a tag in its words (rich-output.md 175) */
    bool named = m->reply_to.len > 0 && !(job->quoted && i == 0);
    if (!named && m->count > 0) m->reply_to = job->message_id;
    if (!schema_reply_mode_keeps(mode, true, m->reply_to.len > 0, named, &used)) m->reply_to = none;
  }
  job->reply.messages = messages;
  return true;
}

/* Whether a segment has a reference of which something shows without looking at the bytes. */
static bool has_reference(const struct schema_segment *s)
{
  return schema_segment_types[s->type].shape == SCHEMA_SHAPE_MEDIA &&
         (s->media_kind == SCHEMA_MEDIA_URL || s->media_kind == SCHEMA_MEDIA_PATH);
}

static bool has_references(const struct schema_message *m)
{
  bool found = false;
  for (size_t i = 0; !found && i < m->count; i++) found = has_reference(&m->segments[i]);
  return found;
}

/* Makes a path absolute; empties a reference that may not be used. */
static void reference_judge(struct rg_job *job, struct schema_segment *s)
{
  const struct rg_group *group = job->group;
  const char *fault;
  if (s->media_kind == SCHEMA_MEDIA_PATH) {
    fault = rg_media_path_fault(&group->media.roots, job->settings.home, s->text, &job->arena,
                                &s->text);
  } else {
    fault = rg_media_url_fault(group, job->judgement.rich.media, s->text);
  }
  if (!fault) return;
  s->media_kind = SCHEMA_MEDIA_URL;
  s->text = none;
}

static bool message_judge(struct rg_job *job, struct schema_message *m)
{
  struct schema_segment *segments = arena_zalloc(&job->arena, m->count, sizeof *segments);
  if (!segments) return false;
  for (size_t i = 0; i < m->count; i++) {
    segments[i] = m->segments[i];
    if (has_reference(&segments[i])) reference_judge(job, &segments[i]);
  }
  m->segments = segments;
  return true;
}

/* Media that may not be used become empty references, which the plan shows as its notice. */
static bool media_guard(struct rg_job *job)
{
  struct schema_message *messages = NULL;
  for (size_t m = 0; m < job->reply.count; m++) {
    if (!has_references(&job->reply.messages[m])) continue;
    if (!messages) {
      messages = arena_zalloc(&job->arena, job->reply.count, sizeof *messages);
      if (!messages) return false;
      memcpy(messages, job->reply.messages, job->reply.count * sizeof *messages);
      job->reply.messages = messages;
    }
    if (!message_judge(job, &messages[m])) return false;
  }
  return true;
}

/* Whether a text beyond `long_text_chars` refuses the reply. */
static bool too_long(const struct rg_job *job)
{
  size_t limit = job->group->long_text_chars;
  if (job->group->long_text != RG_LONG_REFUSE) return false;
  for (size_t m = 0; m < job->reply.count; m++) {
    const struct schema_message *message = &job->reply.messages[m];
    size_t chars = 0;
    for (size_t i = 0; i < message->count; i++) {
      enum schema_type type = message->segments[i].type;
      if (type != SCHEMA_TEXT && type != SCHEMA_MARKDOWN) continue;
      chars += span_chars(message->segments[i].text);
    }
    if (chars > limit) return true;
  }
  return false;
}

/* The plan of a reply, with what is too long for one message cut or forwarded. */
static enum schema_code plan_make(struct rg_job *job, const struct schema_reply *reply,
                                  struct span message_id, struct ob_plan *ret,
                                  struct schema_error *reterr)
{
  const struct ob_author self = { .user_id = span_of(job->peer.self_id) };
  enum ob_long_form form =
      job->group->long_text == RG_LONG_FORWARD ? OB_LONG_FORWARD : OB_LONG_SPLIT;
  enum schema_code code = ob_plan_make(&job->peer.profile, &job->target, message_id, &job->settings,
                                       reply, &job->arena, ret, reterr);
  if (code != SCHEMA_OK) return code;
  code = ob_longtext_apply(&job->peer.profile, &job->target, form, job->group->long_text_chars,
                           &self, ret, &job->arena, ret);
  return code == SCHEMA_OK ? code : schema_fail(reterr, code, 0, NULL, NULL);
}

static void refuse(struct rg_job *job, enum schema_code code)
{
  job->error.code = code;
  job->course = RG_COURSE_REFUSED;
  job->plan = (struct ob_plan) { .steps = NULL };
  job->parts = NULL;
}

/* Takes a plan over as what is to be sent. */
static bool plan_take(struct rg_job *job, const struct ob_plan *plan)
{
  struct rg_part *parts = arena_zalloc(&job->arena, plan->count, sizeof *parts);
  if (plan->count > 0 && !parts) return false;
  job->plan = *plan;
  job->parts = parts;
  job->step = 0;
  return true;
}

bool rg_job_take_plan(struct rg_job *job, const struct ob_plan *plan)
{
  struct ob_step *steps = arena_zalloc(&job->arena, plan->count, sizeof *steps);
  if (plan->count > 0 && !steps) return false;
  for (size_t i = 0; i < plan->count; i++) {
    steps[i] = plan->steps[i];
    steps[i].action = arena_copy(&job->arena, steps[i].action);
    steps[i].params = arena_copy(&job->arena, steps[i].params);
    steps[i].card_text = arena_copy(&job->arena, steps[i].card_text);
  }
  job->judged = job->given = true;
  job->course = RG_COURSE_DELIVER;
  return !job->arena.failed && plan_take(job, &(struct ob_plan) { steps, plan->count });
}

/* Plans the reply as it stands now. */
static void plan_now(struct rg_job *job)
{
  struct ob_plan plan = { .steps = NULL };
  enum schema_code code = SCHEMA_OK;
  if (too_long(job)) {
    code = schema_fail(&job->error, SCHEMA_ETOOLONG, 0, NULL, "longer than long_text_chars");
  }
  if (code == SCHEMA_OK) code = plan_make(job, &job->reply, job->message_id, &plan, &job->error);
  if (code == SCHEMA_OK && !plan_take(job, &plan)) code = SCHEMA_ENOMEM;
  if (code != SCHEMA_OK) {
    refuse(job, code);
    return;
  }
  job->course = RG_COURSE_DELIVER;
}

/* A reply with media is planned all the same: what the plan refuses needs no look at its media. */
static void plan_reply(struct rg_job *job)
{
  if (!media_guard(job) || !quote_fill(job)) {
    refuse(job, SCHEMA_ENOMEM);
    return;
  }
  plan_now(job);
  if (job->course == RG_COURSE_DELIVER && rg_media_needed(job->group, &job->reply))
    job->course = RG_COURSE_MEDIA;
}

void rg_job_media_done(struct rg_job *job)
{
  if (!job->media_reply) {
    refuse(job, SCHEMA_ENOMEM);
    return;
  }
  job->reply = *job->media_reply;
  plan_now(job);
}

static void plan_plain(struct rg_job *job)
{
  enum schema_code code = plain_reply(job, job->text, &job->reply, &job->error);
  if (code == SCHEMA_OK) {
    plan_reply(job);
  } else {
    refuse(job, code);
  }
}

void rg_job_fail(struct rg_job *job, enum schema_code code, const char *what)
{
  job->judged = true;
  refuse(job, schema_fail(&job->error, code, 0, "$", what));
}

/* The document as people see it: one text, its secrets masked. */
static enum schema_code document_reply(struct rg_job *job, struct span text)
{
  struct schema_repairs masked = { .count = 0 };
  struct span shown = span_trim(text);
  if (schema_leak_mask(shown, &job->hide, 0, &job->arena, &masked, &shown) == SCHEMA_LEAK_NOMEM)
    return SCHEMA_ENOMEM;
  enum schema_code code = plain_reply(job, shown, &job->reply, &job->error);
  job->judgement.reply = job->reply;
  return code;
}

/* The document that a schema asks for, or the reason why there is none: it is not asked for again
 * (response-schema.md 56, 63, 137). */
static void judge_document(struct rg_job *job)
{
  enum schema_document_verdict verdict = SCHEMA_DOCUMENT_INVALID;
  struct schema_misfit misfit = { { NULL, 0 }, { NULL, 0 } };
  enum schema_code code = SCHEMA_OK;
  if (job->wanted.tree)
    code = schema_document_judge(job->wanted.tree, none, none, job->text, &job->arena, &verdict,
                                 &misfit);
  else
    misfit.why = SPAN("the file of output_schema was not read");
  if (code == SCHEMA_OK && verdict == SCHEMA_DOCUMENT_OK)
    code = document_reply(job, job->text);
  else if (code == SCHEMA_OK)
    code = SCHEMA_EINVALIDJSON;
  job->has_verdict = true;
  job->judgement.verdict = code == SCHEMA_OK ? SCHEMA_ACCEPT : SCHEMA_BLOCK;
  if (code != SCHEMA_OK) {
    struct span path = arena_copy(&job->arena, misfit.path);
    schema_fail(&job->error, code, 0, path.len > 0 ? path.ptr : "$", misfit.why.ptr);
    refuse(job, code);
    return;
  }
  job->document = job->text;
  plan_reply(job);
}

static void judge_text(struct rg_job *job, struct span text)
{
  /* what was unwrapped for a framework is a reply, whatever the group's own model answers with */
  bool words = (job->asked.output == RG_OUTPUT_TEXT && !job->foreign) || job->words;
  job->has_verdict = true;
  (words ? schema_judge_words : schema_judge)(&job->offer, &job->hide, text, &job->arena,
                                              &job->judgement);
  job->error = job->judgement.error;
  switch (job->judgement.verdict) {
  case SCHEMA_ACCEPT:
  case SCHEMA_REPAIR:
    job->reply = job->judgement.reply;
    if (job->shown && job->judgement.rich.media &&
        !rg_shown_drop(job->shown, &job->reply, &job->arena))
      refuse(job, SCHEMA_ENOMEM);
    else
      plan_reply(job);
    return;
  case SCHEMA_CORRECT: job->course = RG_COURSE_CORRECT; return;
  case SCHEMA_BLOCK: refuse(job, job->error.code); return;
  }
}

bool rg_job_wants_document(const struct rg_job *job)
{
  bool asked = job->wanted.tree || job->asked.output == RG_OUTPUT_SCHEMA;
  return asked && job->kind != RG_KIND_NOTICE && !job->foreign && !job->words;
}

void rg_job_judge(struct rg_job *job)
{
  job->judged = true;
  if (!job->own && !job->group->enabled && job->group->off_means == RG_OFF_MUTE) {
    job->course = RG_COURSE_SILENT;
  } else if (job->kind == RG_KIND_NOTICE) {
    plan_plain(job);
  } else {
    if (rg_job_wants_document(job))
      judge_document(job);
    else
      judge_text(job, job->text);
    bool held = job->course == RG_COURSE_CORRECT || job->course == RG_COURSE_REFUSED;
    if (held && lets_through(job->group)) plan_plain(job);
  }
}

void rg_job_judge_again(struct rg_job *job, struct span text)
{
  struct span kept = arena_copy(&job->arena, text);
  if (text.len > 0 && !kept.ptr) {
    refuse(job, SCHEMA_ENOMEM);
    return;
  }
  judge_text(job, kept);
  if (job->course == RG_COURSE_CORRECT) refuse(job, job->error.code);
}

bool rg_job_plan_text(struct rg_job *job, struct span text, struct ob_plan *ret)
{
  struct schema_reply reply;
  struct schema_error ignored;
  return plain_reply(job, text, &reply, &ignored) == SCHEMA_OK &&
         plan_make(job, &reply, none, ret, &ignored) == SCHEMA_OK;
}

bool rg_job_plan_notice(struct rg_job *job)
{
  struct span text = rg_notice_text(job->group, job->view.config->language);
  struct ob_plan plan;
  if (job->kind != RG_KIND_ANSWER || text.len == 0) return false;
  if (!rg_job_plan_text(job, text, &plan) || !plan_take(job, &plan)) return false;
  job->is_notice = true;
  return true;
}

static size_t message_chars(const struct ob_plan *plan, size_t message)
{
  size_t chars = 0;
  for (size_t i = 0; i < plan->count; i++) {
    const struct ob_step *s = &plan->steps[i];
    if (s->kind != OB_STEP_REACTION && s->message == message) chars += s->chars;
  }
  return chars;
}

unsigned rg_plan_pause_ms(const struct rg_group *group, const struct ob_plan *plan, size_t step)
{
  const struct ob_step *s = &plan->steps[step];
  if (step == 0 || s[-1].kind == OB_STEP_REACTION) return 0;
  double seconds = group->pace.min;
  if (s[-1].message != s->message) {
    double wanted = group->pace.per_char * (double)message_chars(plan, s->message);
    if (wanted > seconds) seconds = wanted;
    if (seconds > group->pace.max) seconds = group->pace.max;
  }
  return (unsigned)(seconds * 1000);
}

unsigned rg_job_pause_ms(const struct rg_job *job, size_t step)
{
  return rg_plan_pause_ms(job->group, &job->plan, step);
}

/* Bytes that the peer moves for a message: those within the frame, or the most that is allowed
 * where it fetches them itself. 0: no media. */
static uint64_t media_bytes(const struct rg_job *job, const struct ob_step *step)
{
  if (job->is_notice || step->message >= job->reply.count) return 0;
  const struct schema_message *m = &job->reply.messages[step->message];
  uint64_t bytes = 0;
  for (size_t i = 0; i < m->count; i++) {
    const struct schema_segment *s = &m->segments[i];
    if (schema_segment_types[s->type].shape != SCHEMA_SHAPE_MEDIA) continue;
    uint64_t own = s->media_kind == SCHEMA_MEDIA_BASE64 ? s->text.len : job->group->media.max_bytes;
    if (own > bytes) bytes = own;
  }
  return bytes;
}

unsigned rg_job_timeout_ms(const struct rg_job *job, size_t step)
{
  const struct ob_step *s = &job->plan.steps[step];
  if (s->kind == OB_STEP_REACTION) return job->timing->reaction;
  if (job->given) return MEDIA_MS + job->timing->send; /* whoever waits for it waits no longer */
  uint64_t bytes = media_bytes(job, s);
  uint64_t ms = bytes > 0 ? MEDIA_MS + bytes / MEDIA_BYTES_PER_S * 1000 : 0;
  if (ms < job->timing->send) return job->timing->send;
  return ms > MEDIA_MS_MAX ? MEDIA_MS_MAX : (unsigned)ms;
}
