/* picture: see picture.h. */
#include "plugin/agent/picture.h"

#include <stdlib.h>

#include "plugin/agent/question.h"
#include "plugin/media/media.h"
#include "plugin/media/media_ref.h"
#include "plugin/media/media_type.h"
#include "schema/print.h"

enum { ARENA_MAX = 2 * RG_PICTURES_MAX * 2 * RG_PICTURE_BYTES_MAX }; /* fetched, and as base64 */

/* Pictures on their way, which outlive their run where it is given up. The media thread's until it
 * is posted back. */
struct look {
  struct rg_gate *gate;
  uint64_t number;
  struct rg_view view;
  struct rg_group settings; /* of the group, but for what is another matter here */
  struct arena arena;
  struct rg_talk_picture asked[RG_PICTURES_MAX];
  struct schema_segment segments[RG_PICTURES_MAX];
  struct schema_message message;
  struct schema_reply reply;
  const struct schema_reply *found;
};

static void look_free(struct look *look)
{
  rg_view_done(&look->view);
  arena_done(&look->arena);
  free(look);
}

/* ---- what came ---- */

/* The types that every vendor takes. */
static bool is_shown(const char *mime)
{
  static const char *const shown[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
    if (strcmp(mime, shown[i]) == 0) return true;
  return false;
}

/* Adds what a segment became to the run's pictures. */
static void take(struct rg_run *run, const struct schema_segment *s, struct rg_picture *ret,
                 size_t *count)
{
  char *head = malloc(RG_MEDIA_HEAD);
  size_t head_len = 0, size = 0;
  bool read = head && s->type == SCHEMA_IMAGE && s->media_kind == SCHEMA_MEDIA_BASE64 &&
              rg_media_base64(s->text, head, RG_MEDIA_HEAD, &head_len, &size);
  if (read && size <= RG_PICTURE_BYTES_MAX) {
    struct rg_media_type type = rg_media_type_of((struct span) { head, head_len }, NULL);
    struct rg_picture p = { .mime = arena_copy(&run->arena, span_of(type.mime)),
                            .base64 = arena_copy(&run->arena, s->text) };
    if (is_shown(type.mime) && p.mime.ptr && p.base64.ptr) ret[(*count)++] = p;
  }
  free(head);
}

/* One more line of data: which messages the pictures are of, in their order. */
static struct span with_list(struct rg_run *run, struct span text, const struct look *look,
                             const bool *taken)
{
  struct buf out;
  struct schema_writer w = { .out = &out };
  buf_init(&out, text.len + RG_PICTURES_MAX * 256);
  buf_add(&out, text);
  schema_write_object(&w);
  schema_write_key(&w, SPAN("pictures_of"));
  schema_write_array(&w);
  for (size_t i = 0; i < look->message.count; i++)
    if (taken[i]) schema_write_string(&w, look->asked[i].message_id);
  schema_write_array_end(&w);
  schema_write_object_end(&w);
  buf_add_char(&out, '\n');
  struct span made = out.failed ? text : arena_copy(&run->arena, buf_span(&out));
  buf_done(&out);
  return made.ptr ? made : text;
}

static struct rg_said *last_of_people(struct rg_run *run)
{
  for (size_t i = run->said_count; i > 0; i--)
    if (run->said[i - 1].by == RG_SAID_USER) return &run->said[i - 1];
  return NULL;
}

static void show(struct rg_run *run, const struct look *look)
{
  struct rg_picture *pictures = arena_zalloc(&run->arena, RG_PICTURES_MAX, sizeof *pictures);
  struct rg_said *said = last_of_people(run);
  bool taken[RG_PICTURES_MAX] = { false };
  size_t count = 0;
  if (!pictures || !said || !look->found) return;
  for (size_t i = 0; i < look->message.count; i++) {
    size_t before = count;
    take(run, &look->found->messages[0].segments[i], pictures, &count);
    taken[i] = count > before;
  }
  if (count < look->message.count)
    rg_run_say(run, RG_LOG_INFO, "a picture could not be had and is left out", "");
  if (count == 0) return;
  said->text = with_list(run, said->text, look, taken);
  said->pictures = pictures;
  said->picture_count = count;
}

static void look_back(void *arg)
{
  struct look *look = arg;
  struct rg_agent *agent = look->gate->agent;
  struct rg_run *run = agent && !look->gate->closing ? rg_run_find(agent, look->number) : NULL;
  if (run) show(run, look);
  look_free(look);
  if (run) rg_run_ask(run);
}

/* The media thread. */
static void on_media(void *ctx, const struct schema_reply *resolved,
                     const struct rg_media_fault *faults, size_t fault_count)
{
  struct look *look = ctx;
  (void)faults;
  (void)fault_count;
  look->found = resolved;
  if (!ob_service_post(look->gate->service, look_back, look)) look_free(look);
}

/* ---- asking ---- */

static bool is_seen(const struct rg_run *run)
{
  const struct rg_provider *p;
  for (size_t i = 0; (p = rg_run_provider(run, i)); i++)
    if (p->images) return true;
  return false;
}

static struct look *look_new(struct rg_run *run)
{
  struct look *look = calloc(1, sizeof *look);
  if (!look) return NULL;
  look->gate = run->agent->gate;
  look->number = run->number;
  look->view = rg_view_keep(&run->view);
  arena_init(&look->arena, ARENA_MAX);
  look->settings = *run->view.group;
  look->settings.media.inspect = true;
  look->settings.media.deliver = RG_DELIVER_BASE64;
  look->settings.media.max_bytes = RG_PICTURE_BYTES_MAX;
  size_t n = run->view.group->agent.images;
  n = rg_talk_pictures(&run->chat->talk, run->view.group->agent.context,
                       n < RG_PICTURES_MAX ? n : RG_PICTURES_MAX, &look->arena, look->asked);
  for (size_t i = 0; i < n; i++)
    look->segments[i] = (struct schema_segment) { .type = SCHEMA_IMAGE,
                                                  .media_kind = SCHEMA_MEDIA_URL,
                                                  .text = look->asked[i].url };
  look->message = (struct schema_message) { .segments = look->segments, .count = n };
  look->reply = (struct schema_reply) { .messages = &look->message, .count = 1 };
  return look;
}

void rg_picture_fetch(struct rg_run *run)
{
  bool wanted = run->view.group->agent.images > 0 && run->view.endpoint && is_seen(run);
  struct look *look = wanted ? look_new(run) : NULL;
  if (look && look->message.count > 0) {
    const struct rg_media_order order = { .settings = &look->settings,
                                          .endpoint = look->view.endpoint,
                                          .language = look->view.config->language,
                                          .reply = &look->reply,
                                          .arena = &look->arena,
                                          .ctx = look,
                                          .done = on_media };
    if (rg_media_judge(look->gate->media, &order)) return;
  }
  if (look) look_free(look);
  rg_run_ask(run);
}
