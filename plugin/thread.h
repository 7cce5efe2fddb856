/* thread: starts the program's own threads the one way that a plugin may: no signal of the host is
 * delivered to them, and they have a name that `top -H` shows. */
#ifndef PLUGIN_THREAD_H
#define PLUGIN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* name: at most 15 bytes. False: no thread could be had. */
bool rg_thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg);

#endif
