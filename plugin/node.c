/* node: the N-API face of replygate.so, and the only file that knows Node. Its one caller is
 * hosts/node/index.js, which makes promises, objects and errors of the plain values that cross
 * here: an instance is a number, structure is JSON text, a fault is a negative number.
 *
 * Every function of Node is a weak reference, so that hosts without Node load the same file.
 * What a gate tells, from any of its threads, goes through one thread-safe function in order; what
 * takes time (open, reload, close) runs on Node's thread pool and tells its end the same way. No
 * gate outlives its environment: a clean-up hook closes it, before Node takes the thread-safe
 * function away. */
#define NAPI_VERSION 8
#define NAPI_EXTERN __attribute__((visibility("default"), weak))
#include <node_api.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "plugin/gate.h"

enum {
  ARGUMENTS_MAX = 9,
  WHY_MAX = 16 * 1024,           /* the faults of a configuration: a hundred lines */
  QUEUE_MAX = 128 * 1024 * 1024, /* two events of the largest size, for a thread that is busy */
  CLOSED = -100,                 /* beside enum rg_result: there is no such open instance */
};

/* What JavaScript is told, as index.js counts it. */
enum told { OPENED, RELOADED, CLOSED_NOW, LOG, SEND, COMPLETE, EVENT, RESULT };

struct item {
  enum told kind;
  int64_t number; /* a ticket, a level, a result */
  size_t endpoint_len, text_len;
  char bytes[]; /* the endpoint, the text */
};

/* What one environment has open. Its own thread only. */
struct addon {
  struct face *faces;
  int32_t last_id;
};

/* One instance as JavaScript sees it. */
struct face {
  struct face *next;
  struct addon *addon;
  int32_t id;
  bool open, busy;      /* calls may use gate; an order runs. The environment's thread only */
  atomic_uint users;    /* the thread-safe function and the order that runs */
  atomic_bool gone;     /* JavaScript is told nothing any more */
  atomic_size_t queued; /* bytes of log lines and events that JavaScript has not taken yet */
  napi_threadsafe_function calls;
  struct rg_host host;
  char *path;
  pthread_mutex_t mu;   /* held while an order runs */
  struct rg_gate *gate; /* under mu; while open it stays as it is */
};

/* --- what a gate tells, on its threads --- */

static struct item *item_new(enum told kind, int64_t number, struct rg_bytes endpoint,
                             struct rg_bytes text)
{
  struct item *item = malloc(sizeof *item + endpoint.len + text.len);
  if (!item) return NULL;
  *item = (struct item) { kind, number, endpoint.len, text.len };
  if (endpoint.len > 0) memcpy(item->bytes, endpoint.ptr, endpoint.len);
  if (text.len > 0) memcpy(item->bytes + endpoint.len, text.ptr, text.len);
  return item;
}

/* Hands an item over. Takes it. */
static void tell(struct face *f, struct item *item)
{
  if (item && !f->gone &&
      napi_call_threadsafe_function(f->calls, item, napi_tsfn_nonblocking) == napi_ok)
    return;
  free(item);
}

static size_t weight_of(const struct item *item)
{
  bool counts = item->kind == LOG || item->kind == EVENT;
  return counts ? sizeof *item + item->endpoint_len + item->text_len : 0;
}

/* Hands over what may be lost where JavaScript has not come to take it for long. */
static void tell_counted(struct face *f, enum told kind, int64_t number, struct rg_bytes endpoint,
                         struct rg_bytes text)
{
  if (f->queued > QUEUE_MAX) return;
  struct item *item = item_new(kind, number, endpoint, text);
  if (item) f->queued += weight_of(item);
  tell(f, item);
}

static void on_log(void *ctx, int32_t level, struct rg_bytes line)
{
  tell_counted(ctx, LOG, level, (struct rg_bytes) { NULL, 0 }, line);
}

static void on_event(void *ctx, struct rg_bytes endpoint, struct rg_bytes event)
{
  tell_counted(ctx, EVENT, 0, endpoint, event);
}

static void on_send(void *ctx, struct rg_bytes endpoint, uint64_t ticket, struct rg_bytes action)
{
  tell(ctx, item_new(SEND, (int64_t)ticket, endpoint, action));
}

static void on_complete(void *ctx, uint64_t ticket, struct rg_bytes request)
{
  tell(ctx, item_new(COMPLETE, (int64_t)ticket, (struct rg_bytes) { NULL, 0 }, request));
}

static void on_result(void *ctx, uint64_t ticket, struct rg_bytes result)
{
  tell(ctx, item_new(RESULT, (int64_t)ticket, (struct rg_bytes) { NULL, 0 }, result));
}

/* --- life of an instance --- */

static void face_release(struct face *f)
{
  if (atomic_fetch_sub(&f->users, 1) > 1) return;
  pthread_mutex_destroy(&f->mu);
  free(f->path);
  free(f);
}

static void calls_finalized(napi_env env, void *data, void *hint)
{
  (void)env, (void)hint;
  face_release(data);
}

static void face_unlink(struct face *f)
{
  for (struct face **at = &f->addon->faces; *at; at = &(*at)->next) {
    if (*at != f) continue;
    *at = f->next;
    return;
  }
}

/* Closes at once, whatever runs, and tells nothing more. */
static void face_silence(struct face *f)
{
  f->open = false;
  f->gone = true;
  pthread_mutex_lock(&f->mu);
  rg_gate_close(f->gate);
  f->gate = NULL;
  pthread_mutex_unlock(&f->mu);
}

/* The environment ends: a worker, or the process. */
static void environment_ends(void *data)
{
  struct face *f = data;
  face_silence(f);
  face_unlink(f);
}

/* The instance has ended in order; no thread knows of it any more. */
static void face_end(napi_env env, struct face *f)
{
  f->gone = true;
  face_unlink(f);
  napi_remove_env_cleanup_hook(env, environment_ends, f);
  napi_release_threadsafe_function(f->calls, napi_tsfn_release);
}

/* --- what takes time --- */

struct order {
  enum told kind;
  struct face *face;
  napi_async_work work;
  struct item *outcome; /* made before, so that its end can always be told */
};

static int32_t order_do(const struct order *o, char *why)
{
  struct face *f = o->face;
  if (o->kind == OPENED) {
    const struct rg_bytes path = { f->path, strlen(f->path) };
    return rg_gate_open(&f->host, path, &f->gate, why, WHY_MAX);
  }
  if (o->kind == RELOADED) return rg_gate_reload(f->gate, why, WHY_MAX);
  rg_gate_close(f->gate);
  f->gate = NULL;
  return RG_OK;
}

/* On a thread of the pool. */
static void order_run(napi_env env, void *data)
{
  struct order *o = data;
  struct face *f = o->face;
  struct item *outcome = o->outcome;
  (void)env;
  o->outcome = NULL;
  outcome->bytes[0] = '\0';
  pthread_mutex_lock(&f->mu);
  if (!f->gone) outcome->number = order_do(o, outcome->bytes);
  outcome->text_len = strlen(outcome->bytes);
  tell(f, outcome); /* under the lock: the environment waits for it before it ends */
  pthread_mutex_unlock(&f->mu);
  face_release(f);
}

static void order_done(napi_env env, napi_status status, void *data)
{
  struct order *o = data;
  if (status != napi_ok) face_release(o->face); /* it never ran */
  napi_delete_async_work(env, o->work);
  free(o->outcome);
  free(o);
}

static bool order_queue(napi_env env, struct face *f, enum told kind)
{
  napi_value name;
  struct order *o = calloc(1, sizeof *o);
  struct item *outcome = malloc(sizeof *outcome + WHY_MAX);
  if (!o || !outcome) goto fail;
  *outcome = (struct item) { .kind = kind, .number = CLOSED };
  *o = (struct order) { .kind = kind, .face = f, .outcome = outcome };
  if (napi_create_string_utf8(env, "replygate", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_async_work(env, NULL, name, order_run, order_done, o, &o->work) != napi_ok)
    goto fail;
  f->users++;
  f->busy = true;
  if (napi_queue_async_work(env, o->work) == napi_ok) return true;
  f->users--;
  f->busy = false;
  napi_delete_async_work(env, o->work);
fail:
  free(outcome);
  free(o);
  return false;
}

/* --- what JavaScript is told, on its thread --- */

static void told(napi_env env, napi_value js, void *context, void *data)
{
  struct item *item = data;
  struct face *f = context;
  napi_value none, result, argv[4];
  if (!env) { /* it ends: context may be gone as well */
    free(item);
    return;
  }
  f->queued -= weight_of(item);
  if (item->kind <= CLOSED_NOW) f->busy = false;
  if (item->kind == OPENED) f->open = item->number == RG_OK;
  if (napi_get_undefined(env, &none) == napi_ok &&
      napi_create_int32(env, (int32_t)item->kind, &argv[0]) == napi_ok &&
      napi_create_int64(env, item->number, &argv[1]) == napi_ok &&
      napi_create_string_utf8(env, item->bytes, item->endpoint_len, &argv[2]) == napi_ok &&
      napi_create_string_utf8(env, item->bytes + item->endpoint_len, item->text_len, &argv[3]) ==
          napi_ok)
    napi_call_function(env, none, js, 4, argv, &result);
  /* index.js lets nothing escape; what does all the same must not end the process */
  napi_get_and_clear_last_exception(env, &result);
  if (item->kind == CLOSED_NOW || (item->kind == OPENED && !f->open)) face_end(env, f);
  free(item);
}

/* --- calls --- */

/* One call of JavaScript. The first fault stays; what follows it does nothing. */
struct call {
  napi_env env;
  napi_value argv[ARGUMENTS_MAX];
  struct addon *addon;
  struct face *face;
  char *texts[ARGUMENTS_MAX]; /* to be freed */
  size_t text_count;
  int32_t rc;
};

static void call_begin(struct call *c, napi_env env, napi_callback_info info)
{
  size_t count = ARGUMENTS_MAX;
  *c = (struct call) { .env = env };
  if (napi_get_cb_info(env, info, &count, c->argv, NULL, (void **)&c->addon) != napi_ok)
    c->rc = RG_ESYSTEM;
}

/* The instance that the first argument names. */
static void call_face(struct call *c)
{
  int32_t id = 0;
  if (c->rc != RG_OK) return;
  napi_get_value_int32(c->env, c->argv[0], &id);
  c->face = c->addon->faces;
  while (c->face && c->face->id != id) c->face = c->face->next;
  if (!c->face) c->rc = CLOSED;
}

static void call_open(struct call *c, napi_env env, napi_callback_info info)
{
  call_begin(c, env, info);
  call_face(c);
  if (c->rc == RG_OK && !c->face->open) c->rc = CLOSED;
}

static void call_end(struct call *c)
{
  for (size_t i = 0; i < c->text_count; i++) free(c->texts[i]);
}

/* A text argument, until call_end. Undefined and null are empty. */
static struct rg_bytes take_text(struct call *c, size_t at)
{
  struct rg_bytes none = { NULL, 0 };
  napi_valuetype type = napi_undefined;
  size_t len = 0;
  if (c->rc != RG_OK) return none;
  napi_typeof(c->env, c->argv[at], &type);
  if (type == napi_undefined || type == napi_null) return none;
  c->rc = RG_EARGUMENT;
  if (napi_get_value_string_utf8(c->env, c->argv[at], NULL, 0, &len) != napi_ok) return none;
  c->rc = RG_ETOOBIG;
  if (len > RG_TEXT_MAX) return none;
  char *text = malloc(len + 1);
  c->rc = RG_ENOMEM;
  if (!text) return none;
  c->texts[c->text_count++] = text;
  c->rc = RG_ESYSTEM;
  if (napi_get_value_string_utf8(c->env, c->argv[at], text, len + 1, &len) != napi_ok) return none;
  c->rc = RG_OK;
  return (struct rg_bytes) { text, len };
}

static int64_t take_number(struct call *c, size_t at)
{
  int64_t number = 0;
  if (c->rc == RG_OK && napi_get_value_int64(c->env, c->argv[at], &number) != napi_ok)
    c->rc = RG_EARGUMENT;
  return number;
}

/* Arguments 1 to 7, in this order. */
static struct rg_turn take_turn(struct call *c)
{
  return (struct rg_turn) {
    .size = sizeof(struct rg_turn),
    .kind = (int32_t)take_number(c, 1),
    .endpoint = take_text(c, 2),
    .group_id = take_text(c, 3),
    .user_id = take_text(c, 4),
    .message_id = take_text(c, 5),
    .sender_id = take_text(c, 6),
    .schema = take_text(c, 7),
  };
}

static napi_value give_number(napi_env env, int64_t number)
{
  napi_value value = NULL;
  return napi_create_int64(env, number, &value) == napi_ok ? value : NULL;
}

/* Gives the text; releases it. */
static napi_value give_text(napi_env env, struct rg_buf *text)
{
  napi_value value = NULL;
  if (napi_create_string_utf8(env, text->ptr ? text->ptr : "", text->len, &value) != napi_ok)
    value = NULL;
  rg_gate_release(text);
  return value;
}

/* [a, b]; NULL where either is. */
static napi_value give_pair(napi_env env, napi_value a, napi_value b)
{
  napi_value pair = NULL;
  if (!a || !b || napi_create_array_with_length(env, 2, &pair) != napi_ok ||
      napi_set_element(env, pair, 0, a) != napi_ok || napi_set_element(env, pair, 1, b) != napi_ok)
    return NULL;
  return pair;
}

static napi_value call_number(struct call *c, int64_t number)
{
  call_end(c);
  return give_number(c->env, c->rc == RG_OK ? number : c->rc);
}

/* open(path, wants, told) -> id. wants: a bit for each function that the host has, as in enum told.
 * Then told(OPENED, result, "", why). */
static struct face *face_new(struct call *c)
{
  struct rg_bytes path = take_text(c, 0);
  int64_t wants = take_number(c, 1);
  if (c->rc != RG_OK) return NULL;
  c->rc = RG_ENOMEM;
  struct face *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->path = strndup(path.ptr ? path.ptr : "", path.len);
  if (!f->path || pthread_mutex_init(&f->mu, NULL) != 0) {
    free(f->path);
    free(f);
    return NULL;
  }
  f->users = 1;
  f->addon = c->addon;
  f->id = ++c->addon->last_id;
  f->host = (struct rg_host) {
    .size = sizeof f->host,
    .abi = RG_ABI,
    .ctx = f,
    .log = on_log,
    .send = wants & (1 << SEND) ? on_send : NULL,
    .complete = wants & (1 << COMPLETE) ? on_complete : NULL,
    .on_event = wants & (1 << EVENT) ? on_event : NULL,
    .on_result = on_result,
  };
  c->rc = RG_OK;
  return f;
}

static napi_value call_open_gate(napi_env env, napi_callback_info info)
{
  struct call c;
  napi_value name;
  call_begin(&c, env, info);
  struct face *f = face_new(&c);
  if (!f) return call_number(&c, 0);
  c.rc = RG_ESYSTEM;
  if (napi_create_string_utf8(env, "replygate", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, c.argv[2], NULL, name, 0, 1, f, calls_finalized, f, told,
                                      &f->calls) != napi_ok) {
    face_release(f);
    return call_number(&c, 0);
  }
  /* after the thread-safe function, so that it runs before that one's own hook */
  f->next = c.addon->faces;
  c.addon->faces = f;
  if (napi_add_env_cleanup_hook(env, environment_ends, f) == napi_ok && order_queue(env, f, OPENED))
    c.rc = RG_OK;
  int32_t id = f->id;
  if (c.rc != RG_OK) face_end(env, f);
  return call_number(&c, id);
}

/* reload(id), close(id) -> 0. Then told(RELOADED, result, "", why) or told(CLOSED_NOW, 0, "", "").
 * One at a time. */
static napi_value give_order(napi_env env, napi_callback_info info, enum told kind)
{
  struct call c;
  call_open(&c, env, info);
  if (c.rc == RG_OK && c.face->busy) c.rc = RG_EBUSY;
  if (c.rc == RG_OK && !order_queue(env, c.face, kind)) c.rc = RG_ESYSTEM;
  if (c.rc == RG_OK && kind == CLOSED_NOW) c.face->open = false;
  return call_number(&c, RG_OK);
}

static napi_value call_reload(napi_env env, napi_callback_info info)
{
  return give_order(env, info, RELOADED);
}

static napi_value call_close(napi_env env, napi_callback_info info)
{
  return give_order(env, info, CLOSED_NOW);
}

/* shut(id) -> 0: closes at once, and told() is not called any more. For the end of the process. */
static napi_value call_shut(napi_env env, napi_callback_info info)
{
  struct call c;
  call_begin(&c, env, info);
  call_face(&c);
  if (c.rc == RG_OK) face_silence(c.face);
  return call_number(&c, RG_OK);
}

/* keep(id, whether) -> 0: whether the instance keeps the process alive. At first it does. */
static napi_value call_keep(napi_env env, napi_callback_info info)
{
  struct call c;
  bool keep = false;
  call_begin(&c, env, info);
  call_face(&c);
  if (c.rc == RG_OK) {
    napi_get_value_bool(env, c.argv[1], &keep);
    if (keep)
      napi_ref_threadsafe_function(env, c.face->calls);
    else
      napi_unref_threadsafe_function(env, c.face->calls);
  }
  return call_number(&c, RG_OK);
}

/* submit(id, turn..., text) -> ticket */
static napi_value call_submit(napi_env env, napi_callback_info info)
{
  struct call c;
  uint64_t ticket = 0;
  call_open(&c, env, info);
  struct rg_turn turn = take_turn(&c);
  struct rg_bytes text = take_text(&c, 8);
  if (c.rc == RG_OK) c.rc = rg_gate_submit(c.face->gate, &turn, text, &ticket);
  return call_number(&c, (int64_t)ticket);
}

/* cancel(id, ticket) -> 0 */
static napi_value call_cancel(napi_env env, napi_callback_info info)
{
  struct call c;
  call_open(&c, env, info);
  uint64_t ticket = (uint64_t)take_number(&c, 1);
  if (c.rc == RG_OK) c.rc = rg_gate_cancel(c.face->gate, ticket);
  return call_number(&c, RG_OK);
}

/* completed(id, ticket, text) -> 0 */
static napi_value call_completed(napi_env env, napi_callback_info info)
{
  struct call c;
  call_open(&c, env, info);
  uint64_t ticket = (uint64_t)take_number(&c, 1);
  struct rg_bytes text = take_text(&c, 2);
  if (c.rc == RG_OK) c.rc = rg_gate_completed(c.face->gate, ticket, text);
  return call_number(&c, RG_OK);
}

/* response(id, endpoint, ticket, json) -> 0 */
static napi_value call_response(napi_env env, napi_callback_info info)
{
  struct call c;
  call_open(&c, env, info);
  struct rg_bytes endpoint = take_text(&c, 1);
  uint64_t ticket = (uint64_t)take_number(&c, 2);
  struct rg_bytes json = take_text(&c, 3);
  if (c.rc == RG_OK) c.rc = rg_gate_response(c.face->gate, endpoint, ticket, json);
  return call_number(&c, RG_OK);
}

typedef int32_t judge_fn(struct rg_gate *gate, struct rg_bytes endpoint, struct rg_bytes json,
                         int32_t *verdict, struct rg_buf *edit);

static napi_value judge(napi_env env, napi_callback_info info, judge_fn *ask)
{
  struct call c;
  int32_t verdict = RG_PASS;
  struct rg_buf edit = { NULL, 0 };
  call_open(&c, env, info);
  struct rg_bytes endpoint = take_text(&c, 1), json = take_text(&c, 2);
  if (c.rc == RG_OK) c.rc = ask(c.face->gate, endpoint, json, &verdict, &edit);
  if (c.rc != RG_OK) return call_number(&c, 0);
  call_end(&c);
  return give_pair(env, give_number(env, verdict), give_text(env, &edit));
}

/* outbound(id, endpoint, action), inbound(id, endpoint, event) -> [verdict, edit] */
static napi_value call_outbound(napi_env env, napi_callback_info info)
{
  return judge(env, info, rg_gate_outbound);
}

static napi_value call_inbound(napi_env env, napi_callback_info info)
{
  return judge(env, info, rg_gate_inbound);
}

/* contract(id, turn...) -> [schema, instruction] */
static napi_value call_contract(napi_env env, napi_callback_info info)
{
  struct call c;
  struct rg_buf schema = { NULL, 0 }, instruction = { NULL, 0 };
  call_open(&c, env, info);
  struct rg_turn turn = take_turn(&c);
  if (c.rc == RG_OK) c.rc = rg_gate_contract(c.face->gate, &turn, &schema, &instruction);
  if (c.rc != RG_OK) return call_number(&c, 0);
  call_end(&c);
  return give_pair(env, give_text(env, &schema), give_text(env, &instruction));
}

/* check(id, turn..., text) -> report */
static napi_value call_check(napi_env env, napi_callback_info info)
{
  struct call c;
  struct rg_buf report = { NULL, 0 };
  call_open(&c, env, info);
  struct rg_turn turn = take_turn(&c);
  struct rg_bytes text = take_text(&c, 8);
  if (c.rc == RG_OK) c.rc = rg_gate_check(c.face->gate, &turn, text, &report);
  if (c.rc != RG_OK) return call_number(&c, 0);
  call_end(&c);
  return give_text(env, &report);
}

/* stats(id) -> json */
static napi_value call_stats(napi_env env, napi_callback_info info)
{
  struct call c;
  struct rg_buf json = { NULL, 0 };
  call_open(&c, env, info);
  if (c.rc == RG_OK) c.rc = rg_gate_stats(c.face->gate, &json);
  return c.rc == RG_OK ? give_text(env, &json) : call_number(&c, 0);
}

/* version() -> text */
static napi_value call_version(napi_env env, napi_callback_info info)
{
  napi_value version = NULL;
  (void)info;
  napi_create_string_utf8(env, RG_VERSION, NAPI_AUTO_LENGTH, &version);
  return version;
}

static void addon_free(napi_env env, void *data, void *hint)
{
  (void)env, (void)hint;
  free(data);
}

static const struct {
  const char *name;
  napi_callback call;
} calls[] = {
  { "open", call_open_gate },    { "reload", call_reload },       { "close", call_close },
  { "shut", call_shut },         { "keep", call_keep },           { "submit", call_submit },
  { "cancel", call_cancel },     { "completed", call_completed }, { "response", call_response },
  { "outbound", call_outbound }, { "inbound", call_inbound },     { "contract", call_contract },
  { "check", call_check },       { "stats", call_stats },         { "version", call_version },
};

/* the header defines it without declaring it */
NAPI_MODULE_EXPORT int32_t NODE_API_MODULE_GET_API_VERSION(void);

NAPI_MODULE_INIT()
{
  struct addon *addon = calloc(1, sizeof *addon);
  if (!addon) return NULL;
  if (napi_set_instance_data(env, addon, addon_free, NULL) != napi_ok) {
    free(addon);
    return NULL;
  }
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    napi_value function;
    if (napi_create_function(env, calls[i].name, NAPI_AUTO_LENGTH, calls[i].call, addon,
                             &function) != napi_ok ||
        napi_set_named_property(env, exports, calls[i].name, function) != napi_ok)
      return NULL;
  }
  return exports;
}
