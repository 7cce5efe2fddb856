/* model: see model.h. */
#include "plugin/command/model.h"

#include <pthread.h>
#include <stdlib.h>

#include "onebot/event.h"
#include "plugin/thread.h"

enum {
  WAITING_MAX = 256, /* a demo that lags so far behind has nobody watching */
  RECENT = 64,       /* turns whose correction may still be asked for */
  EVENT_ARENA_MAX = 64 * 1024 * 1024,
};

/* An event, or the request of a correction (no event). */
struct task {
  struct task *next;
  uint64_t ticket;
  size_t endpoint_len, event_len;
  char text[]; /* the endpoint's name, then the event */
};

struct rg_model {
  const struct rg_script *script;
  bool answers_all;
  const struct rg_api *api;
  struct rg_gate *gate;
  pthread_t thread;

  pthread_mutex_t mu; /* guards the members below, down to the blank line */
  pthread_cond_t changed;
  struct task *head, **tail;
  size_t waiting;
  bool running;

  /* the thread's own */
  struct arena arena;
  struct {
    uint64_t ticket;
    struct span corrected;
  } recent[RECENT];
  size_t next_recent;
};

struct rg_model *rg_model_new(const struct rg_script *script, bool answers_all)
{
  struct rg_model *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->script = script;
  m->answers_all = answers_all;
  m->tail = &m->head;
  pthread_mutex_init(&m->mu, NULL); /* cannot fail on Linux without attributes */
  pthread_cond_init(&m->changed, NULL);
  arena_init(&m->arena, EVENT_ARENA_MAX);
  return m;
}

/* --- the queue --- */

static void task_add(struct rg_model *m, uint64_t ticket, struct rg_bytes endpoint,
                     struct rg_bytes event)
{
  struct task *task = malloc(sizeof *task + endpoint.len + event.len);
  if (!task) return;
  *task = (struct task) { NULL, ticket, endpoint.len, event.len };
  if (endpoint.len > 0) memcpy(task->text, endpoint.ptr, endpoint.len);
  if (event.len > 0) memcpy(task->text + endpoint.len, event.ptr, event.len);

  pthread_mutex_lock(&m->mu);
  bool taken = m->running && m->waiting < WAITING_MAX;
  if (taken) {
    *m->tail = task;
    m->tail = &task->next;
    m->waiting++;
    pthread_cond_signal(&m->changed);
  }
  pthread_mutex_unlock(&m->mu);
  if (!taken) free(task);
}

/* The next task, waiting for one; NULL: the model is to end. */
static struct task *task_take(struct rg_model *m)
{
  pthread_mutex_lock(&m->mu);
  while (m->running && !m->head) pthread_cond_wait(&m->changed, &m->mu);
  struct task *task = m->running ? m->head : NULL;
  if (task) {
    m->head = task->next;
    if (!m->head) m->tail = &m->head;
    m->waiting--;
  }
  pthread_mutex_unlock(&m->mu);
  return task;
}

void rg_model_event(struct rg_model *m, struct rg_bytes endpoint, struct rg_bytes event)
{
  task_add(m, 0, endpoint, event);
}

void rg_model_correct(struct rg_model *m, uint64_t ticket)
{
  task_add(m, ticket, (struct rg_bytes) { NULL, 0 }, (struct rg_bytes) { NULL, 0 });
}

/* --- answering --- */

static void answer(struct rg_model *m, struct rg_bytes endpoint, const struct ob_event *event)
{
  const struct rg_script_row *row = rg_script_find(m->script, event->text);
  if (!row) return;
  const struct rg_script_ask ask = {
    .text = span_trim(event->text),
    .sender_id = event->user_id,
    .sender_name = event->sender_name,
    .message_id = event->message_id,
    .group_id = event->group_id,
  };
  struct buf text;
  buf_init(&text, RG_SCRIPT_MAX);
  if (rg_script_write(m->script, row->answer, &ask, &text)) {
    bool group = event->type == OB_EVENT_GROUP;
    const struct rg_turn turn = {
      .size = sizeof turn,
      .kind = RG_KIND_ANSWER,
      .endpoint = endpoint,
      .group_id = { event->group_id.ptr, group ? event->group_id.len : 0 },
      .user_id = { event->user_id.ptr, group ? 0 : event->user_id.len },
      .message_id = { event->message_id.ptr, event->message_id.len },
      .sender_id = { event->user_id.ptr, event->user_id.len },
    };
    uint64_t ticket;
    struct rg_bytes raw = { text.ptr, text.len };
    if (m->api->submit(m->gate, &turn, raw, &ticket) == RG_OK) {
      m->recent[m->next_recent].ticket = ticket;
      m->recent[m->next_recent].corrected = row->corrected;
      m->next_recent = (m->next_recent + 1) % RECENT;
    }
  }
  buf_done(&text);
}

static void event_do(struct rg_model *m, const struct task *task)
{
  struct ob_event event;
  struct rg_bytes endpoint = { task->text, task->endpoint_len };
  struct span json = { task->text + task->endpoint_len, task->event_len };
  arena_reset(&m->arena);
  if (ob_event_read(json, SPAN(""), &m->arena, &event, NULL) != SCHEMA_OK) return;
  bool wanted = event.type == OB_EVENT_PRIVATE ||
                (event.type == OB_EVENT_GROUP && (m->answers_all || event.mentions_self));
  if (wanted && span_trim(event.text).len > 0) answer(m, endpoint, &event);
}

static void correction_do(struct rg_model *m, uint64_t ticket)
{
  struct rg_bytes text = { NULL, 0 };
  for (size_t i = 0; i < RECENT; i++) {
    if (m->recent[i].ticket != ticket) continue;
    text = (struct rg_bytes) { m->recent[i].corrected.ptr, m->recent[i].corrected.len };
  }
  m->api->completed(m->gate, ticket, text);
}

static void *model_main(void *arg)
{
  struct rg_model *m = arg;
  for (struct task *task; (task = task_take(m)) != NULL; free(task)) {
    if (task->ticket == 0) {
      event_do(m, task);
    } else {
      correction_do(m, task->ticket);
    }
  }
  return NULL;
}

bool rg_model_start(struct rg_model *m, const struct rg_api *api, struct rg_gate *gate)
{
  m->api = api;
  m->gate = gate;
  pthread_mutex_lock(&m->mu);
  m->running = true;
  pthread_mutex_unlock(&m->mu);
  bool started = rg_thread_start(&m->thread, "scripted-model", model_main, m);
  if (!started) m->running = false;
  return started;
}

void rg_model_stop(struct rg_model *m)
{
  pthread_mutex_lock(&m->mu);
  bool running = m->running;
  m->running = false;
  pthread_cond_signal(&m->changed);
  pthread_mutex_unlock(&m->mu);
  if (running) pthread_join(m->thread, NULL);
}

void rg_model_free(struct rg_model *m)
{
  if (!m) return;
  for (struct task *task = m->head, *next; task; task = next) {
    next = task->next;
    free(task);
  }
  arena_done(&m->arena);
  pthread_cond_destroy(&m->changed);
  pthread_mutex_destroy(&m->mu);
  free(m);
}
