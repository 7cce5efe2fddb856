/* gate: see gate.h. The life of an instance: its configuration, its accounts, opening and closing,
 * and what it tells of itself. */
#include "plugin/gate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "plugin/agent/agent.h"
#include "plugin/delivery/delivery.h"
#include "plugin/delivery/journal.h"
#include "plugin/delivery/recovery.h"
#include "plugin/process.h"
#include "plugin/relay/relay.h"
#include "plugin/store/follow.h"

enum {
  EVENT_ARENA_MAX = 4 * OB_FRAME_MAX, /* the tree of the largest frame */
  STATS_MAX = 1024 * 1024,            /* a line for each endpoint and framework */
  FAULTS_ARENA_MAX = 1024 * 1024,     /* the faults of a configuration, a line each */
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
struct rg_account *rg_account_find(const struct rg_gate *gate, struct span name)
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
    if (!rg_account_find(gate, name) && !account_add(gate, name)) return false;
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

static void say_lacks(struct rg_gate *gate, const struct rg_config *config)
{
  if (config->endpoint_count == 0)
    rg_log_line(&gate->log, RG_LOG_WARN,
                "the configuration has no endpoints: nothing can be received or sent");
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
    say_lacks(gate, config);
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
    if (!gate->store) rg_log_line(&gate->log, RG_LOG_WARN, "%s", why);
  }
  gate->settings = rg_settings_new(config, gate->store, settings_note, gate);
  if (!gate->settings) return false;
  if (!rg_settings_load(gate->settings, why, sizeof why)) {
    rg_log_line(&gate->log, RG_LOG_WARN, "%s", why);
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

static void journal_trouble(void *ctx, bool full)
{
  struct rg_gate *gate = ctx;
  rg_notify(gate, NULL, full ? RG_NOTIFY_JOURNAL_FULL : RG_NOTIFY_JOURNAL_OFF, SPAN(""));
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
  gate->journal_missing = true;
  if (!options.store) {
    rg_log_line(&gate->log, RG_LOG_WARN, "journal: there is no store, so a crash may lose turns");
    return true;
  }
  gate->journal = rg_journal_open(&options, &gate->last_ticket, fault, sizeof fault);
  gate->journal_missing = !gate->journal;
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
  if (gate->journal_missing) journal_trouble(gate, false);
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
  if (ob_service_here(gate->service)) { /* it cannot wait for itself */
    rg_log_line(
        &gate->log, RG_LOG_ERROR,
        "close was called from one of the host's own functions, which must not call back in: "
        "nothing is closed");
    return;
  }
  ob_service_run(gate->service, begin_end, gate);
  rg_media_free(gate->media); /* gives back the jobs that it has */
  gate->media = NULL;
  rg_http_free(gate->http); /* nobody asks once closing is set */
  gate->http = NULL;
  ob_service_run(gate->service, shut_down, gate);
  ob_service_stop(gate->service);
  gate_free(gate);
}

struct rg_account *rg_gate_account(struct rg_gate *gate, struct span name)
{
  pthread_mutex_lock(&gate->mu);
  const struct rg_endpoint *e = rg_config_endpoint(gate->config, name);
  struct rg_account *account = e ? rg_account_find(gate, e->name) : NULL;
  pthread_mutex_unlock(&gate->mu);
  return account;
}

/* --- what asks nothing of the network --- */

int32_t rg_gate_give(struct buf *from, struct rg_buf *to)
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
  buf_init(&json, STATS_MAX);
  schema_write_object(&w);
  schema_write_pair(&w, "version", SPAN(RG_VERSION));
  pthread_mutex_lock(&gate->mu);
  write_number(&w, "submitted", gate->submitted);
  write_number(&w, "waiting", gate->waiting);
  for (int i = 0; i < RG_ENDING_COUNT; i++) write_number(&w, rg_ending_word(i), gate->endings[i]);
  write_number(&w, "events", gate->events);
  write_number(&w, "conversations", gate->conversations.count);
  schema_write_pair(&w, "journal",
                    span_of(gate->journal_missing ? "failing" : rg_journal_state(gate->journal)));
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
  return rg_gate_give(&json, ret);
}
