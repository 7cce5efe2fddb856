/* media_stage: a job whose media are looked at, and uploaded where its endpoint wants that, before it
 * is delivered. Service thread only. */
#ifndef PLUGIN_MEDIA_MEDIA_STAGE_H
#define PLUGIN_MEDIA_MEDIA_STAGE_H

#include "plugin/gate.h"

/* Gives a job of RG_COURSE_MEDIA away (at_media); it comes back by rg_delivery_back. Where nobody can
 * take it the job is stopped. */
void rg_media_stage_begin(struct rg_gate *gate, struct rg_job *job);

#endif
