/* command_doctor: `replygate doctor`: examines every endpoint of a configuration. */
#include <stdio.h>

#include "onebot/id.h"
#include "plugin/command/command.h"
#include "plugin/command/doctor.h"
#include "plugin/config/config_address.h"
#include "plugin/process.h"
#include "plugin/store/store.h"

enum { WAIT_MS = 15 * 1000 }; /* reverse connections are tried again every 3 to 5 seconds */

static const char usage[] =
    "usage: replygate doctor CONFIG [--try USER]\n"
    "  connects to every endpoint and says what holds there and what to do about it\n"
    "  --try USER   sends a picture and a music card to that account, to see them arrive\n";

/* Whether a store that is elsewhere can be had. Returns how many things are wrong. */
static unsigned examine_store(const struct rg_config *c, struct arena *arena)
{
  char why[512] = "";
  struct rg_store *s = rg_store_new(c->store, why, sizeof why);
  bool fine = s && (!s->methods->probe || s->methods->probe(s, why, sizeof why));
  struct span shown = rg_address_shown(c->store, arena);
  if (!fine)
    printf("store\n  WRONG  %s\n", why);
  else if (s->methods->probe)
    printf("store\n  ok     %.*s answers and takes writes\n", (int)shown.len, shown.ptr);
  rg_store_close(s);
  return !fine;
}

static int examine(const struct rg_config *c, struct span try_user, struct arena *arena)
{
  struct ob_service_options options = { .process = &rg_process };
  struct ob_service *service;
  unsigned wrong = examine_store(c, arena);
  if (ob_service_start(&options, &service, NULL) != SCHEMA_OK) {
    fputs("replygate doctor: no thread could be started\n", stderr);
    return RG_EXIT_FAULT;
  }
  for (size_t i = 0; i < c->endpoint_count; i++) {
    struct rg_doctor_order order = { c, &c->endpoints[i], try_user, WAIT_MS, stdout };
    wrong += rg_doctor_examine(service, &order);
  }
  ob_service_stop(service);
  if (c->endpoint_count == 0) puts("the configuration has no endpoints");
  return wrong ? RG_EXIT_FAULT : 0;
}

int rg_command_doctor(int argc, char **argv)
{
  struct arena arena;
  struct rg_config_faults faults;
  struct span try_user = { 0 };
  if (rg_command_asks_help(argc, argv)) return rg_command_usage(usage, true);
  if (argc == 4 && strcmp(argv[2], "--try") == 0)
    try_user = span_of(argv[3]);
  else if (argc != 2)
    return rg_command_usage(usage, false);
  if (try_user.len && !ob_id_positive(try_user, UINT32_MAX)) return rg_command_usage(usage, false);
  arena_init(&arena, 1024 * 1024);
  struct rg_config *c = rg_config_load(span_of(argv[1]), &arena, &faults);
  for (size_t i = 0; i < faults.count; i++)
    fprintf(stderr, "%s:%zu:%zu: %.*s\n", argv[1], faults.items[i].line, faults.items[i].column,
            (int)faults.items[i].what.len, faults.items[i].what.ptr);
  int rc = c ? examine(c, try_user, &arena) : RG_EXIT_FAULT;
  rg_config_release(c);
  arena_done(&arena);
  return rc;
}
