/* submit: see submit.h. What happens to a turn on the caller's thread: its arguments, what holds for
 * its chat, its judging, its place in the queue; then the service thread has it. */
#include "plugin/submit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "onebot/id.h"
#include "plugin/crash.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/recovery.h"
#include "plugin/delivery/result.h"

enum { CONTRACT_MAX = 1024 * 1024 }; /* 10 KiB with every type and all faces */

static struct span span_from(struct rg_bytes b)
{
  return (struct span) { b.ptr, b.len };
}

/* The caller's table may be older and shorter than ours. */
static bool turn_read(const struct rg_turn *turn, struct rg_turn *ret)
{
  if (!turn || turn->size < offsetof(struct rg_turn, endpoint)) return false;
  memset(ret, 0, sizeof *ret);
  memcpy(ret, turn, turn->size < sizeof *ret ? turn->size : sizeof *ret);
  return ret->kind >= RG_KIND_ANSWER && ret->kind <= RG_KIND_NOTICE &&
         (ret->group_id.len > 0) != (ret->user_id.len > 0);
}

/* The number of a group or user; 0: it is none. */
static uint64_t id_read(struct rg_bytes id)
{
  int64_t n = 0;
  return ob_id_read(span_from(id), &n) && n > 0 ? (uint64_t)n : 0;
}

/* What holds for one turn at the moment of the call. */
struct scene {
  struct rg_turn turn;
  struct rg_view view; /* references */
  struct rg_account *account;
  struct rg_peer peer;
  const struct rg_asked *asked; /* as in struct rg_job_input */
};

static int32_t scene_set(struct rg_gate *gate, const struct rg_turn *turn, struct scene *ret)
{
  ret->asked = NULL;
  if (!gate || !turn_read(turn, &ret->turn)) return RG_EARGUMENT;
  bool group = ret->turn.group_id.len > 0;
  uint64_t id = id_read(group ? ret->turn.group_id : ret->turn.user_id);
  if (id == 0) return RG_EARGUMENT;
  if (!rg_settings_view(gate->settings, span_from(ret->turn.endpoint), group ? id : 0,
                        &ret->view)) {
    rg_view_done(&ret->view);
    return RG_ENOMEM;
  }
  const struct rg_endpoint *endpoint = ret->view.endpoint;
  int32_t rc = RG_EARGUMENT;
  if (!endpoint) goto fail;
  pthread_mutex_lock(&gate->mu);
  ret->account = rg_account_find(gate, endpoint->name);
  if (ret->account) {
    ret->peer = ret->account->peer;
  }
  pthread_mutex_unlock(&gate->mu);
  if (ret->account) return RG_OK;
fail:
  rg_view_done(&ret->view);
  return rc;
}

/* NULL: *retrc says why; of a schema of the caller's that cannot be used a line tells as well. */
static struct rg_job *job_make(struct rg_gate *gate, const struct scene *scene, struct span text,
                               int32_t *retrc)
{
  const struct rg_job_input input = {
    .view = &scene->view,
    .asked = scene->asked,
    .home = gate->home,
    .turn = &scene->turn,
    .text = text,
    .timing = &gate->timing,
  };
  struct buf why;
  buf_init(&why, 1024);
  struct rg_job *job = rg_job_new(&input, &why);
  *retrc = !job && why.len > 0 ? RG_EARGUMENT : RG_ENOMEM;
  if (why.len > 0)
    rg_log_line(&gate->log, RG_LOG_WARN, "endpoint %s: the schema of a turn cannot be used: %.*s",
                scene->account->name, (int)why.len, why.ptr);
  buf_done(&why);
  if (job && rg_job_fit(job, &scene->peer)) {
    *retrc = RG_OK;
    return job;
  }
  rg_job_free(job);
  return NULL;
}

/* Counts a turn as waiting, before work is spent on it. own: the plugin's own words, for which some
 * room is kept. */
static int32_t place_take(struct rg_gate *gate, const struct scene *scene, size_t bytes, bool own,
                          struct rg_conversation **ret)
{
  bool group = scene->turn.group_id.len > 0;
  struct span id = span_from(group ? scene->turn.group_id : scene->turn.user_id);
  size_t most = own ? RG_WAITING_MAX + RG_WAITING_OWN_MAX : RG_WAITING_MAX;
  int32_t rc = RG_EBUSY;
  pthread_mutex_lock(&gate->mu);
  bool full = gate->waiting >= most || bytes > RG_WAITING_BYTES_MAX - gate->waiting_bytes;
  bool tell = full && ob_now_ms() >= gate->busy_told_ms;
  if (tell) gate->busy_told_ms = ob_now_ms() + gate->timing.notify;
  if (!full) {
    struct rg_conversation *c =
        rg_conversation_get(&gate->conversations, scene->account, group, id);
    rc = !c ? RG_ENOMEM : c->waiting < RG_WAITING_CONVERSATION_MAX ? RG_OK : RG_EBUSY;
    if (rc == RG_OK) {
      c->waiting++;
      gate->waiting++;
      gate->waiting_bytes += bytes;
      *ret = c;
    }
  }
  pthread_mutex_unlock(&gate->mu);
  if (tell) rg_notify(gate, NULL, RG_NOTIFY_BUSY, SPAN(""));
  return rc;
}

static void place_give_back(struct rg_gate *gate, struct rg_conversation *c, size_t bytes)
{
  pthread_mutex_lock(&gate->mu);
  c->waiting--;
  gate->waiting--;
  gate->waiting_bytes -= bytes;
  pthread_mutex_unlock(&gate->mu);
}

static void job_arrives(void *arg)
{
  struct rg_job *job = arg;
  rg_delivery_add(job->conversation->account->gate, job);
}

static uint64_t ticket_new(struct rg_gate *gate)
{
  pthread_mutex_lock(&gate->mu);
  uint64_t ticket = ++gate->last_ticket;
  gate->submitted++;
  pthread_mutex_unlock(&gate->mu);
  return ticket;
}

/* prepare: what is done to the job before it is judged; NULL: nothing. */
static int32_t submit(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                      void (*prepare)(struct rg_job *job, const void *ctx), const void *ctx,
                      uint64_t *ticket)
{
  struct scene scene;
  struct rg_conversation *conversation = NULL;
  if (text.len > RG_TEXT_MAX) return RG_ETOOBIG;
  int32_t rc = scene_set(gate, turn, &scene);
  if (rc != RG_OK) return rc;
  rc = place_take(gate, &scene, text.len, false, &conversation);
  if (rc != RG_OK) goto out;
  struct rg_job *job = job_make(gate, &scene, span_from(text), &rc);
  if (!job) goto fail;
  if (prepare) prepare(job, ctx);
  job->conversation = conversation;
  job->bytes = text.len;
  job->ticket = ticket_new(gate);
  /* a turn that comes before its endpoint is known is judged once it is */
  if (scene.peer.known && !job->judged) rg_job_judge(job);
  job->shown = NULL;                 /* its lender may end before the job */
  if (ticket) *ticket = job->ticket; /* before the result can come */
  rc = RG_ESYSTEM;
  rg_crash("queued", 0);
  if (!rg_journal_accept(gate->journal, job)) goto fail;
  rg_crash("journaled", 0);
  if (ob_service_post(gate->service, job_arrives, job)) {
    rc = RG_OK;
    goto out;
  }
  rg_journal_ended(gate->journal, job, "cancelled"); /* closing: against the rules of the ABI */
fail:
  rg_job_free(job);
  place_give_back(gate, conversation, text.len);
out:
  rg_view_done(&scene.view);
  return rc;
}

int32_t rg_gate_submit(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                       uint64_t *ticket)
{
  return submit(gate, turn, text, NULL, NULL, ticket);
}

struct part {
  bool words;
  struct rg_shown *shown;
};

static void as_part(struct rg_job *job, const void *ctx)
{
  const struct part *part = ctx;
  job->words = part->words;
  job->shown = part->shown;
}

int32_t rg_gate_submit_part(struct rg_gate *gate, const struct rg_turn *turn, struct span text,
                            bool words, struct rg_shown *shown)
{
  const struct part part = { words, shown };
  return submit(gate, turn, (struct rg_bytes) { text.ptr, text.len }, as_part, &part, NULL);
}

struct failure {
  enum schema_code code;
  const char *what;
};

static void as_failed(struct rg_job *job, const void *ctx)
{
  const struct failure *f = ctx;
  rg_job_fail(job, f->code, f->what);
}

int32_t rg_gate_submit_failure(struct rg_gate *gate, const struct rg_turn *turn,
                               enum schema_code code, const char *what)
{
  const struct failure f = { code, what };
  return submit(gate, turn, (struct rg_bytes) { NULL, 0 }, as_failed, &f, NULL);
}

void rg_gate_say(struct rg_gate *gate, const struct rg_account *account,
                 const struct ob_target *target, struct span text)
{
  struct scene scene;
  struct rg_conversation *conversation = NULL;
  const struct rg_turn turn = {
    .size = sizeof turn,
    .kind = RG_KIND_NOTICE,
    .endpoint = { account->name, strlen(account->name) },
    .group_id = { target->group_id.ptr, target->group_id.len },
    .user_id = { target->user_id.ptr, target->user_id.len },
  };
  if (scene_set(gate, &turn, &scene) != RG_OK) return;
  if (place_take(gate, &scene, text.len, true, &conversation) == RG_OK) {
    int32_t rc;
    struct rg_job *job = job_make(gate, &scene, text, &rc);
    if (job) {
      job->conversation = conversation;
      job->bytes = text.len;
      job->own = true;
      if (scene.peer.known) rg_job_judge(job);
      rg_delivery_add(gate, job);
    } else {
      place_give_back(gate, conversation, text.len);
    }
  }
  rg_view_done(&scene.view);
}

int32_t rg_gate_deliver(struct rg_gate *gate, const struct rg_foreign *foreign)
{
  struct scene scene;
  struct rg_conversation *conversation = NULL;
  size_t bytes = foreign->text.len;
  for (size_t i = 0; foreign->plan && i < foreign->plan->count; i++)
    bytes += foreign->plan->steps[i].params.len;
  int32_t rc = scene_set(gate, foreign->turn, &scene);
  if (rc != RG_OK) return rc;
  rc = place_take(gate, &scene, bytes, false, &conversation);
  if (rc != RG_OK) goto out;
  struct rg_job *job = job_make(gate, &scene, foreign->text, &rc);
  if (!job) goto fail;
  rc = RG_ENOMEM;
  job->foreign = true;
  job->quoted = foreign->quoted;
  if (foreign->plan && !rg_job_take_plan(job, foreign->plan)) goto fail;
  if (!foreign->plan) rg_job_judge(job);
  job->conversation = conversation;
  job->bytes = bytes;
  job->ticket = ticket_new(gate);
  job->watch = foreign->watch;
  rg_delivery_add(gate, job);
  rc = RG_OK;
  goto out;
fail:
  rg_job_free(job);
  place_give_back(gate, conversation, bytes);
out:
  rg_view_done(&scene.view);
  return rc;
}

int32_t rg_gate_take_up(struct rg_gate *gate, const struct rg_stored_turn *t, struct rg_job **ret)
{
  struct scene scene;
  struct rg_conversation *conversation = NULL;
  const struct rg_turn turn = {
    .size = sizeof turn,
    .kind = t->kind,
    .endpoint = { t->endpoint.ptr, t->endpoint.len },
    .group_id = { t->group_id.ptr, t->group_id.len },
    .user_id = { t->user_id.ptr, t->user_id.len },
    .message_id = { t->message_id.ptr, t->message_id.len },
    .sender_id = { t->sender_id.ptr, t->sender_id.len },
    .schema = { t->schema.ptr, t->schema.len },
  };
  struct rg_asked asked;
  if (t->endpoint.len == 0) return RG_EARGUMENT; /* not "the only one": it had a name */
  int32_t rc = scene_set(gate, &turn, &scene);
  if (rc != RG_OK) return rc;
  if (rg_asked_unpack(t->asked, &asked)) scene.asked = &asked;
  size_t bytes = t->text.len;
  for (size_t i = 0; i < t->step_count; i++) bytes += t->steps[i].params.len;
  rc = place_take(gate, &scene, bytes, false, &conversation);
  if (rc != RG_OK) goto out;
  struct rg_job *job = job_make(gate, &scene, t->text, &rc);
  if (job) {
    job->conversation = conversation;
    job->bytes = bytes;
    rg_recovery_fill(job, t);
    *ret = job;
  } else {
    place_give_back(gate, conversation, bytes);
  }
out:
  rg_view_done(&scene.view);
  return rc;
}

/* A word about a ticket on its way to the service thread. */
struct word {
  struct rg_gate *gate;
  uint64_t ticket;
  size_t len;
  char text[];
};

static void cancel_arrives(void *arg)
{
  struct word *word = arg;
  rg_delivery_cancel(word->gate, word->ticket);
  free(word);
}

static void completed_arrives(void *arg)
{
  struct word *word = arg;
  rg_delivery_corrected(word->gate, word->ticket, (struct span) { word->text, word->len });
  free(word);
}

static int32_t word_post(struct rg_gate *gate, uint64_t ticket, struct span text,
                         void (*arrives)(void *arg))
{
  if (!gate) return RG_EARGUMENT;
  pthread_mutex_lock(&gate->mu);
  bool known = ticket > 0 && ticket <= gate->last_ticket;
  pthread_mutex_unlock(&gate->mu);
  if (!known) return RG_EARGUMENT;
  struct word *word = malloc(sizeof *word + text.len);
  if (!word) return RG_ENOMEM;
  *word = (struct word) { .gate = gate, .ticket = ticket, .len = text.len };
  if (text.len > 0) memcpy(word->text, text.ptr, text.len);
  if (ob_service_post(gate->service, arrives, word)) return RG_OK;
  free(word);
  return RG_ESYSTEM;
}

int32_t rg_gate_cancel(struct rg_gate *gate, uint64_t ticket)
{
  return word_post(gate, ticket, SPAN(""), cancel_arrives);
}

int32_t rg_gate_completed(struct rg_gate *gate, uint64_t ticket, struct rg_bytes text)
{
  if (text.len > RG_TEXT_MAX) return RG_ETOOBIG;
  return word_post(gate, ticket, span_from(text), completed_arrives);
}

/* --- what is only judged --- */

int32_t rg_gate_check(struct rg_gate *gate, const struct rg_turn *turn, struct rg_bytes text,
                      struct rg_buf *report)
{
  struct scene scene;
  if (!report) return RG_EARGUMENT;
  if (text.len > RG_TEXT_MAX) return RG_ETOOBIG;
  int32_t rc = scene_set(gate, turn, &scene);
  if (rc != RG_OK) return rc;
  struct rg_job *job = job_make(gate, &scene, span_from(text), &rc);
  if (job) {
    struct buf json;
    buf_init(&json, 2 * (size_t)RG_TEXT_MAX);
    rg_job_judge(job);
    rg_job_write_report(job, &json);
    rc = rg_gate_give(&json, report);
  }
  rg_job_free(job);
  rg_view_done(&scene.view);
  return rc;
}

int32_t rg_gate_contract(struct rg_gate *gate, const struct rg_turn *turn, struct rg_buf *schema,
                         struct rg_buf *instruction)
{
  struct scene scene;
  if (!schema || !instruction) return RG_EARGUMENT;
  int32_t rc = scene_set(gate, turn, &scene);
  if (rc != RG_OK) return rc;
  struct rg_job *job = job_make(gate, &scene, SPAN(""), &rc);
  if (job) {
    struct buf a, b;
    buf_init(&a, CONTRACT_MAX);
    buf_init(&b, CONTRACT_MAX);
    rg_job_write_contract(job, &a, &b);
    buf_reserve(&a, 1); /* nothing is a text too: hosts take its address */
    buf_reserve(&b, 1);
    rc = rg_gate_give(&a, schema);
    if (rc == RG_OK) {
      rc = rg_gate_give(&b, instruction);
      if (rc != RG_OK) rg_gate_release(schema);
    } else {
      buf_done(&b);
    }
  }
  rg_job_free(job);
  rg_view_done(&scene.view);
  return rc;
}
