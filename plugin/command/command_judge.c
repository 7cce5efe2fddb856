/* command_judge: `replygate check`, `plan`, `schema` and `instruction`: one turn through the same
 * functions as the running plugin, without an endpoint. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugin/command/command.h"
#include "plugin/delivery/result.h"

enum {
  FAULTS_MAX = 1024 * 1024,
  OUTPUT_MAX = 4 * RG_TEXT_MAX, /* actions with the media of a reply in them, escaped */
};

/* Stands in where no configuration is named: the defaults of every setting. */
static const char default_config[] = "endpoints:\n  main:\n    connect: ws://127.0.0.1:3001\n";

/* What the command line says. */
struct order {
  const char *command;
  const char *config, *profile, *group, *user, *message_id, *file;
  enum schema_language language;
  bool has_language;
};

static const char help[] =
    "  --profile NAME   what the endpoint is: napcat, llbot, lagrange, go-cqhttp, onebots, spec\n"
    "  --config FILE    take the settings from there\n"
    "  --group ID       the group that the reply is for (its settings and ids)\n"
    "  --user ID        a private chat instead\n"
    "  --message-id ID  the message that is answered\n"
    "  --language zh|en of notices and the instruction\n"
    "FILE holds the model's raw answer; without it standard input is read.\n";

static int usage(const char *command, FILE *to)
{
  fprintf(to, "usage: replygate %s [OPTION…] [FILE]\n%s", command, help);
  return to == stdout ? 0 : RG_EXIT_USAGE;
}

bool rg_command_asks_help(int argc, char **argv)
{
  return argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

int rg_command_usage(const char *text, bool asked)
{
  fputs(text, asked ? stdout : stderr);
  return asked ? 0 : RG_EXIT_USAGE;
}

bool rg_command_read_file(const char *command, const char *path, struct buf *out)
{
  bool standard = !path || strcmp(path, "-") == 0;
  FILE *in = standard ? stdin : fopen(path, "re");
  if (!in) {
    fprintf(stderr, "replygate %s: %s: %s\n", command, path, strerror(errno));
    return false;
  }
  char piece[64 * 1024];
  for (size_t n; (n = fread(piece, 1, sizeof piece, in)) > 0;) {
    if (!buf_add(out, (struct span) { piece, n })) break;
  }
  bool broken = ferror(in);
  if (!standard) fclose(in);
  if (broken || out->failed) {
    fprintf(stderr, "replygate %s: %s\n", command,
            broken ? strerror(errno) : "the input is larger than 64 MiB");
  }
  return !broken && !out->failed;
}

/* Reads the command line into *order. Returns 0, or an exit code + 1 where the command is over. */
static int order_read(int argc, char **argv, struct order *order)
{
  static const struct option options[] = {
    { "profile", required_argument, NULL, 'p' },
    { "config", required_argument, NULL, 'c' },
    { "group", required_argument, NULL, 'g' },
    { "user", required_argument, NULL, 'u' },
    { "message-id", required_argument, NULL, 'm' },
    { "language", required_argument, NULL, 'l' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  *order = (struct order) { .command = argv[0] };
  for (int c; (c = getopt_long(argc, argv, "p:c:g:u:m:l:h", options, NULL)) != -1;) {
    switch (c) {
    case 'p': order->profile = optarg; break;
    case 'c': order->config = optarg; break;
    case 'g': order->group = optarg; break;
    case 'u': order->user = optarg; break;
    case 'm': order->message_id = optarg; break;
    case 'l':
      order->has_language = true;
      order->language = strcmp(optarg, "en") == 0 ? SCHEMA_EN : SCHEMA_ZH;
      break;
    case 'h': return usage(order->command, stdout) + 1;
    default: return usage(order->command, stderr) + 1;
    }
  }
  if (argc - optind > 1 || (order->group && order->user)) {
    return usage(order->command, stderr) + 1;
  }
  order->file = optind < argc ? argv[optind] : NULL;
  return 0;
}

static struct rg_config *config_get(const struct order *order)
{
  struct arena arena;
  struct rg_config_faults faults = { .count = 0 };
  arena_init(&arena, FAULTS_MAX);
  struct rg_config *config = order->config ? rg_config_load(span_of(order->config), &arena, &faults)
                                           : rg_config_read(span_of(default_config), SPAN("/"),
                                                            NULL, NULL, &arena, &faults);
  for (size_t i = 0; !config && i < faults.count; i++) {
    const struct rg_config_fault *f = &faults.items[i];
    fprintf(stderr, "%s:%zu:%zu: %.*s\n", order->config ? order->config : "defaults", f->line,
            f->column, (int)f->what.len, f->what.ptr);
  }
  arena_done(&arena);
  if (config && order->has_language) config->language = order->language;
  return config;
}

static struct rg_bytes bytes_of(const char *z)
{
  return (struct rg_bytes) { z, z ? strlen(z) : 0 };
}

static const struct ob_profile *profile_get(const struct order *order,
                                            const struct rg_endpoint *endpoint)
{
  if (order->profile) return ob_profile_find(span_of(order->profile));
  return endpoint && endpoint->profile ? endpoint->profile : &ob_profiles[OB_NAPCAT];
}

/* The job that the command line describes, fitted but not judged. NULL: it was said why. */
static struct rg_job *job_get(const struct order *order, struct span text)
{
  struct rg_config *config = config_get(order);
  if (!config) return NULL;
  const struct rg_endpoint *endpoint = config->endpoint_count > 0 ? config->endpoints : NULL;
  const struct ob_profile *profile = profile_get(order, endpoint);
  const struct rg_turn turn = {
    .size = sizeof turn,
    .kind = RG_KIND_ANSWER,
    .group_id = bytes_of(order->user    ? NULL
                         : order->group ? order->group
                                        : "10001"),
    .user_id = bytes_of(order->user),
    .message_id = bytes_of(order->message_id),
  };
  uint64_t group_id = order->group ? strtoull(order->group, NULL, 10) : 0;
  const struct rg_view view = {
    .group = rg_config_group(config, endpoint, group_id),
    .endpoint = endpoint,
    .config = config,
    .group_id = group_id,
  };
  const struct rg_job_input input = {
    .view = &view,
    .home = span_of(getenv("HOME")),
    .turn = &turn,
    .text = text,
  };
  struct rg_job *job = profile ? rg_job_new(&input, NULL) : NULL;
  if (!profile) {
    fprintf(stderr, "replygate %s: unknown profile \"%s\"\n", order->command, order->profile);
  } else if (!job || !rg_job_fit(job, &(struct rg_peer) { .profile = *profile, .known = true })) {
    fprintf(stderr, "replygate %s: out of memory\n", order->command);
    rg_job_free(job);
    job = NULL;
  }
  rg_config_release(config);
  return job;
}

/* 0 where the reply goes out, 1 where a correction could help, 2 where it never goes out. */
static int exit_of(const struct rg_job *job)
{
  static const int codes[] = {
    [RG_COURSE_DELIVER] = 0, [RG_COURSE_MEDIA] = 0, /* as far as it shows without looking at them */
    [RG_COURSE_CORRECT] = 1, [RG_COURSE_REFUSED] = 2, [RG_COURSE_SILENT] = 2,
  };
  return codes[job->course];
}

static void print_fault(const struct rg_job *job, FILE *to)
{
  const struct schema_error *e = &job->error;
  fprintf(to, "code: %s\npath: %s\nbyte: %zu\nreason: %s\n", schema_code_word(e->code), e->path,
          e->at, e->what ? e->what : schema_code_text(e->code));
}

static void print_reply(const struct rg_job *job)
{
  struct buf json;
  struct schema_writer w = { .out = &json };
  buf_init(&json, OUTPUT_MAX);
  schema_write_reply(&w, &job->reply, job->offer.offers_reaction);
  fputs("reply: ", stdout);
  fwrite(json.ptr, 1, json.len, stdout);
  fputc('\n', stdout);
  buf_done(&json);
}

/* Each kind once, in the order of the first. */
static void print_repairs(const struct schema_judgement *j)
{
  fputs("repairs:", stdout);
  for (size_t i = 0; i < j->repair_count && i < SCHEMA_REPAIR_MAX; i++) {
    size_t first = 0;
    while (j->repairs[first].kind != j->repairs[i].kind) first++;
    if (first == i) printf(" %s", schema_repair_word(j->repairs[i].kind));
  }
  fputc('\n', stdout);
}

static void print_verdict(const struct rg_job *job)
{
  const struct schema_judgement *j = &job->judgement;
  printf("verdict: %s\n", job->has_verdict ? schema_verdict_word(j->verdict) : "not judged");
  if (j->repair_count > 0) print_repairs(j);
  if (exit_of(job) == 0) {
    print_reply(job);
    if (job->document.ptr) printf("document: %.*s\n", (int)job->document.len, job->document.ptr);
  } else {
    print_fault(job, stdout);
  }
}

static void print_actions(const struct rg_job *job)
{
  struct buf json;
  struct schema_writer w = { .out = &json };
  buf_init(&json, OUTPUT_MAX);
  for (size_t i = 0; i < job->plan.count; i++) {
    buf_clear(&json);
    w.comma = false;
    schema_write_object(&w);
    schema_write_pair(&w, "action", job->plan.steps[i].action);
    schema_write_key(&w, SPAN("params"));
    schema_write_raw(&w, job->plan.steps[i].params);
    schema_write_object_end(&w);
    fwrite(json.ptr, 1, json.len, stdout);
    fputc('\n', stdout);
  }
  buf_done(&json);
}

/* check and plan: reads an answer, judges it and shows what came of it. */
static int judge(int argc, char **argv, bool actions)
{
  struct order order;
  int over = order_read(argc, argv, &order);
  if (over) return over - 1;
  /* an answer answers something: reactions are offered where the profile has them */
  if (!actions && !order.message_id) order.message_id = "1";
  struct buf text;
  int code = RG_EXIT_USAGE;
  buf_init(&text, RG_TEXT_MAX);
  struct rg_job *job = NULL;
  if (rg_command_read_file(order.command, order.file, &text))
    job = job_get(&order, buf_span(&text));
  if (job) {
    rg_job_judge(job);
    code = exit_of(job);
    if (!actions) {
      print_verdict(job);
    } else if (code == 0) {
      print_actions(job);
    } else {
      print_fault(job, stderr);
    }
  }
  rg_job_free(job);
  buf_done(&text);
  return code;
}

int rg_command_check(int argc, char **argv)
{
  return judge(argc, argv, false);
}

int rg_command_plan(int argc, char **argv)
{
  return judge(argc, argv, true);
}

/* schema and instruction: what the model is to be given. */
static int contract(int argc, char **argv, bool wants_schema)
{
  struct order order;
  int over = order_read(argc, argv, &order);
  if (over) return over - 1;
  if (order.file) return usage(order.command, stderr);
  if (!order.message_id) order.message_id = "1";
  struct rg_job *job = job_get(&order, SPAN(""));
  if (!job) return RG_EXIT_USAGE;
  struct buf schema, instruction, *out = wants_schema ? &schema : &instruction;
  buf_init(&schema, OUTPUT_MAX);
  buf_init(&instruction, OUTPUT_MAX);
  bool written = rg_job_write_contract(job, &schema, &instruction);
  if (written) {
    fwrite(out->ptr, 1, out->len, stdout);
    if (!span_ends(buf_span(out), SPAN("\n"))) fputc('\n', stdout);
  }
  buf_done(&schema);
  buf_done(&instruction);
  rg_job_free(job);
  return written ? 0 : RG_EXIT_FAULT;
}

int rg_command_schema(int argc, char **argv)
{
  return contract(argc, argv, true);
}

int rg_command_instruction(int argc, char **argv)
{
  return contract(argc, argv, false);
}
