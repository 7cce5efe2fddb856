/* command: `replygate sandbox` (sandbox.h). */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "onebot/id.h"
#include "onebot/sandbox/sandbox.h"
#include "schema/print.h"

enum { USAGE = 64 }; /* sysexits.h */

/* wrong: what is wrong with the call; NULL: it asks for help. */
static int usage(const char *wrong)
{
  if (wrong) fprintf(stderr, "replygate sandbox: %s\n", wrong);
  fputs("usage: replygate sandbox [--port N] [--profile NAME] [--token TOKEN]\n"
        "                         [--page-token TOKEN] [--connect URL] [--json]\n"
        "  --port N          the port on 127.0.0.1 (any that is free)\n"
        "  --profile NAME    napcat, llbot, lagrange, go-cqhttp, onebots or spec (napcat)\n"
        "  --token TOKEN     the access token of OneBot, \"\" for none (a random one)\n"
        "  --page-token T    the token of the page (a random one)\n"
        "  --connect URL     also dial a reverse WebSocket (ws://host:port/path), with the\n"
        "                    access token where --token gives one\n"
        "  --json            print one line of JSON instead of text\n",
        wrong ? stderr : stdout);
  return wrong ? USAGE : 0;
}

/* Fills options; NULL, or what is wrong with the arguments. */
static const char *read_arguments(int argc, char **argv, struct ob_sandbox_options *options,
                                  const char **connect, bool *json)
{
  const struct {
    const char *name, **to;
  } texts[] = { { "--profile", &options->profile },
                { "--token", &options->access_token },
                { "--page-token", &options->page_token },
                { "--connect", connect } };
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    bool found = false;
    int64_t port;
    if (strcmp(name, "--json") == 0) {
      *json = true;
      continue;
    }
    if (i + 1 == argc) return "an option is unknown or has no value";
    const char *value = argv[++i];
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      if (strcmp(name, texts[k].name) != 0) continue;
      *texts[k].to = value;
      found = true;
    }
    if (strcmp(name, "--port") == 0) {
      if (!ob_id_read(span_of(value), &port) || port < 0 || port > 65535)
        return "--port: 0 to 65535";
      options->port = (unsigned)port;
      found = true;
    }
    if (!found) return "an option is unknown";
  }
  return NULL;
}

static void log_line(void *ctx, enum ob_log_level level, const char *line)
{
  (void)ctx;
  if (level <= OB_LOG_WARN) fprintf(stderr, "%s\n", line);
}

static void print(const struct ob_sandbox *b, const char *profile, bool json)
{
  if (!json) {
    printf("page    %s\nOneBot  %s\ntoken   %s\n", ob_sandbox_page_url(b), ob_sandbox_link_url(b),
           ob_sandbox_access_token(b));
    fflush(stdout);
    return;
  }
  struct buf line;
  buf_init(&line, 4096);
  struct schema_writer w = { .out = &line };
  schema_write_object(&w);
  schema_write_pair(&w, "page", span_of(ob_sandbox_page_url(b)));
  schema_write_pair(&w, "link", span_of(ob_sandbox_link_url(b)));
  schema_write_pair(&w, "access_token", span_of(ob_sandbox_access_token(b)));
  schema_write_pair(&w, "page_token", span_of(ob_sandbox_page_token(b)));
  schema_write_key(&w, SPAN("port"));
  schema_write_int(&w, ob_sandbox_port(b));
  schema_write_pair(&w, "profile", span_of(profile));
  schema_write_object_end(&w);
  printf("%.*s\n", (int)line.len, line.ptr);
  fflush(stdout);
  buf_done(&line);
}

/* Has the sandbox dial. False: the address or the token is none. */
static bool dial(struct ob_sandbox *b, const char *url, const char *token)
{
  struct buf order, answer;
  buf_init(&order, 64 * 1024);
  buf_init(&answer, 64 * 1024);
  struct schema_writer w = { .out = &order };
  schema_write_object(&w);
  schema_write_pair(&w, "do", SPAN("dial"));
  schema_write_pair(&w, "url", span_of(url));
  schema_write_pair(&w, "token", span_of(token ? token : ""));
  schema_write_object_end(&w);
  bool done = ob_sandbox_control(b, buf_span(&order), &answer) &&
              span_find(buf_span(&answer), SPAN("\"ok\":true")) < answer.len;
  buf_done(&order);
  buf_done(&answer);
  return done;
}

int ob_sandbox_main(int argc, char **argv, const struct ob_process *process)
{
  struct ob_sandbox_options options = { .port = 0 };
  struct ob_service_options service_options = { .log = log_line, .process = process };
  struct schema_error error = { .what = NULL };
  struct ob_service *service = NULL;
  struct ob_sandbox *b = NULL;
  const char *connect = NULL;
  bool json = false;
  sigset_t ends;
  int signal_number, exit_code = 1;
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return usage(NULL);
  const char *wrong = read_arguments(argc, argv, &options, &connect, &json);
  if (wrong) return usage(wrong);
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, NULL); /* before the service's thread begins */
  if (ob_service_start(&service_options, &service, &error) != SCHEMA_OK ||
      ob_sandbox_start(service, &options, &b, &error) != SCHEMA_OK) {
    fprintf(stderr, "replygate sandbox: %s\n",
            error.what ? error.what : schema_code_text(error.code));
    goto end;
  }
  if (connect && !dial(b, connect, options.access_token)) {
    fputs("replygate sandbox: --connect: ws://host:port/path is needed\n", stderr);
    goto end;
  }
  print(b, options.profile ? options.profile : "napcat", json);
  sigwait(&ends, &signal_number);
  exit_code = 0;
end:
  ob_sandbox_stop(b);
  ob_service_stop(service);
  return exit_code;
}
