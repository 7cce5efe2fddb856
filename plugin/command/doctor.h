/* doctor: connects to an endpoint as the plugin would, asks it what decides how replies arrive, and
 * says in plain sentences what holds and what to do about it. */
#ifndef PLUGIN_COMMAND_DOCTOR_H
#define PLUGIN_COMMAND_DOCTOR_H

#include <stdio.h>

#include "onebot/service.h"
#include "plugin/config/config.h"

struct rg_doctor_order {
  const struct rg_config *config;
  const struct rg_endpoint *endpoint;
  struct span try_user; /* an account that gets a test picture and a test card; empty: nobody */
  unsigned wait_ms;     /* for the connection */
  FILE *out;
};

/* Examines one endpoint; returns how many things are wrong. Not on the service thread. */
unsigned rg_doctor_examine(struct ob_service *s, const struct rg_doctor_order *order);

#endif
