/* gate: see gate.h. What the ABI's functions do on the caller's thread: arguments, judging, the
 * hand-over to the service thread; and what is done with events. */
#include "plugin/gate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "onebot/id.h"
#include "plugin/agent/agent.h"
#include "plugin/crash.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/recovery.h"
#include "plugin/process.h"
#include "plugin/relay/relay.h"
#include "plugin/store/follow.h"
#include "schema/contract.h"

enum {
  EVENT_ARENA_MAX = 4 * OB_FRAME_MAX, /* the tree of the largest frame */
  FAULTS_ARENA_MAX = 1024 * 1024,     /* the faults of a configuration, a line each */
  CONTRACT_MAX = 1024 * 1024,         /* 10 KiB with every type and all faces */
};

const char *rg_ending_word(enum rg_ending ending)
{
  static const char *const words[] = {
#define X(name, word) word,
    RG_ENDINGS(X)
#undef X
  };
  return words[ending];
}

static struct span span_from(struct rg_bytes b)
{
  return (struct span) { b.ptr, b.len };
}

__attribute__((format(printf, 3, 4))) static void tell_why(char *why, size_t cap,
                                                           const char *format, ...)
{
  if (!why || cap == 0) return;
  va_list args;
  va_start(args, format);
  vsnprintf(why, cap, format, args);
  va_end(args);
}

/* --- configuration --- */

/* "path:line:column: what", a line each, as many as there is room for. */
static void tell_faults(const struct rg_config_faults *faults, const char *path, char *why,
                        size_t cap)
{
  size_t used = 0;
  if (!why || cap == 0) return;
  why[0] = '\0';
  for (size_t i = 0; i < faults->count && used < cap; i++) {
    const struct rg_config_fault *f = &faults->items[i];
    int n = snprintf(why + used, cap - used, "%s%s:%zu:%zu: %.*s", i > 0 ? "\n" : "", path, f->line,
                     f->column, (int)f->what.len, f->what.ptr);
    if (n < 0) return;
    used += (size_t)n;
  }
}

static struct rg_config *config_load(const char *path, char *why, size_t cap)
{
  struct arena arena;
  struct rg_config_faults faults = { .count = 0 };
  arena_init(&arena, FAULTS_ARENA_MAX);
  struct rg_config *config = rg_config_load(span_of(path), &arena, &faults);
  if (!config) tell_faults(&faults, path, why, cap);
  arena_done(&arena);
  return config;
}

/* Under mu. */
static struct rg_account *account_find(const struct rg_gate *gate, struct span name)
{
  for (size_t i = 0; i < gate->account_count; i++) {
    if (span_is(name, gate->accounts[i]->name)) return gate->accounts[i];
  }
  return NULL;
}

static bool account_add(struct rg_gate *gate, struct span name)
{
  struct rg_account *account = rg_account_new(gate, name);
  if (!account) return false;
  pthread_mutex_lock(&gate->mu);
  struct rg_account **grown =
      realloc(gate->accounts, (gate->account_count + 1) * sizeof(struct rg_account *));
  if (grown) {
    gate->accounts = grown;
    gate->accounts[gate->account_count++] = account;
  }
  pthread_mutex_unlock(&gate->mu);
  if (!grown) rg_account_free(account);
  return grown != NULL;
}

/* A configuration on its way to the service thread. */
struct change {
  struct rg_gate *gate;
  struct rg_config *config;
  int32_t rc;
};

/* Only the service thread adds accounts, so that it may look at them without the lock. They are made
 * first: a failure changes nothing. */
static bool accounts_make(struct rg_gate *gate, const struct rg_config *config)
{
  for (size_t i = 0; i < config->endpoint_count; i++) {
    struct span name = config->endpoints[i].name;
    if (!account_find(gate, name) && !account_add(gate, name)) return false;
  }
  return true;
}

/* Service thread: every account becomes what the configuration says of it. */
static void change_apply(void *arg)
{
  struct change *change = arg;
  struct rg_gate *gate = change->gate;
  struct rg_config *config = change->config;
  change->rc = RG_ENOMEM;
  if (!accounts_make(gate, config)) return;
  pthread_mutex_lock(&gate->mu);
  struct rg_config *old = gate->config;
  gate->config = rg_config_keep(config);
  pthread_mutex_unlock(&gate->mu);
  if (old && !span_eq(old->store, config->store)) {
    rg_log_line(&gate->log, RG_LOG_WARN, "store: the change needs a restart");
  }
  if (old && old->journal != config->journal) {
    rg_log_line(&gate->log, RG_LOG_WARN, "journal: the change needs a restart");
  }
  if (old) rg_settings_use(gate->settings, config, gate->store);
  if (!gate->relay) gate->relay = rg_relay_new(gate);
  if (!gate->agent) gate->agent = rg_agent_new(gate);
  if (!gate->relay || !gate->agent) return;
  rg_config_release(old);
  for (size_t i = 0; i < gate->account_count; i++) {
    struct rg_account *account = gate->accounts[i];
    rg_account_configure(account, config, rg_config_endpoint(config, span_of(account->name)));
  }
  rg_relay_configure(gate->relay, config);
  if (!old) rg_recovery_run(gate); /* before any event can begin a turn */
  change->rc = RG_OK;
}

static void say_not_built(struct rg_gate *gate, const struct rg_config *config)
{
  for (size_t i = 0; i < config->not_built.count; i++) {
    struct span key = config->not_built.items[i];
    rg_log_line(&gate->log, RG_LOG_WARN, "%.*s: not built in yet", (int)key.len, key.ptr);
  }
}

static int32_t config_install(struct rg_gate *gate, struct rg_config *config, char *why, size_t cap)
{
  if (!rg_log_configure(&gate->log, config->log_level, config->log_file)) {
    tell_why(why, cap, "log.file cannot be opened for writing: %.*s", (int)config->log_file.len,
             config->log_file.ptr);
    return RG_ECONFIG;
  }
  struct change change = { .gate = gate, .config = config, .rc = RG_ESYSTEM };
  ob_service_run(gate->service, change_apply, &change);
  if (change.rc == RG_OK) {
    say_not_built(gate, config);
  } else {
    tell_why(why, cap, "out of memory");
  }
  return change.rc;
}

int32_t rg_gate_reload(struct rg_gate *gate, char *why, size_t cap)
{
  if (!gate) return RG_EARGUMENT;
  struct rg_config *config = config_load(gate->config_path, why, cap);
  if (!config) {
    rg_log_line(&gate->log, RG_LOG_WARN, "the configuration has faults; the old one stays");
    return RG_ECONFIG;
  }
  int32_t rc = config_install(gate, config, why, cap);
  if (rc == RG_OK) rg_log_line(&gate->log, RG_LOG_INFO, "the configuration was read anew");
  rg_follow_now(gate->follow);
  rg_config_release(config);
  return rc;
}

/* --- opening and closing --- */

static void service_line(void *ctx, enum ob_log_level level, const char *line)
{
  struct rg_gate *gate = ctx;
  rg_log_line(&gate->log, (int32_t)level, "%s", line);
}

static void gate_free(struct rg_gate *gate)
{
  if (!gate) return;
  rg_media_free(gate->media);
  rg_http_free(gate->http);
  for (size_t i = 0; i < gate->account_count; i++) rg_account_free(gate->accounts[i]);
  free(gate->accounts);
  rg_conversations_done(&gate->conversations);
  rg_follow_free(gate->follow);
  rg_settings_free(gate->settings);
  rg_journal_free(gate->journal);
  rg_store_close(gate->own_store);
  rg_store_close(gate->store);
  arena_done(&gate->event_arena);
  rg_config_release(gate->config);
  free((void *)gate->home.ptr);
  free(gate->config_path);
  rg_log_done(&gate->log);
  pthread_mutex_destroy(&gate->mu);
  free(gate);
}

static void settings_note(void *ctx, struct span line)
{
  struct rg_gate *gate = ctx;
  rg_log_line(&gate->log, RG_LOG_WARN, "%.*s", (int)line.len, line.ptr);
}

/* What was set in the chat. A store that cannot be read costs the overrides, not the bot. */
static bool settings_open(struct rg_gate *gate, struct rg_config *config)
{
  char why[256];
  if (config->store.len > 0) {
    gate->store = rg_store_new(config->store, why, sizeof why);
    if (!gate->store) rg_log_line(&gate->log, RG_LOG_WARN, "store: %s", why);
  }
  gate->settings = rg_settings_new(config, gate->store, settings_note, gate);
  if (!gate->settings) return false;
  if (!rg_settings_load(gate->settings, why, sizeof why)) {
    rg_log_line(&gate->log, RG_LOG_WARN, "store: %s", why);
  }
  gate->follow = rg_follow_new(gate->store, gate->settings, &gate->log, RG_FOLLOW_MS);
  return true;
}

/* Where the journal is: it is one machine's. NULL and why: memory ran out. */
static struct rg_store *journal_store(struct rg_gate *gate, const struct rg_config *config,
                                      char *why, size_t cap)
{
  if (span_eq(config->journal_store, config->store)) return gate->store;
  gate->own_store = rg_store_new(config->journal_store, why, cap);
  return gate->own_store;
}

static void journal_trouble(void *ctx)
{
  struct rg_gate *gate = ctx;
  rg_notify(gate, NULL, RG_NOTIFY_JOURNAL_OFF, SPAN(""));
}

/* Claims the journal. False, with why: it is required and cannot be had. */
static bool journal_open(struct rg_gate *gate, const struct rg_config *config, char *why,
                         size_t cap)
{
  char fault[512] = "";
  struct rg_journal_options options = {
    .optional = config->journal == RG_JOURNAL_OPTIONAL,
    .log = &gate->log,
    .trouble = journal_trouble,
    .ctx = gate,
  };
  if (config->journal == RG_JOURNAL_OFF) return true;
  options.store = journal_store(gate, config, fault, sizeof fault);
  if (!options.store) {
    rg_log_line(&gate->log, RG_LOG_WARN, "journal: there is no store, so a crash may lose turns");
    return true;
  }
  gate->journal = rg_journal_open(&options, &gate->last_ticket, fault, sizeof fault);
  if (gate->journal) return true;
  if (options.optional) {
    rg_log_line(&gate->log, RG_LOG_ERROR,
                "journal: %s Sending goes on without it (journal: optional).", fault);
    return true;
  }
  tell_why(why, cap, "journal: %s (journal: optional goes on without it)", fault);
  return false;
}

/* The parts that need nothing but memory. */
static struct rg_gate *gate_new(const struct rg_host *host, struct span path)
{
  struct rg_gate *gate = calloc(1, sizeof *gate);
  if (!gate) return NULL;
  memcpy(&gate->host, host, host->size < sizeof gate->host ? host->size : sizeof gate->host);
  arena_init(&gate->event_arena, EVENT_ARENA_MAX);
  const char *home = getenv("HOME");
  char *own_home = home ? strdup(home) : NULL;
  gate->home = span_of(own_home);
  gate->config_path = strndup(path.ptr, path.len);
  gate->http = rg_http_new();
  gate->media = gate->http ? rg_media_new(gate->http) : NULL;
  bool log = rg_log_init(&gate->log, &gate->host);
  if (!log || !gate->media || !gate->config_path || pthread_mutex_init(&gate->mu, NULL) != 0) {
    if (log) rg_log_done(&gate->log);
    rg_media_free(gate->media);
    rg_http_free(gate->http);
    free(gate->config_path);
    free(own_home);
    free(gate);
    return NULL;
  }
  return gate;
}

static bool host_usable(const struct rg_host *host)
{
  return host && host->size >= offsetof(struct rg_host, log) && host->abi == RG_ABI;
}

static bool service_start(struct rg_gate *gate, char *why, size_t cap)
{
  struct schema_error error = { .code = SCHEMA_OK };
  const struct ob_service_options options = {
    .ctx = gate,
    .log = service_line,
    .process = &rg_process,
  };
  if (ob_service_start(&options, &gate->service, &error) == SCHEMA_OK) return true;
  tell_why(why, cap, "%s", error.what ? error.what : "the service thread cannot be started");
  return false;
}

/* From now on nothing new is begun. */
static void begin_end(void *arg)
{
  struct rg_gate *gate = arg;
  gate->closing = true;
}

static void shut_down(void *arg)
{
  struct rg_gate *gate = arg;
  rg_relay_free(gate->relay);
  gate->relay = NULL;
  for (size_t i = 0; i < gate->account_count; i++) rg_account_close(gate->accounts[i]);
  rg_delivery_end(gate);
  rg_agent_free(gate->agent);
  gate->agent = NULL;
}

int32_t rg_gate_open_timed(const struct rg_host *host, struct rg_bytes config_path,
                           const struct rg_timing *timing, struct rg_gate **ret, char *why,
                           size_t cap)
{
  tell_why(why, cap, "%s", "");
  if (!host_usable(host) || !ret || config_path.len == 0 ||
      memchr(config_path.ptr, '\0', config_path.len)) {
    tell_why(why, cap, "wrong arguments: a host of ABI %u and a path are needed", RG_ABI);
    return RG_EARGUMENT;
  }
  struct rg_gate *gate = gate_new(host, span_from(config_path));
  if (!gate) {
    tell_why(why, cap, "out of memory");
    return RG_ENOMEM;
  }
  gate->timing = *timing;
  int32_t rc = RG_ECONFIG;
  struct rg_config *config = config_load(gate->config_path, why, cap);
  if (!config) goto fail;
  rc = RG_ENOMEM;
  if (!settings_open(gate, config)) {
    tell_why(why, cap, "out of memory");
    goto fail;
  }
  rc = RG_ESYSTEM;
  if (!journal_open(gate, config, why, cap)) goto fail;
  if (!service_start(gate, why, cap)) goto fail;
  rc = config_install(gate, config, why, cap);
  if (rc != RG_OK) goto fail;
  if (rg_process_tls_fault())
    rg_log_line(&gate->log, RG_LOG_WARN, "HTTP and wss:// are off: %s", rg_process_tls_fault());
  rg_config_release(config);
  *ret = gate;
  return RG_OK;
fail:
  if (gate->service) ob_service_run(gate->service, shut_down, gate);
  ob_service_stop(gate->service);
  rg_config_release(config);
  gate_free(gate);
  return rc;
}

int32_t rg_gate_open(const struct rg_host *host, struct rg_bytes config_path, struct rg_gate **ret,
                     char *why, size_t cap)
{
  return rg_gate_open_timed(host, config_path, &rg_timing, ret, why, cap);
}

void rg_gate_close(struct rg_gate *gate)
{
  if (!gate) return;
  ob_service_run(gate->service, begin_end, gate);
  rg_media_free(gate->media); /* gives back the jobs that it has */
  gate->media = NULL;
  rg_http_free(gate->http); /* nobody asks once closing is set */
  gate->http = NULL;
  ob_service_run(gate->service, shut_down, gate);
  ob_service_stop(gate->service);
  gate_free(gate);
}

/* --- turns --- */

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
};

static int32_t scene_set(struct rg_gate *gate, const struct rg_turn *turn, struct scene *ret)
{
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
  ret->account = account_find(gate, endpoint->name);
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

struct rg_account *rg_gate_account(struct rg_gate *gate, struct span name)
{
  pthread_mutex_lock(&gate->mu);
  const struct rg_endpoint *e = rg_config_endpoint(gate->config, name);
  struct rg_account *account = e ? account_find(gate, e->name) : NULL;
  pthread_mutex_unlock(&gate->mu);
  return account;
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
  int32_t rc = scene_set(gate, &turn, &scene);
  if (rc != RG_OK) return rc;
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

/* --- what asks nothing of the network --- */

static int32_t give(struct buf *from, struct rg_buf *to)
{
  if (from->failed) {
    buf_done(from);
    return RG_ENOMEM;
  }
  to->ptr = buf_take(from, &to->len);
  return RG_OK;
}

void rg_gate_release(struct rg_buf *buf)
{
  if (!buf) return;
  free(buf->ptr);
  *buf = (struct rg_buf) { .ptr = NULL };
}

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
    rc = give(&json, report);
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
    rc = give(&a, schema);
    if (rc == RG_OK) {
      rc = give(&b, instruction);
      if (rc != RG_OK) rg_gate_release(schema);
    } else {
      buf_done(&b);
    }
  }
  rg_job_free(job);
  rg_view_done(&scene.view);
  return rc;
}

const char *rg_state_word(enum ob_link_state state)
{
  static const char *const words[] = {
    [OB_LINK_DOWN] = "down",
    [OB_LINK_OPEN] = "open",
    [OB_LINK_READY] = "ready",
    [OB_LINK_REFUSED] = "refused",
  };
  return words[state];
}

static void write_number(struct schema_writer *w, const char *key, uint64_t n)
{
  schema_write_key(w, span_of(key));
  schema_write_int(w, (int64_t)n);
}

int32_t rg_gate_stats(struct rg_gate *gate, struct rg_buf *ret)
{
  if (!gate || !ret) return RG_EARGUMENT;
  struct buf json;
  struct schema_writer w = { .out = &json };
  buf_init(&json, CONTRACT_MAX);
  schema_write_object(&w);
  schema_write_pair(&w, "version", SPAN(RG_VERSION));
  pthread_mutex_lock(&gate->mu);
  write_number(&w, "submitted", gate->submitted);
  write_number(&w, "waiting", gate->waiting);
  for (int i = 0; i < RG_ENDING_COUNT; i++) write_number(&w, rg_ending_word(i), gate->endings[i]);
  write_number(&w, "events", gate->events);
  write_number(&w, "conversations", gate->conversations.count);
  schema_write_pair(&w, "journal", span_of(rg_journal_state(gate->journal)));
  schema_write_key(&w, SPAN("endpoints"));
  schema_write_array(&w);
  for (size_t i = 0; i < gate->account_count; i++) {
    const struct rg_account *a = gate->accounts[i];
    if (!rg_config_endpoint(gate->config, span_of(a->name))) continue;
    schema_write_object(&w);
    schema_write_pair(&w, "name", span_of(a->name));
    schema_write_pair(&w, "state", span_of(rg_presence_word(a)));
    schema_write_pair(&w, "profile", span_of(a->peer.profile.name));
    schema_write_pair(&w, "version", span_of(a->version));
    schema_write_pair(&w, "self_id", span_of(a->peer.self_id));
    schema_write_object_end(&w);
  }
  schema_write_array_end(&w);
  pthread_mutex_unlock(&gate->mu);
  schema_write_object_end(&w);
  return give(&json, ret);
}
