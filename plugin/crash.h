/* crash: named places at which the crash test kills the process. Nothing of it is in a build for
 * users: without RG_CRASH_POINTS these calls are empty, and the house test "exports" would see the
 * hook's name in replygate.so. */
#ifndef PLUGIN_CRASH_H
#define PLUGIN_CRASH_H

#include <stddef.h>

struct rg_conversation;

#ifdef RG_CRASH_POINTS
/* tests/lib/crash_point.c: ends the process by SIGKILL where the test asked for this step of this
 * position of a plan. */
void rg_crash(const char *step, size_t position);
/* The same once the chat's connection has handed everything to its socket. */
void rg_crash_written(struct rg_conversation *c, size_t position);
#else
static inline void rg_crash(const char *step, size_t position)
{
  (void)step;
  (void)position;
}
static inline void rg_crash_written(struct rg_conversation *c, size_t position)
{
  (void)c;
  (void)position;
}
#endif

#endif
