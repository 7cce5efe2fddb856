/* history: see history.h. */
#include "plugin/admin/history.h"

#include <stdlib.h>

#include "plugin/delivery/preview.h"

enum { WORDS_MAX = 120 }; /* bytes of a reply's text that are kept: enough to recognise it */

/* One ended turn. */
struct rg_past {
  time_t when;
  const char *ending, *reason, *verdict, *code; /* words; reason, verdict and code may be NULL */
  char path[SCHEMA_PATH_MAX];
  char words[WORDS_MAX + 1]; /* "" where the group keeps its words private */
  struct span *sent;         /* message ids, one allocation with their bytes behind them; kept for
                                the next turn in this place */
  size_t sent_count;
};

/* The i-th, counted from the newest. */
static struct rg_past *past_at(const struct rg_history *h, size_t i)
{
  return &h->items[(h->newest + RG_HISTORY_MAX - i) % RG_HISTORY_MAX];
}

/* Room for so many ids of so many bytes. */
static bool sent_room(struct rg_past *p, size_t count, size_t bytes)
{
  struct span *room = realloc(p->sent, count * sizeof *room + bytes);
  if (room) p->sent = room;
  return room != NULL;
}

/* Copies the ids of what was sent; none where memory is short. */
static void sent_copy(struct rg_past *p, const struct rg_job *job)
{
  size_t count = 0, bytes = 0;
  for (size_t i = 0; i < job->plan.count; i++) {
    count += job->parts[i].message_id.len > 0;
    bytes += job->parts[i].message_id.len;
  }
  if (count == 0 || !sent_room(p, count, bytes)) return;
  char *at = (char *)(p->sent + count);
  for (size_t i = 0; i < job->plan.count; i++) {
    struct span id = job->parts[i].message_id;
    if (id.len == 0) continue;
    memcpy(at, id.ptr, id.len);
    p->sent[p->sent_count++] = (struct span) { at, id.len };
    at += id.len;
  }
}

static void words_copy(struct rg_past *p, const struct rg_job *job)
{
  if (job->view.group->privacy || job->course != RG_COURSE_DELIVER) return;
  struct buf text;
  buf_init(&text, RG_TEXT_MAX);
  rg_preview(&job->reply, &text);
  size_t len = text.len < WORDS_MAX ? text.len : WORDS_MAX;
  len = span_utf8_fault((struct span) { text.ptr, len });
  for (size_t i = 0; i < len; i++) p->words[i] = text.ptr[i] == '\n' ? ' ' : text.ptr[i];
  buf_done(&text);
}

/* A new item in front of the others; NULL: no memory. */
static struct rg_past *past_new(struct rg_history *h, const char *ending,
                                const struct schema_error *error, uint64_t now_ms)
{
  if (!h->items) h->items = calloc(RG_HISTORY_MAX, sizeof *h->items);
  if (!h->items) return NULL;
  h->newest = (h->newest + 1) % RG_HISTORY_MAX;
  if (h->count < RG_HISTORY_MAX) h->count++;
  h->until_ms = now_ms + RG_HISTORY_MS;

  struct rg_past *p = &h->items[h->newest];
  *p = (struct rg_past) { .when = time(NULL), .ending = ending, .sent = p->sent };
  if (error && error->code != SCHEMA_OK) {
    p->code = schema_code_word(error->code);
    memcpy(p->path, error->path, sizeof p->path);
  }
  return p;
}

void rg_history_note(struct rg_history *h, struct span message_id, const char *ending,
                     const struct schema_error *error, uint64_t now_ms)
{
  struct rg_past *p = past_new(h, ending, error, now_ms);
  if (!p || message_id.len == 0 || !sent_room(p, 1, message_id.len)) return;
  char *at = (char *)(p->sent + 1);
  memcpy(at, message_id.ptr, message_id.len);
  p->sent[0] = (struct span) { at, message_id.len };
  p->sent_count = 1;
}

void rg_history_add(struct rg_history *h, const struct rg_job *job, const char *ending,
                    uint64_t now_ms)
{
  struct rg_past *p = past_new(h, ending, &job->error, now_ms);
  if (!p) return;
  p->reason = job->stopped;
  if (job->has_verdict) p->verdict = schema_verdict_word(job->judgement.verdict);
  sent_copy(p, job);
  words_copy(p, job);
}

void rg_history_done(struct rg_history *h)
{
  for (size_t i = 0; i < h->count; i++) free(past_at(h, i)->sent);
  free(h->items);
  *h = (struct rg_history) { .items = NULL };
}

static void write_past(const struct rg_past *p, bool words, enum schema_language language,
                       struct buf *out)
{
  char clock[16];
  struct tm parts;
  localtime_r(&p->when, &parts);
  strftime(clock, sizeof clock, "%H:%M:%S", &parts);
  buf_printf(out, "%s %s", clock, p->ending);
  if (p->verdict) buf_printf(out, language == SCHEMA_EN ? ", verdict %s" : "，判定 %s", p->verdict);
  if (p->reason) buf_printf(out, ", %s", p->reason);
  if (p->code) buf_printf(out, ", %s %s", p->code, p->path);
  if (words && p->words[0]) buf_printf(out, ": %s", p->words);
}

void rg_history_write(const struct rg_history *h, bool words, enum schema_language language,
                      struct buf *out)
{
  for (size_t i = 0; i < h->count; i++) {
    if (i > 0) buf_add_char(out, '\n');
    write_past(past_at(h, i), words, language, out);
  }
}

bool rg_history_knows(const struct rg_history *h, struct span message_id)
{
  for (size_t i = 0; i < h->count; i++) {
    const struct rg_past *p = past_at(h, i);
    for (size_t k = 0; k < p->sent_count; k++)
      if (span_eq(p->sent[k], message_id)) return true;
  }
  return false;
}

size_t rg_history_take_sent(struct rg_history *h, const struct span **ret)
{
  for (size_t i = 0; i < h->count; i++) {
    struct rg_past *p = past_at(h, i);
    size_t count = p->sent_count;
    if (count == 0) continue;
    *ret = p->sent;
    p->sent_count = 0; /* the bytes stay until the entry goes */
    return count;
  }
  return 0;
}
