/* main: the program `replygate`: finds the sub-command in one table and runs it. */
#include <curl/curlver.h>
#include <hiredis/hiredis.h>
#include <libwebsockets.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "onebot/sandbox/sandbox.h"
#include "plugin/command/command.h"
#include "plugin/command/eval.h"
#include "plugin/process.h"
#include "plugin/replygate.h"

struct command {
  const char *name;
  rg_command_fn *run;
  const char *arguments, *help;
  bool prints; /* it is there for what it prints; the others go on without an output */
};

static int command_eval(int argc, char **argv);

static int command_sandbox(int argc, char **argv)
{
  return ob_sandbox_main(argc, argv, &rg_process);
}

static const struct command commands[] = {
  { "run", rg_command_run, "[CONFIG] [--script FILE]",
    "the bundled host: runs until SIGTERM; without CONFIG against the sandbox", false },
  { "check", rg_command_check, "[--profile P] [--group ID] [--config F] [FILE]",
    "judges one model answer; exit 0 accept or repair, 1 correct, 2 block", true },
  { "plan", rg_command_plan, "--profile P --group ID [--message-id M] [FILE]",
    "prints the OneBot actions that a reply becomes", true },
  { "schema", rg_command_schema, "", "the JSON Schema for the model", true },
  { "instruction", rg_command_instruction, "", "the instruction text for the model", true },
  { "config", rg_command_config, "CONFIG",
    "checks a configuration, prints what holds in each group", true },
  { "doctor", rg_command_doctor, "CONFIG [--try USER]",
    "connects to every endpoint and says what holds there and what to do about it", true },
  { "faces", rg_command_faces, "[TEXT]", "looks reactions up", true },
  { "sandbox", command_sandbox, "[--port N] [--profile NAME] [--json] …",
    "a OneBot endpoint without QQ, with a page that shows its chats", false },
  { "eval", command_eval, "KIND", "one JSON case a line on stdin, one result a line on stdout",
    true },
};

static void usage(FILE *to)
{
  fputs("usage: replygate COMMAND [ARGUMENT…]\n\n", to);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const struct command *c = &commands[i];
    fprintf(to, "  replygate %s %s\n      %s\n", c->name, c->arguments, c->help);
  }
  fputs("  replygate --version\n      the version of this program and of its libraries\n", to);
}

static int version(void)
{
  printf("replygate %s\nABI %u\n", RG_VERSION, RG_ABI);
  printf("libwebsockets %s\nlibyaml %s\n", lws_get_library_version(), yaml_get_version_string());
  printf("sqlite %s\nhiredis %d.%d.%d\nlibcurl %s\n", SQLITE_VERSION, HIREDIS_MAJOR, HIREDIS_MINOR,
         HIREDIS_PATCH, LIBCURL_VERSION); /* loaded when needed */
  return 0;
}

static int command_eval(int argc, char **argv)
{
  if (argc != 2 || argv[1][0] == '-')
    return rg_command_usage("usage: replygate eval KIND <cases\n",
                            rg_command_asks_help(argc, argv));
  return rg_eval_run(argv[1], stdin, stdout, stderr);
}

/* The code of a command whose output arrived: half of one must not be taken for the whole. */
static int printed(int code)
{
  if (!ferror(stdout) && fflush(stdout) == 0) return code;
  fputs("replygate: standard output cannot be written: is the disk full, or its reader gone?\n",
        stderr);
  return RG_EXIT_OUTPUT;
}

int main(int argc, char **argv)
{
  if (argc < 2) {
    usage(stderr);
    return RG_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--version") == 0) return printed(version());
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    usage(stdout);
    return 0;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(argv[1], commands[i].name) != 0) continue;
    int code = commands[i].run(argc - 1, argv + 1);
    return commands[i].prints ? printed(code) : code;
  }
  fprintf(stderr, "replygate: unknown command \"%s\"; see replygate --help\n", argv[1]);
  return RG_EXIT_USAGE;
}
