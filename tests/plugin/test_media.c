#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "onebot/listen.h"
#include "plugin/media/media.h"
#include "plugin/media/media_ref.h"
#include "plugin/process.h"

#define PNG "\x89PNG\r\n\x1a\n"

enum { LIMIT = 4096 };

struct fixture {
  struct ob_service *service;
  struct ob_listener *listener;
  struct rg_http *http;
  struct rg_media *media;
  struct arena arena;
  struct span host;
  struct rg_group group;
  struct rg_endpoint endpoint;
  char folder[32];
  struct span root;
};

static char bytes[LIMIT + 1] = PNG;

/* A server with pictures of the limit and one byte more, a redirect, and something else. */
static void on_request(void *ctx, struct ob_request *r)
{
  (void)ctx;
  struct span limit = { bytes, LIMIT }, more = { bytes, LIMIT + 1 };
  if (span_is(r->path, "/limit.png"))
    ob_request_answer(r, 200, "image/png", NULL, limit, OB_BODY_COPY);
  else if (span_is(r->path, "/more.png"))
    ob_request_answer(r, 200, "image/png", NULL, more, OB_BODY_COPY);
  else if (span_is(r->path, "/lie.png"))
    ob_request_answer(r, 200, "image/png", NULL, SPAN("<html>log in</html>"), OB_BODY_COPY);
  else if (span_is(r->path, "/away.png"))
    ob_request_answer(r, 302, "text/plain", "Location: /limit.png\r\n", SPAN("away"), OB_BODY_COPY);
}

static void begin(struct fixture *f)
{
  struct ob_service_options so = { .process = &rg_process };
  struct ob_listen_options lo = { .name = "files", .host = "127.0.0.1", .any_host = true };
  memset(f, 0, sizeof *f);
  lo.on.request = on_request;
  cr_assert_eq(ob_service_start(&so, &f->service, NULL), SCHEMA_OK);
  cr_assert_eq(ob_listen_open(f->service, &lo, &f->listener, NULL), SCHEMA_OK);
  f->http = rg_http_new();
  f->media = rg_media_new(f->http);
  arena_init(&f->arena, 1 << 24);
  f->host = SPAN("127.0.0.1");
  f->group.media.max_bytes = LIMIT;
  f->group.media.hosts = (struct rg_list) { &f->host, 1 };
  f->group.media.schemes = 3;
  f->group.media.inspect = true;
  strcpy(f->folder, "/tmp/media.XXXXXX");
  cr_assert(mkdtemp(f->folder));
  f->root = span_of(f->folder);
  f->group.media.roots = (struct rg_list) { &f->root, 1 };
}

static void end(struct fixture *f)
{
  rg_media_free(f->media);
  rg_http_free(f->http);
  ob_listen_close(f->listener);
  ob_service_stop(f->service);
  arena_done(&f->arena);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", f->folder);
  cr_assert_eq(system(command), 0);
}

struct result {
  pthread_mutex_t mu;
  pthread_cond_t cond;
  bool done;
  struct schema_segment segment;
  const char *reason;
};

static void on_done(void *ctx, const struct schema_reply *resolved,
                    const struct rg_media_fault *faults, size_t count)
{
  struct result *r = ctx;
  pthread_mutex_lock(&r->mu);
  r->done = true;
  r->segment = resolved->messages[0].segments[0];
  r->reason = count ? faults[0].reason : "";
  pthread_cond_signal(&r->cond);
  pthread_mutex_unlock(&r->mu);
}

static struct result judge(struct fixture *f, enum schema_type type, enum schema_media_kind kind,
                           struct span value)
{
  struct result r = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, { 0 }, NULL };
  struct schema_segment segment = { .type = type, .media_kind = kind, .text = value };
  struct schema_message message = { .segments = &segment, .count = 1 };
  struct schema_reply reply = { .messages = &message, .count = 1 };
  struct rg_media_order order = {
    .settings = &f->group,
    .endpoint = &f->endpoint,
    .language = SCHEMA_EN,
    .reply = &reply,
    .arena = &f->arena,
    .ctx = &r,
    .done = on_done,
  };
  cr_assert(rg_media_judge(f->media, &order));
  pthread_mutex_lock(&r.mu);
  while (!r.done) pthread_cond_wait(&r.cond, &r.mu);
  pthread_mutex_unlock(&r.mu);
  return r;
}

static struct span url(struct fixture *f, const char *path)
{
  return arena_printf(&f->arena, "http://127.0.0.1:%u%s", ob_listen_port(f->listener), path);
}

Test(media, an_address_is_fetched_and_its_bytes_decide)
{
  struct fixture f;
  begin(&f);
  static const struct {
    const char *path, *reason;
  } rows[] = { { "/limit.png", "" },
               { "/more.png", "size" },
               { "/lie.png", "type" },
               { "/away.png", "fetch" },
               { "/none.png", "fetch" } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct result r = judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_URL, url(&f, rows[i].path));
    cr_expect_str_eq(r.reason, rows[i].reason, "%s: %s", rows[i].path, r.reason);
    cr_expect_eq(r.segment.type, *rows[i].reason ? SCHEMA_TEXT : SCHEMA_IMAGE, "%s", rows[i].path);
    if (*rows[i].reason) {
      cr_expect(span_is(r.segment.text, "[image could not be sent]"));
      continue;
    }
    cr_expect_eq(r.segment.media_kind, SCHEMA_MEDIA_BASE64);
    cr_expect_eq(r.segment.text.len, (LIMIT + 2) / 3 * 4);
  }
  cr_expect_str_eq(judge(&f, SCHEMA_AUDIO, SCHEMA_MEDIA_URL, url(&f, "/limit.png")).reason, "type");
  f.group.media.deliver = RG_DELIVER_URL;
  struct result r = judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_URL, url(&f, "/limit.png"));
  cr_expect_eq(r.segment.media_kind, SCHEMA_MEDIA_URL);
  cr_expect(span_eq(r.segment.text, url(&f, "/limit.png")));
  f.group.media.inspect = false;
  r = judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_URL, url(&f, "/lie.png"));
  cr_expect_str_eq(r.reason, "");
  end(&f);
}

Test(media, public_hosts_keep_out_of_this_machine)
{
  struct fixture f;
  begin(&f);
  f.group.media.public_hosts = true;
  cr_expect_str_eq(judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_URL, url(&f, "/limit.png")).reason, "host");
  end(&f);
}

Test(media, a_file_is_read_up_to_the_limit)
{
  struct fixture f;
  begin(&f);
  static const struct {
    const char *name;
    size_t size;
    const char *reason;
  } rows[] = { { "limit", LIMIT, "" }, { "more", LIMIT + 1, "size" }, { "empty", 0, "empty" } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", f.folder, rows[i].name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_eq(write(fd, bytes, rows[i].size), (ssize_t)rows[i].size);
    close(fd);
    struct result r = judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_PATH, span_of(rows[i].name));
    cr_expect_str_eq(r.reason, rows[i].reason, "%s: %s", rows[i].name, r.reason);
  }
  cr_expect_str_eq(judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_PATH, SPAN("/etc/passwd")).reason, "path");
  f.endpoint.files = RG_FILES_SHARED;
  struct span map[] = { f.root, SPAN("/app/media") };
  f.endpoint.path_map = (struct rg_list) { map, 2 };
  struct result r = judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_PATH, SPAN("limit"));
  cr_expect_eq(r.segment.media_kind, SCHEMA_MEDIA_PATH);
  cr_expect(span_is(r.segment.text, "/app/media/limit"));
  end(&f);
}

Test(media, base64_is_measured_decoded_and_opaque_passes)
{
  struct fixture f;
  begin(&f);
  static const size_t sizes[] = { LIMIT, LIMIT + 1 };
  for (size_t i = 0; i < 2; i++) {
    struct span text = rg_media_base64_print((struct span) { bytes, sizes[i] }, &f.arena);
    struct result r = judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_BASE64, text);
    cr_expect_str_eq(r.reason, i == 0 ? "" : "size");
  }
  cr_expect_str_eq(judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_BASE64, SPAN("!!!!")).reason, "base64");
  cr_expect_str_eq(judge(&f, SCHEMA_IMAGE, SCHEMA_MEDIA_BASE64, SPAN("")).reason, "empty");
  cr_expect_str_eq(judge(&f, SCHEMA_VIDEO, SCHEMA_MEDIA_FILE, SPAN("whatever")).reason, "");
  end(&f);
}

static void ignore(void *ctx, const struct schema_reply *r, const struct rg_media_fault *f,
                   size_t n)
{
  (void)r, (void)f, (void)n;
  ++*(int *)ctx;
}

/* Freed in the middle of fetches: each order still ends exactly once. */
Test(media, ends_what_runs)
{
  struct fixture f;
  begin(&f);
  int ends = 0;
  struct schema_segment segment = { .type = SCHEMA_IMAGE, .text = url(&f, "/limit.png") };
  struct schema_message message = { .segments = &segment, .count = 1 };
  struct schema_reply reply = { .messages = &message, .count = 1 };
  struct arena arenas[50];
  for (size_t i = 0; i < 50; i++) {
    arena_init(&arenas[i], 1 << 20);
    struct rg_media_order order = { .settings = &f.group,
                                    .endpoint = &f.endpoint,
                                    .reply = &reply,
                                    .arena = &arenas[i],
                                    .ctx = &ends,
                                    .done = ignore };
    cr_assert(rg_media_judge(f.media, &order));
  }
  rg_media_free(f.media);
  f.media = NULL;
  cr_expect_eq(ends, 50);
  for (size_t i = 0; i < 50; i++) arena_done(&arenas[i]);
  end(&f);
}
