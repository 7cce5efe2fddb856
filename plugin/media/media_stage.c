/* media_stage: see media_stage.h. */
#include "plugin/media/media_stage.h"

#include <inttypes.h>

#include "plugin/delivery/delivery.h"
#include "plugin/delivery/step.h"
#include "plugin/media/upload.h"

/* Its media are as they will go: the job is back. */
static void media_ready(struct rg_job *job)
{
  job->at_media = false;
  if (!job->stopped) rg_job_media_done(job);
  rg_delivery_back(job);
}

static struct schema_segment *upload_segment(const struct rg_job *job)
{
  const struct schema_message *m = &job->media_reply->messages[job->upload_message];
  return (struct schema_segment *)&m->segments[job->upload_segment]; /* media.c's own copy */
}

static void upload_next(struct rg_job *job);

static void uploaded(void *ctx, struct span path)
{
  struct rg_job *job = ctx;
  struct span copy = arena_copy(&job->arena, path);
  if (path.len == 0 || !copy.ptr) {
    rg_delivery_say(job->conversation, RG_LOG_WARN,
                    "turn %" PRIu64 ": an upload failed, its bytes go as they are", job->ticket);
    media_ready(job);
    return;
  }
  struct schema_segment *s = upload_segment(job);
  s->media_kind = SCHEMA_MEDIA_PATH;
  s->text = copy;
  upload_next(job);
}

/* `files: upload`: bytes that are left become files of the peer, one behind the other. */
static void upload_next(struct rg_job *job)
{
  const struct schema_reply *r = job->media_reply;
  struct rg_account *account = job->conversation->account;
  for (; !job->stopped && job->upload_message < r->count; job->upload_message++) {
    for (; job->upload_segment < r->messages[job->upload_message].count; job->upload_segment++) {
      const struct schema_segment *s = upload_segment(job);
      if (schema_segment_types[s->type].shape != SCHEMA_SHAPE_MEDIA) continue;
      if (s->media_kind != SCHEMA_MEDIA_BASE64) continue;
      rg_upload_start(account, s->text, uploaded, job);
      return;
    }
    job->upload_segment = 0;
  }
  media_ready(job);
}

/* On the service thread: the media were looked at. */
static void media_back(void *arg)
{
  struct rg_job *job = arg;
  struct rg_conversation *c = job->conversation;
  const struct rg_endpoint *e = rg_config_endpoint(job->view.config, span_of(c->account->name));
  for (size_t i = 0; i < job->media_fault_count; i++) {
    const struct rg_media_fault *f = &job->media_faults[i];
    rg_delivery_say(c, RG_LOG_WARN, "turn %" PRIu64 ": message %zu, segment %zu cannot go: %s",
                    job->ticket, f->message, f->segment, f->reason);
  }
  if (job->media_reply && e && e->files == RG_FILES_UPLOAD && job->peer.profile.uploads)
    upload_next(job);
  else
    media_ready(job);
}

/* On the media thread, or at once. */
static void media_looked_at(void *ctx, const struct schema_reply *resolved,
                            const struct rg_media_fault *faults, size_t count)
{
  struct rg_job *job = ctx;
  job->media_reply = resolved;
  job->media_faults = faults;
  job->media_fault_count = count;
  /* the service outlives the media thread */
  ob_service_post(job->conversation->account->gate->service, media_back, job);
}

void rg_media_stage_begin(struct rg_gate *gate, struct rg_job *job)
{
  const struct rg_media_order order = {
    .settings = job->group,
    .endpoint = rg_config_endpoint(job->view.config, span_of(job->conversation->account->name)),
    .language = job->view.config->language,
    .directive = job->judgement.rich.media,
    .reply = &job->reply,
    .arena = &job->arena,
    .ctx = job,
    .done = media_looked_at,
  };
  job->at_media = true;
  if (order.endpoint && !gate->closing && rg_media_judge(gate->media, &order)) return;
  job->at_media = false;
  rg_step_stop(job, "busy");
}
