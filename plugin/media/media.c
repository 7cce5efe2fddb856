#include "plugin/media/media.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onebot/plan.h"
#include "plugin/media/media_ref.h"
#include "plugin/media/media_type.h"
#include "plugin/thread.h"
#include "schema/reference.h"

enum {
  ORDERS_MAX = 256,             /* replies with media that wait at once */
  REDIRECTS_MAX = 5,            /* reply.md 5 */
  FETCH_MS = 30 * 1000,         /* reply.md 5 */
  INLINE_MAX = 8 * 1024 * 1024, /* deliver: auto sends up to so much as base64 (design 8) */
};

/* One reply on its way. Belongs to the media thread but while a fetch runs. */
struct order {
  struct order *next;
  struct rg_media *media;
  struct rg_media_order o;
  struct schema_message *messages; /* copies, in the order's arena, that are changed in place */
  struct schema_segment *segment;  /* the one at hand */
  size_t message_at, segment_at;
  struct rg_media_fault *faults;
  size_t fault_count;
  /* a fetch that runs, and what it brought until the media thread takes it up */
  uint64_t fetch;
  struct order *next_fetching, **here;
  bool fetched;
  const char *fetch_fault;
  struct span body;
  char *url;
};

struct rg_media {
  struct rg_http *http;
  pthread_mutex_t mu; /* guards all below but magic, which is the thread's */
  pthread_cond_t more;
  pthread_t thread;
  bool started, stopping;
  size_t count; /* taken and not done */
  struct order *first, **last;
  struct order *fetching; /* those that wait for HTTP */
  struct rg_magic magic;
};

/* Opaque references pass unchecked (reply.md 78), and so does an empty one: what was judged as no
 * usable reference, which the plan shows as its notice. */
static bool is_media(const struct rg_group *g, const struct schema_segment *s)
{
  if (schema_segment_types[s->type].shape != SCHEMA_SHAPE_MEDIA) return false;
  if (s->media_kind == SCHEMA_MEDIA_URL) return g->media.inspect && s->text.len > 0;
  return s->media_kind != SCHEMA_MEDIA_FILE;
}

bool rg_media_needed(const struct rg_group *settings, const struct schema_reply *reply)
{
  for (size_t m = 0; m < reply->count; m++)
    for (size_t s = 0; s < reply->messages[m].count; s++)
      if (is_media(settings, &reply->messages[m].segments[s])) return true;
  return false;
}

/* ---- what becomes of one segment ---- */

static void refuse(struct order *j, const char *reason)
{
  struct schema_segment *s = j->segment;
  j->faults[j->fault_count++] = (struct rg_media_fault) { j->message_at, j->segment_at, reason };
  *s = (struct schema_segment) { .type = SCHEMA_TEXT,
                                 .text = ob_plan_notice(s->type, j->o.language) };
}

static void become(struct order *j, enum schema_media_kind kind, struct span value)
{
  if (!value.ptr) {
    refuse(j, "memory");
    return;
  }
  j->segment->media_kind = kind;
  j->segment->text = value;
}

/* An attachment of a directive whose name says nothing is what its bytes are. */
static void type_by_bytes(struct order *j, const struct rg_media_type *type)
{
  struct schema_segment *s = j->segment;
  struct span name = { s->text.ptr, s->text.len };
  if (!j->o.directive || s->type != SCHEMA_FILE) return;
  for (size_t i = 0; i < s->text.len && name.len == s->text.len; i++)
    if (s->text.ptr[i] == '?' || s->text.ptr[i] == '#') name.len = i;
  enum schema_type is = type->class == RG_MEDIA_IMAGE   ? SCHEMA_IMAGE
                        : type->class == RG_MEDIA_VIDEO ? SCHEMA_VIDEO
                                                        : SCHEMA_FILE;
  if (!schema_reference_has_extension(name) && j->o.settings->segments >> is & 1u) s->type = is;
}

/* NULL: the bytes may go as the segment at hand. */
static const char *bytes_fault(struct order *j, struct span head, size_t size)
{
  if (size == 0) return "empty";
  if (size > j->o.settings->media.max_bytes) return "size";
  struct rg_media_type type = rg_media_type_of(head, &j->media->magic);
  type_by_bytes(j, &type);
  return rg_media_type_fits(&type, j->segment->type) ? NULL : "type";
}

static void judge_base64(struct order *j)
{
  size_t head_len = 0, size = 0;
  char *head = malloc(RG_MEDIA_HEAD);
  const char *fault = "memory";
  if (head) fault = "base64";
  if (head && rg_media_base64(j->segment->text, head, RG_MEDIA_HEAD, &head_len, &size))
    fault = bytes_fault(j, (struct span) { head, head_len }, size);
  free(head);
  if (fault) refuse(j, fault);
}

/* Reads all of an open file of that size. NULL: it could not, or it has another size by now. */
static char *read_all(int fd, size_t size)
{
  char *bytes = malloc(size + 1);
  size_t got = 0;
  while (bytes && got <= size) {
    ssize_t n = read(fd, bytes + got, size + 1 - got);
    if (n <= 0) break;
    got += (size_t)n;
  }
  if (bytes && got == size) return bytes;
  free(bytes);
  return NULL;
}

static void use_bytes(struct order *j, struct span bytes)
{
  become(j, SCHEMA_MEDIA_BASE64, rg_media_base64_print(bytes, j->o.arena));
}

static void judge_path(struct order *j)
{
  const struct rg_group *g = j->o.settings;
  struct span path;
  const char *fault =
      rg_media_path_fault(&g->media.roots, rg_media_home(), j->segment->text, j->o.arena, &path);
  int fd = fault ? -1 : rg_media_path_open(&g->media.roots, path.ptr);
  char *bytes = NULL;
  struct stat st;
  if (!fault && (fd < 0 || fstat(fd, &st) != 0)) fault = "path";
  if (!fault && (uint64_t)st.st_size > g->media.max_bytes) fault = "size";
  if (!fault && !(bytes = read_all(fd, (size_t)st.st_size))) fault = "path";
  struct span all = { bytes, bytes ? (size_t)st.st_size : 0 };
  if (!fault) fault = bytes_fault(j, all, all.len);
  if (fault)
    refuse(j, fault);
  else if (j->o.endpoint->files == RG_FILES_SHARED)
    become(j, SCHEMA_MEDIA_PATH, rg_media_path_map(&j->o.endpoint->path_map, path, j->o.arena));
  else
    use_bytes(j, all);
  free(bytes);
  if (fd >= 0) close(fd);
}

static void use_fetched(struct order *j)
{
  const struct rg_group *g = j->o.settings;
  const char *fault = j->fetch_fault;
  if (!fault) fault = bytes_fault(j, j->body, j->body.len);
  if (fault)
    refuse(j, fault);
  else if (g->media.deliver == RG_DELIVER_URL ||
           (g->media.deliver == RG_DELIVER_AUTO && j->body.len > INLINE_MAX))
    become(j, SCHEMA_MEDIA_URL, arena_copy(j->o.arena, span_of(j->url)));
  else
    use_bytes(j, j->body);
  free((char *)j->body.ptr);
  free(j->url);
  j->body = (struct span) { 0 };
  j->url = NULL;
  j->fetch_fault = NULL;
  j->fetched = false;
}

/* ---- the order's way through its reply ---- */

static void put(struct rg_media *m, struct order *j)
{
  pthread_mutex_lock(&m->mu);
  j->next = NULL;
  *m->last = j;
  m->last = &j->next;
  pthread_cond_signal(&m->more);
  pthread_mutex_unlock(&m->mu);
}

static const char *fetch_fault(const struct rg_http_answer *a)
{
  switch (a->end) {
  case RG_HTTP_OK: return a->status == 200 ? NULL : "fetch";
  case RG_HTTP_TOO_LARGE: return "size";
  case RG_HTTP_GUARDED: return "host";
  case RG_HTTP_TIMEOUT:
  case RG_HTTP_FAILED:
  case RG_HTTP_CANCELLED: break;
  }
  return "fetch";
}

/* Under the mutex. */
static void fetching_add(struct rg_media *m, struct order *j)
{
  j->next_fetching = m->fetching;
  if (j->next_fetching) j->next_fetching->here = &j->next_fetching;
  j->here = &m->fetching;
  m->fetching = j;
}

static void fetching_remove(struct rg_media *m, struct order *j)
{
  pthread_mutex_lock(&m->mu);
  *j->here = j->next_fetching;
  if (j->next_fetching) j->next_fetching->here = j->here;
  pthread_mutex_unlock(&m->mu);
}

/* On the HTTP thread. */
static void on_fetched(void *ctx, const struct rg_http_answer *a)
{
  struct order *j = ctx;
  fetching_remove(j->media, j);
  j->fetched = true;
  j->fetch_fault = fetch_fault(a);
  if (!j->fetch_fault) {
    char *bytes = malloc(a->body.len + 1);
    j->url = strdup(a->url);
    if (bytes && j->url) {
      if (a->body.len) memcpy(bytes, a->body.ptr, a->body.len);
      j->body = (struct span) { bytes, a->body.len };
    } else {
      free(bytes);
      j->fetch_fault = "memory";
    }
  }
  put(j->media, j);
}

/* Asks for the address of the segment at hand. True: the order goes on when it has come. */
static bool fetch(struct order *j)
{
  const struct rg_group *g = j->o.settings;
  struct span url = arena_copy(j->o.arena, j->segment->text);
  struct rg_http_request r = {
    .url = url.ptr,
    .guarded = g->media.public_hosts,
    .https_only = j->o.directive || !(g->media.schemes & 2u),
    .redirects =
        g->media.public_hosts ? REDIRECTS_MAX : 0, /* a named host speaks for itself only */
    .total_ms = FETCH_MS,
    .body_max = g->media.max_bytes,
    .ctx = j,
    .done = on_fetched,
  };
  /* on_fetched needs the mutex too: it cannot come before the order is in the list */
  pthread_mutex_lock(&j->media->mu);
  bool sent = url.ptr && !j->media->stopping && (j->fetch = rg_http_send(j->media->http, &r));
  if (sent) fetching_add(j->media, j);
  pthread_mutex_unlock(&j->media->mu);
  if (!sent) refuse(j, "fetch");
  return sent;
}

/* True: the order goes on later. */
static bool judge_url(struct order *j)
{
  const char *fault = rg_media_url_fault(j->o.settings, j->o.directive, j->segment->text);
  if (fault) {
    refuse(j, fault);
    return false;
  }
  return fetch(j);
}

/* Judges the segment at hand; true: a fetch runs, and the order goes on when it has come. */
static bool judge(struct order *j)
{
  switch (j->segment->media_kind) {
  case SCHEMA_MEDIA_BASE64: judge_base64(j); break;
  case SCHEMA_MEDIA_PATH: judge_path(j); break;
  case SCHEMA_MEDIA_URL: return judge_url(j);
  case SCHEMA_MEDIA_FILE:
  case SCHEMA_MEDIA_KIND_COUNT: break;
  }
  return false;
}

/* Moves on to the next segment that is to be judged. False: there is none. */
static bool find_next(struct order *j)
{
  const struct schema_reply *r = j->o.reply;
  for (; j->message_at < r->count; j->message_at++, j->segment_at = 0)
    for (; j->segment_at < j->messages[j->message_at].count; j->segment_at++) {
      j->segment = (struct schema_segment *)&j->messages[j->message_at].segments[j->segment_at];
      if (is_media(j->o.settings, j->segment)) return true;
    }
  return false;
}

static void finish(struct order *j)
{
  struct rg_media *m = j->media;
  struct schema_reply *resolved = arena_zalloc(j->o.arena, 1, sizeof *resolved);
  if (resolved) {
    *resolved = *j->o.reply;
    resolved->messages = j->messages;
  }
  j->o.done(j->o.ctx, resolved, j->faults, j->fault_count);
  free(j);
  pthread_mutex_lock(&m->mu);
  m->count--;
  pthread_cond_broadcast(&m->more);
  pthread_mutex_unlock(&m->mu);
}

static void run(struct order *j)
{
  if (j->fetched) {
    use_fetched(j);
    j->segment_at++;
  }
  while (find_next(j)) {
    if (judge(j)) return;
    j->segment_at++;
  }
  finish(j);
}

static void *media_main(void *arg)
{
  struct rg_media *m = arg;
  pthread_mutex_lock(&m->mu);
  while (!m->stopping || m->count > 0) {
    struct order *j = m->first;
    if (!j) {
      pthread_cond_wait(&m->more, &m->mu);
      continue;
    }
    m->first = j->next;
    if (!m->first) m->last = &m->first;
    pthread_mutex_unlock(&m->mu);
    run(j);
    pthread_mutex_lock(&m->mu);
  }
  pthread_mutex_unlock(&m->mu);
  rg_magic_done(&m->magic);
  return NULL;
}

/* ---- any thread ---- */

struct rg_media *rg_media_new(struct rg_http *http)
{
  struct rg_media *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->http = http;
  m->last = &m->first;
  if (pthread_mutex_init(&m->mu, NULL) != 0) goto no_mutex;
  if (pthread_cond_init(&m->more, NULL) != 0) goto no_cond;
  return m;
no_cond:
  pthread_mutex_destroy(&m->mu);
no_mutex:
  free(m);
  return NULL;
}

void rg_media_free(struct rg_media *m)
{
  if (!m) return;
  pthread_mutex_lock(&m->mu);
  m->stopping = true;
  for (struct order *j = m->fetching; j; j = j->next_fetching) rg_http_cancel(m->http, j->fetch);
  pthread_cond_broadcast(&m->more);
  pthread_mutex_unlock(&m->mu);
  if (m->started) pthread_join(m->thread, NULL);
  pthread_cond_destroy(&m->more);
  pthread_mutex_destroy(&m->mu);
  free(m);
}

static struct order *order_new(struct rg_media *m, const struct rg_media_order *o)
{
  const struct schema_reply *r = o->reply;
  struct order *j = calloc(1, sizeof *j);
  size_t media = 0;
  if (!j) return NULL;
  j->media = m;
  j->o = *o;
  j->messages = arena_zalloc(o->arena, r->count, sizeof *j->messages);
  for (size_t i = 0; j->messages && i < r->count; i++) {
    struct schema_segment *copy = arena_zalloc(o->arena, r->messages[i].count, sizeof *copy);
    if (!copy && r->messages[i].count) goto fail;
    for (size_t s = 0; s < r->messages[i].count; s++) {
      copy[s] = r->messages[i].segments[s];
      media += is_media(o->settings, &copy[s]);
    }
    j->messages[i] = r->messages[i];
    j->messages[i].segments = copy;
  }
  j->faults = arena_zalloc(o->arena, media ? media : 1, sizeof *j->faults);
  if (j->messages && j->faults) return j;
fail:
  free(j);
  return NULL;
}

bool rg_media_judge(struct rg_media *m, const struct rg_media_order *o)
{
  if (!rg_media_needed(o->settings, o->reply)) {
    o->done(o->ctx, o->reply, NULL, 0);
    return true;
  }
  struct order *j = order_new(m, o);
  if (!j) return false;
  pthread_mutex_lock(&m->mu);
  bool taken = !m->stopping && m->count < ORDERS_MAX;
  if (taken && !m->started)
    m->started = taken = rg_thread_start(&m->thread, "replygate-media", media_main, m);
  if (taken) m->count++;
  pthread_mutex_unlock(&m->mu);
  if (taken)
    put(m, j);
  else
    free(j);
  return taken;
}
