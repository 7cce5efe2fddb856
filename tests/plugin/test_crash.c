/* The process is killed at each named step of each place of a reply, for each way in which the
 * implementation answers there; then another one goes on with the same store and the same group. Every
 * second time that one is killed as well, where it goes on, and a third one ends it. Counted is what
 * the group shows: no message twice, none forgotten, none called what it is not.
 *
 * Twice a cell here; RG_CRASH_TIMES=20 runs every cell so often and prints the sums. */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "onebot/sandbox/sandbox.h"
#include "tests/lib/bot.h"

enum {
  MESSAGES = 3,
  PLACES = MESSAGES + 1, /* the reaction before them */
  SLOTS = 6,             /* cells at a time: they mostly wait */
  PROCESS_MS = 15000,
  OUT_MAX = 64 * 1024,
  FAULTS_MAX = 64 * 1024,
};

static const char *const places[PLACES] = { "reaction", "first", "middle", "last" };
static const char *const steps[] = { "queued",  "journaled", "framed",
                                     "written", "answered",  "marked" };
enum { STEPS = sizeof steps / sizeof *steps };

static const struct outcome {
  const char *label, *fault; /* members of the order, but action and skip; NULL: it answers */
} outcomes[] = {
  { "answers", NULL },
  { "answers late", "\"kind\":\"late\",\"ms\":120" },
  { "never answers", "\"kind\":\"silent\"" },
  { "never answers, not there", "\"kind\":\"silent\",\"delivered\":false" },
  { "closes", "\"kind\":\"close_after\"" },
  { "closes, not there", "\"kind\":\"close_before\"" },
};
enum { OUTCOMES = sizeof outcomes / sizeof *outcomes, CELLS = STEPS * OUTCOMES };

/* All runs of one place. */
struct field {
  struct ob_service *service;
  size_t place, times, next; /* next: the run to be taken; under mu, as what follows */
  pthread_mutex_t mu;
  size_t runs, again, unreached, twice, lost, wrong, unknown, unfound;
  struct buf faults;
};

/* Where runs are carried out, one at a time. */
struct slot {
  struct field *field;
  struct ob_sandbox *box;
  char folder[64], config[96], out[96];
};

struct run {
  size_t number, step;
  const struct outcome *outcome;
  char asked[32];     /* the message that is answered */
  char text[OUT_MAX]; /* what both processes said */
};

extern char **environ;

static void fault(struct field *f, size_t *count, const struct slot *s, const struct run *r,
                  const char *what)
{
  pthread_mutex_lock(&f->mu);
  ++*count;
  if (f->faults.len < FAULTS_MAX / 2)
    buf_printf(&f->faults, "%s, %s, %s (run %zu): %s\n%s\n", places[f->place], steps[r->step],
               r->outcome->label, r->number, what, r->text);
  pthread_mutex_unlock(&f->mu);
  (void)s;
}

static struct schema_node *order(struct ob_sandbox *box, const char *text, struct arena *arena)
{
  struct buf answer;
  struct schema_node *tree = NULL;
  buf_init(&answer, 16 << 20);
  ob_sandbox_control(box, span_of(text), &answer);
  struct span kept = arena_copy(arena, buf_span(&answer));
  buf_done(&answer);
  if (schema_tree_read(kept, 64, arena, &tree, NULL) != SCHEMA_OK) abort();
  return tree;
}

/* Runs the process to its end; its words are added to the run's. The status of waitpid. */
static int process(const struct slot *s, struct run *r, const char *crash, const char *reply)
{
  char program[512], where[64];
  snprintf(program, sizeof program, "%s/tests/plugin/crash_bot", getenv("RG_BUILD"));
  snprintf(where, sizeof where, "RG_CRASH=%s", crash ? crash : "");
  char *argv[] = { program, (char *)s->config, r->asked, (char *)reply, NULL };
  if (!reply) argv[2] = NULL;
  size_t count = 0;
  while (environ[count]) count++;
  char **env = calloc(count + 2, sizeof *env);
  env[0] = where;
  memcpy(env + 1, environ, count * sizeof *env);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, s->out, O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  pid_t child;
  int status = -1;
  if (posix_spawn(&child, program, &files, NULL, argv, env) == 0) {
    int waited = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (waited++ * 5 > PROCESS_MS) kill(child, SIGTERM);
      usleep(5000);
    }
  }
  posix_spawn_file_actions_destroy(&files);
  free(env);
  return status;
}

/* Somebody asks, and what goes wrong is ordered. */
static void prepare(const struct slot *s, struct run *r, struct arena *arena)
{
  char text[256];
  size_t place = s->field->place;
  order(s->box, "{\"do\":\"clear\"}", arena);
  const struct schema_node *said =
      order(s->box, "{\"do\":\"say\",\"as\":10003,\"group\":123456789,\"text\":\"?\"}", arena);
  struct span id = schema_tree_string(schema_tree_get(said, "message_id"));
  snprintf(r->asked, sizeof r->asked, "%.*s", (int)id.len, id.ptr);
  if (!r->outcome->fault) return;
  snprintf(text, sizeof text, "{\"do\":\"fault\",\"action\":\"%s\",\"skip\":%zu,%s}",
           place == 0 ? "set_msg_emoji_like" : "send_group_msg", place > 0 ? place - 1 : 0,
           r->outcome->fault);
  order(s->box, text, arena);
}

/* How often a text is in the group. */
static size_t shown(const struct schema_node *messages, const char *text)
{
  size_t n = 0;
  for (const struct schema_node *m = messages ? messages->first : NULL; m; m = m->next) {
    const struct schema_node *segment = schema_tree_get(m, "segments")->first;
    n += segment &&
         span_is(schema_tree_string(schema_tree_get(schema_tree_get(segment, "data"), "text")),
                 text);
  }
  return n;
}

/* What the last result says of message i: "sent", an outcome, or "" where there is no result. The
 * lists name the messages in order, those that were sent first. */
static void told(const char *text, size_t i, char *to, size_t cap)
{
  struct arena arena;
  struct schema_node *result = NULL;
  const char *last = NULL;
  to[0] = '\0';
  for (const char *at = text; (at = strstr(at, "result {")); at++) last = at + 7;
  if (!last) return;
  arena_init(&arena, 1 << 20);
  size_t len = strcspn(last, "\n"), n = 0;
  if (schema_tree_read((struct span) { last, len }, 64, &arena, &result, NULL) == SCHEMA_OK)
    for (int list = 0; list < 2; list++) {
      const struct schema_node *parts = schema_tree_get(result, list == 0 ? "sent" : "unsent");
      for (const struct schema_node *p = parts ? parts->first : NULL; p; p = p->next) {
        if (!span_is(schema_tree_string(schema_tree_get(p, "action")), "send_group_msg")) continue;
        if (n++ != i) continue;
        struct span outcome = schema_tree_string(schema_tree_get(p, "outcome"));
        snprintf(to, cap, "%.*s", list == 0 ? 4 : (int)outcome.len,
                 list == 0 ? "sent" : outcome.ptr);
      }
    }
  arena_done(&arena);
}

static void judge(const struct slot *s, struct run *r, struct arena *arena)
{
  struct field *f = s->field;
  const struct schema_node *answer = order(s->box, "{\"do\":\"shown\",\"group\":123456789}", arena);
  const struct schema_node *messages = schema_tree_get(answer, "messages");
  bool accepted = r->step > 0; /* "queued" dies before submit has returned */
  for (size_t i = 0; i < MESSAGES; i++) {
    char text[32], word[32], what[128];
    snprintf(text, sizeof text, "r%zu m%zu", r->number, i);
    size_t times = shown(messages, text);
    told(r->text, i, word, sizeof word);
    snprintf(what, sizeof what, "message %zu is shown %zu times and called \"%s\"", i, times, word);
    bool unknown = strcmp(word, "unknown") == 0, sent = strcmp(word, "sent") == 0;
    if (times > 1) fault(f, &f->twice, s, r, what);
    if (accepted && times == 0 && word[0] == '\0')
      fault(f, &f->lost, s, r, what);
    else if (accepted && word[0] == '\0')
      fault(f, &f->wrong, s, r, what);
    else if (accepted && !unknown && sent != (times > 0))
      fault(f, &f->wrong, s, r, what);
    else if (!accepted && (times > 0 || word[0] != '\0'))
      fault(f, &f->wrong, s, r, what);
    if (unknown && times > 0) fault(f, &f->unfound, s, r, what); /* the history shows it */
    pthread_mutex_lock(&f->mu);
    f->unknown += unknown;
    pthread_mutex_unlock(&f->mu);
  }
}

static void output_read(const struct slot *s, struct run *r)
{
  FILE *in = fopen(s->out, "r");
  size_t n = in ? fread(r->text, 1, sizeof r->text - 1, in) : 0;
  r->text[n] = '\0';
  if (in) fclose(in);
}

static void folder_clear(const struct slot *s)
{
  static const char *const names[] = { "out", "j.db", "j.db-wal", "j.db-shm", "j.db-lock" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", s->folder, names[i]);
    unlink(path);
  }
}

static void carry_out(const struct slot *s, struct run *r)
{
  struct field *f = s->field;
  struct arena arena;
  char reply[512], crash[64];
  arena_init(&arena, 16 << 20);
  folder_clear(s);
  prepare(s, r, &arena);
  snprintf(reply, sizeof reply,
           "{\"messages\":[{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"r%zu m0\"}}]},"
           "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"r%zu m1\"}}]},"
           "{\"segments\":[{\"type\":\"text\",\"data\":{\"text\":\"r%zu m2\"}}]}],"
           "\"reaction\":\"76\"}",
           r->number, r->number, r->number);
  /* what comes before the plan has no place in it */
  snprintf(crash, sizeof crash, "%s:%zu", steps[r->step], r->step < 2 ? 0 : f->place);
  int status = process(s, r, crash, reply);
  bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (r->number / CELLS % 2 == 1) {
    /* where the second one is killed: here or at the next place, if it comes there at all */
    size_t step = 2 + r->number % (STEPS - 2), place = f->place + (r->step > 3);
    snprintf(crash, sizeof crash, "%s:%zu", steps[step], place < PLACES ? place : f->place);
    status = process(s, r, crash, NULL);
    pthread_mutex_lock(&f->mu);
    f->again += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    pthread_mutex_unlock(&f->mu);
  }
  status = process(s, r, NULL, NULL);
  bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  output_read(s, r);
  if (!killed) fault(f, &f->unreached, s, r, "it did not die there");
  if (!ended) fault(f, &f->wrong, s, r, "the next process did not end well");
  judge(s, r, &arena);
  arena_done(&arena);
}

static void *work(void *arg)
{
  struct slot *s = arg;
  struct field *f = s->field;
  struct run *r = calloc(1, sizeof *r);
  for (;;) {
    pthread_mutex_lock(&f->mu);
    r->number = f->next++;
    bool more = r->number < f->times * CELLS;
    f->runs += more;
    pthread_mutex_unlock(&f->mu);
    if (!more) break;
    r->step = r->number % STEPS;
    r->outcome = &outcomes[r->number / STEPS % OUTCOMES];
    carry_out(s, r);
  }
  free(r);
  return NULL;
}

static void slot_open(struct slot *s, struct field *f, const char *played)
{
  const struct ob_sandbox_options options = { .profile = played };
  s->field = f;
  cr_assert_eq(ob_sandbox_start(f->service, &options, &s->box, NULL), SCHEMA_OK);
  strcpy(s->folder, "/tmp/rg-crash-XXXXXX");
  cr_assert(mkdtemp(s->folder));
  snprintf(s->config, sizeof s->config, "%s/c.yaml", s->folder);
  snprintf(s->out, sizeof s->out, "%s/out", s->folder);
  FILE *out = fopen(s->config, "w");
  cr_assert(out);
  fprintf(out,
          "store: sqlite:j.db\ngroups:\n  default:\n    pace: {min: 0.01, max: 0.01}\n"
          "    rate: {per_minute: 6000}\nendpoints:\n  main:\n    connect: %s\n"
          "    access_token: %s\n    offline_wait: 5\n",
          ob_sandbox_link_url(s->box), ob_sandbox_access_token(s->box));
  fclose(out);
}

static void slot_close(struct slot *s)
{
  ob_sandbox_stop(s->box);
  folder_clear(s);
  unlink(s->config);
  cr_expect_eq(rmdir(s->folder), 0);
}

static void place_run(size_t place)
{
  const struct ob_service_options none = { .ctx = NULL };
  const char *wanted = getenv("RG_CRASH_TIMES");
  long times = wanted ? strtol(wanted, NULL, 10) : 2;
  struct field *f = calloc(1, sizeof *f);
  struct slot slots[SLOTS];
  pthread_t threads[SLOTS];
  *f = (struct field) { .place = place, .times = times > 0 ? (size_t)times : 2 };
  pthread_mutex_init(&f->mu, NULL);
  buf_init(&f->faults, FAULTS_MAX);
  cr_assert_eq(ob_service_start(&none, &f->service, NULL), SCHEMA_OK);
  for (size_t i = 0; i < SLOTS; i++) slot_open(&slots[i], f, i % 2 ? "llbot" : "napcat");
  for (size_t i = 0; i < SLOTS; i++)
    cr_assert_eq(pthread_create(&threads[i], NULL, work, &slots[i]), 0);
  for (size_t i = 0; i < SLOTS; i++) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < SLOTS; i++) slot_close(&slots[i]);
  ob_service_stop(f->service);
  if (wanted)
    fprintf(stderr,
            "%s: %zu runs, %zu killed again, %zu twice, %zu lost, %zu wrong, %zu unknown, "
            "%zu unfound, %zu unreached\n",
            places[place], f->runs, f->again, f->twice, f->lost, f->wrong, f->unknown, f->unfound,
            f->unreached);
  cr_expect_eq(f->twice + f->lost + f->wrong + f->unfound + f->unreached, 0,
               "%zu runs: %zu twice, %zu lost, %zu wrong, %zu unfound, %zu unreached\n%s", f->runs,
               f->twice, f->lost, f->wrong, f->unfound, f->unreached,
               f->faults.ptr ? f->faults.ptr : "");
  buf_done(&f->faults);
  free(f);
}

Test(crash, reaction)
{
  place_run(0);
}
Test(crash, first)
{
  place_run(1);
}
Test(crash, middle)
{
  place_run(2);
}
Test(crash, last)
{
  place_run(3);
}
