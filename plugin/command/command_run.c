/* command_run: `replygate run [CONFIG] [--script FILE]`: the bundled host. With a configuration it
 * only hosts the plugin; without one it brings its own endpoint, the sandbox, and plays the model. A
 * configuration that names the sandbox's variables gets the sandbox as well. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "onebot/sandbox/sandbox.h"
#include "plugin/command/command.h"
#include "plugin/command/host.h"
#include "plugin/command/model.h"
#include "plugin/demo/demo.h"
#include "plugin/process.h"

enum {
  WHY_MAX = 16 * 1024, /* every fault of a configuration */
  SCRIPT_ARENA_MAX = 4 * RG_SCRIPT_MAX,
};

/* Everything of one run; given back in the reverse order. */
struct run {
  const char *config, *script_path;
  struct ob_service *service; /* of the sandbox */
  struct ob_sandbox *sandbox;
  char folder[PATH_MAX]; /* "" or the one made for this run */
  char config_path[PATH_MAX];
  struct buf script_text;
  struct arena script_arena;
  struct rg_script script;
  struct rg_model *model; /* NULL: there is no script */
  const struct rg_api *api;
  struct rg_gate *gate;
};

static const char usage[] =
    "usage: replygate run [CONFIG] [--script FILE]\n"
    "  CONFIG         the configuration; without it a sandbox is started, and its page printed\n"
    "  --script FILE  a model played from a file: one JSON object a line, with \"when\" (what is\n"
    "                 typed, \"*\" for anything else) and \"answer\" (what the model writes)\n";

static bool arguments_read(struct run *run, int argc, char **argv)
{
  static const struct option options[] = {
    { "script", required_argument, NULL, 's' },
    { NULL, 0, NULL, 0 },
  };
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (c != 's') return false;
    run->script_path = optarg;
  }
  if (argc - optind > 1) return false;
  if (optind < argc) run->config = argv[optind];
  return true;
}

/* --- the scripted model --- */

static bool script_load(struct run *run)
{
  const char *name = run->script_path ? run->script_path : "the built-in script";
  struct span text = rg_demo_script;
  struct schema_error error = { .code = SCHEMA_OK };
  size_t line = 0;
  if (run->script_path) {
    if (!rg_command_read_file("run", run->script_path, &run->script_text)) return false;
    text = buf_span(&run->script_text);
  }
  if (rg_script_read(text, &run->script_arena, &run->script, &line, &error) != SCHEMA_OK) {
    fprintf(stderr, "error: %s:%zu: %s%s%s\n", name, line,
            error.what ? error.what : schema_code_text(error.code), *error.path ? " " : "",
            error.path);
    return false;
  }
  run->model = rg_model_new(&run->script, !run->config);
  if (!run->model) fputs("error: out of memory\n", stderr);
  return run->model != NULL;
}

/* --- the sandbox and its configuration --- */

static void sandbox_line(void *ctx, enum ob_log_level level, const char *line)
{
  rg_host_log(ctx, (int32_t)level, (struct rg_bytes) { line, strlen(line) });
}

static bool sandbox_start(struct run *run)
{
  const struct ob_service_options service = { .log = sandbox_line, .process = &rg_process };
  const struct ob_sandbox_options sandbox = { .port = 0 };
  struct schema_error error = { .code = SCHEMA_OK };
  if (ob_service_start(&service, &run->service, &error) == SCHEMA_OK &&
      ob_sandbox_start(run->service, &sandbox, &run->sandbox, &error) == SCHEMA_OK) {
    return true;
  }
  fprintf(stderr, "error: the sandbox cannot be started: %s\n",
          error.what ? error.what : schema_code_text(error.code));
  return false;
}

static bool file_write(const char *path, struct span text)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool written = write(fd, text.ptr, text.len) == (ssize_t)text.len;
  return close(fd) == 0 && written;
}

/* A folder of this run's own holds the built-in configuration and what the plugin stores. */
static bool folder_make(struct run *run)
{
  const char *tmp = getenv("TMPDIR");
  int n =
      snprintf(run->folder, sizeof run->folder, "%s/replygate-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  bool fits = n > 0 && (size_t)n < sizeof run->folder;
  if (!fits || !mkdtemp(run->folder)) {
    fprintf(stderr, "error: no folder could be made in %s: %s\n", tmp && *tmp ? tmp : "/tmp",
            strerror(errno));
    run->folder[0] = '\0';
    return false;
  }
  n = snprintf(run->config_path, sizeof run->config_path, "%s/sandbox.yaml", run->folder);
  if (n > 0 && (size_t)n < sizeof run->config_path &&
      file_write(run->config_path, rg_demo_config)) {
    return true;
  }
  fprintf(stderr, "error: %s cannot be written: %s\n", run->config_path, strerror(errno));
  return false;
}

static void folder_remove(const struct run *run)
{
  DIR *dir = run->folder[0] ? opendir(run->folder) : NULL;
  if (!dir) return;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (e->d_name[0] != '.') unlinkat(dirfd(dir), e->d_name, 0);
  }
  closedir(dir);
  rmdir(run->folder);
}

/* Whether a configuration takes the sandbox's address from its variable. */
static bool names_sandbox(const char *path)
{
  FILE *file = fopen(path, "re");
  char *line = NULL;
  size_t size = 0;
  bool named = false;
  while (file && !named && getline(&line, &size, file) > 0)
    named = strstr(line, "${REPLYGATE_SANDBOX}") != NULL;
  free(line);
  if (file) fclose(file);
  return named;
}

/* There is no other configuration, or it is a copy of the built-in one whose variables nobody has
 * set. */
static bool sandbox_wanted(const struct run *run)
{
  return !run->config || (!getenv("REPLYGATE_SANDBOX") && names_sandbox(run->config));
}

/* The address and the token reach the built-in configuration as its variables, not through a file
 * or an argument that others can read. */
static bool sandbox_prepare(struct run *run)
{
  if (!sandbox_start(run) || (!run->config && !folder_make(run))) return false;
  return setenv("REPLYGATE_SANDBOX", ob_sandbox_link_url(run->sandbox), 1) == 0 &&
         setenv("REPLYGATE_SANDBOX_TOKEN", ob_sandbox_access_token(run->sandbox), 1) == 0;
}

/* --- the plugin --- */

static void on_event(void *ctx, struct rg_bytes endpoint, struct rg_bytes event)
{
  const struct run *run = ctx;
  if (run->model) rg_model_event(run->model, endpoint, event);
}

static void on_complete(void *ctx, uint64_t ticket, struct rg_bytes request)
{
  const struct run *run = ctx;
  (void)request;
  rg_model_correct(run->model, ticket);
}

static bool gate_open(struct run *run)
{
  run->api = rg_host_load();
  if (!run->api) return false;
  const struct rg_host host = {
    .size = sizeof host,
    .abi = RG_ABI,
    .ctx = run,
    .log = rg_host_log,
    .complete = run->model ? on_complete : NULL,
    .on_event = on_event,
  };
  const char *path = run->config ? run->config : run->config_path;
  struct rg_bytes where = { path, strlen(path) };
  char *why = malloc(WHY_MAX);
  bool opened = why && run->api->open(&host, where, &run->gate, why, WHY_MAX) == RG_OK;
  if (!opened) fprintf(stderr, "error: %s\n", why ? why : "out of memory");
  free(why);
  return opened;
}

static void gate_reload(struct run *run)
{
  char *why = malloc(WHY_MAX);
  if (why && run->api->reload(run->gate, why, WHY_MAX) != RG_OK)
    fprintf(stderr, "error: %s\n", why);
  free(why);
}

/* --- running --- */

static bool start(struct run *run)
{
  if ((!run->config || run->script_path) && !script_load(run)) return false;
  if (sandbox_wanted(run) && !sandbox_prepare(run)) return false;
  if (!gate_open(run)) return false;
  if (run->model && !rg_model_start(run->model, run->api, run->gate)) return false;
  if (run->sandbox) {
    printf("Replygate is running with its sandbox; open %s\n", ob_sandbox_page_url(run->sandbox));
  } else {
    printf("Replygate is running with %s\n", run->config);
  }
  fflush(stdout);
  return true;
}

/* Until a signal ends it; SIGHUP reloads. */
static void serve(struct run *run, const sigset_t *signals)
{
  for (int number = 0; number != SIGTERM && number != SIGINT;) {
    if (sigwait(signals, &number) != 0) return;
    if (number == SIGHUP) gate_reload(run);
  }
}

static void stop(struct run *run)
{
  if (run->model) rg_model_stop(run->model);
  if (run->gate) run->api->close(run->gate);
  rg_model_free(run->model);
  ob_sandbox_stop(run->sandbox);
  ob_service_stop(run->service);
  folder_remove(run);
  arena_done(&run->script_arena);
  buf_done(&run->script_text);
}

int rg_command_run(int argc, char **argv)
{
  if (rg_command_asks_help(argc, argv)) return rg_command_usage(usage, true);
  struct run *run = calloc(1, sizeof *run); /* two paths make it large for a stack */
  if (!run) return RG_EXIT_FAULT;
  if (!arguments_read(run, argc, argv)) {
    free(run);
    return rg_command_usage(usage, false);
  }
  buf_init(&run->script_text, RG_SCRIPT_MAX);
  arena_init(&run->script_arena, SCRIPT_ARENA_MAX);
  sigset_t signals; /* blocked before the first thread begins, so that only sigwait sees them */
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  signal(SIGPIPE, SIG_IGN);
  bool started = start(run);
  if (started) serve(run, &signals);
  stop(run);
  free(run);
  return started ? 0 : RG_EXIT_FAULT;
}
