/* link: who is there, where a host carries the frames and may connect long after we are up. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "onebot/link.h"

enum { PROBE_MS = 30, ASKED_MAX = 64, LONG_MS = 4000 };

struct host {
  struct ob_service *service;
  struct ob_link *link;
  pthread_mutex_t mu;
  uint64_t ticket[ASKED_MAX];
  char action[ASKED_MAX][64];
  int asked;
  enum ob_link_state state;
  char why[256];
};

static bool host_send(void *wire, const struct span *parts, size_t count)
{
  struct host *h = wire;
  pthread_mutex_lock(&h->mu);
  cr_assert_lt(h->asked, ASKED_MAX);
  cr_assert_geq(count, 2);
  snprintf(h->action[h->asked], sizeof h->action[0], "%.*s", (int)parts[1].len, parts[1].ptr);
  h->ticket[h->asked++] = ob_link_ticket(h->link);
  pthread_mutex_unlock(&h->mu);
  return true;
}

static uint64_t none(void *wire)
{
  (void)wire;
  return 0;
}

static void end(void *wire, const char *why)
{
  (void)wire, (void)why;
}

static const struct ob_carrier carrier = {
  .send = host_send, .queued = none, .handed = none, .end = end
};

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct host *h = ctx;
  pthread_mutex_lock(&h->mu);
  h->state = state;
  snprintf(h->why, sizeof h->why, "%s", why);
  pthread_mutex_unlock(&h->mu);
}

static void up(void *arg)
{
  struct host *h = arg;
  ob_link_up(h->link, &carrier, h, SPAN(""));
}

static void down(void *arg)
{
  struct host *h = arg;
  ob_link_close(h->link);
  ob_link_free(h->link);
}

static void start(struct host *h, bool patient)
{
  memset(h, 0, sizeof *h);
  pthread_mutex_init(&h->mu, NULL);
  cr_assert_eq(ob_service_start(&(struct ob_service_options) { .ctx = h }, &h->service, NULL),
               SCHEMA_OK);
  h->link = ob_link_new(&(struct ob_link_options) {
      .service = h->service,
      .name = "main",
      .on = { .ctx = h, .state = on_state },
      .probe_ms = PROBE_MS,
      .patient = patient,
  });
  cr_assert(h->link && ob_service_run(h->service, up, h));
}

static void stop(struct host *h)
{
  ob_service_run(h->service, down, h);
  ob_service_stop(h->service);
}

static int asked(struct host *h)
{
  pthread_mutex_lock(&h->mu);
  int n = h->asked;
  pthread_mutex_unlock(&h->mu);
  return n;
}

struct answer {
  struct host *host;
  struct span json; /* empty: none came */
  int from, to;
};

static void answer(void *arg)
{
  const struct answer *a = arg;
  for (int i = a->from; i < a->to; i++) ob_link_answer(a->host->link, a->host->ticket[i], a->json);
}

static bool becomes(struct host *h, enum ob_link_state state)
{
  for (int i = 0; i < LONG_MS / 10; i++) {
    pthread_mutex_lock(&h->mu);
    bool there = h->state == state;
    pthread_mutex_unlock(&h->mu);
    if (there) return true;
    usleep(10 * 1000);
  }
  return false;
}

Test(link, a_patient_one_asks_until_somebody_answers)
{
  struct host h;
  start(&h, true);
  for (int i = 0; i < LONG_MS / 10 && asked(&h) < 6; i++) usleep(10 * 1000);
  cr_assert_geq(asked(&h), 6, "%d", asked(&h));
  cr_expect_eq(h.state, OB_LINK_OPEN);
  int n = asked(&h);
  struct answer late = { &h,
                         SPAN("{\"status\":\"ok\",\"retcode\":0,\"data\":{\"app_name\":"
                              "\"NapCat.Onebot\",\"app_version\":\"4\",\"user_id\":10001}}"),
                         n - 2, n };
  ob_service_run(h.service, answer, &late);
  cr_expect(becomes(&h, OB_LINK_READY));
  cr_expect(strstr(h.why, "NapCat.Onebot 4") && strstr(h.why, "10001"), "%s", h.why);
  usleep(4 * PROBE_MS * 1000);
  cr_expect_leq(asked(&h), n + 2, "it goes on asking");
  stop(&h);
}

Test(link, an_answer_that_did_not_come_is_not_asked_for_at_once)
{
  struct host h;
  start(&h, true);
  for (int round = 0; round < 5; round++) {
    struct answer refused = { &h, SPAN(""), 0, asked(&h) };
    ob_service_run(h.service, answer, &refused);
  }
  cr_expect_leq(asked(&h), 6, "%d", asked(&h));
  stop(&h);
}

Test(link, another_gives_up_and_takes_what_there_is)
{
  struct host h;
  start(&h, false);
  usleep(6 * PROBE_MS * 1000);
  cr_expect_eq(asked(&h), 2, "%d", asked(&h));
  stop(&h);
}
