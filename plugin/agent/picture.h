/* picture: what a model that sees is shown of a chat: the newest pictures of its talk, fetched and
 * judged through the media guard like any media. What cannot be had is left out. Service thread. */
#ifndef PLUGIN_AGENT_PICTURE_H
#define PLUGIN_AGENT_PICTURE_H

#include "plugin/agent/run.h"

enum {
  RG_PICTURES_MAX = 4,                    /* of one question */
  RG_PICTURE_BYTES_MAX = 3 * 1024 * 1024, /* 4 MiB as base64; vendors take 5 MB */
};

/* Fetches the pictures of a run's talk where its settings and a provider of it want any; rg_run_ask
 * follows, maybe before this returns, and the run may have ended then. */
void rg_picture_fetch(struct rg_run *run);

#endif
