/* crash_point: the hook of plugin/crash.h for the program of the crash test. RG_CRASH names where the
 * process dies: "framed:2" is before the third step of a plan goes to the wire. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/crash.h"
#include "plugin/gate.h"

static bool asked(const char *step, size_t position)
{
  const char *where = getenv("RG_CRASH");
  char here[64];
  snprintf(here, sizeof here, "%s:%zu", step, position);
  return where && strcmp(where, here) == 0;
}

void rg_crash(const char *step, size_t position)
{
  if (asked(step, position)) kill(getpid(), SIGKILL);
}

/* Again in the next turn of the service's loop, until the socket has everything. */
static void look(void *arg)
{
  struct rg_conversation *c = arg;
  struct ob_link *link = c->account->link;
  if (link && ob_link_waiting(link) == 0) kill(getpid(), SIGKILL);
  ob_service_post(c->account->gate->service, look, c);
}

void rg_crash_written(struct rg_conversation *c, size_t position)
{
  if (asked("written", position)) ob_service_post(c->account->gate->service, look, c);
}
