#include "plugin/command/doctor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "onebot/client.h"
#include "onebot/outcome.h"
#include "onebot/server.h"
#include "plugin/media/media_ref.h"
#include "schema/print.h"

enum {
  ASK_MS = 10 * 1000,
  SEND_MS = 30 * 1000,
  ANSWER_MAX = 8 * 1024 * 1024, /* a group list of thousands */
};

struct visit {
  const struct rg_doctor_order *order;
  struct ob_service *service;
  struct ob_client *client;
  struct ob_server *server;
  struct ob_link *link;
  struct ob_profile profile;
  unsigned wrong;
  struct arena arena;

  pthread_mutex_t mu; /* guards what follows */
  pthread_cond_t news;
  enum ob_link_state state;
  unsigned states; /* how many were told */
  char why[256];
  bool answered;
  enum ob_answer_kind kind;
  struct buf answer;
};

enum mark { FINE, NOTE, WRONG };

__attribute__((format(printf, 3, 4))) static void say(struct visit *v, enum mark mark,
                                                      const char *format, ...)
{
  static const char *const marks[] = { "ok   ", "note ", "WRONG" };
  va_list args;
  v->wrong += mark == WRONG;
  fprintf(v->order->out, "  %s  ", marks[mark]);
  va_start(args, format);
  vfprintf(v->order->out, format, args);
  va_end(args);
  fputc('\n', v->order->out);
}

/* ---- the connection ---- */

static void on_state(void *ctx, enum ob_link_state state, const char *why)
{
  struct visit *v = ctx;
  pthread_mutex_lock(&v->mu);
  v->state = state;
  v->states++;
  snprintf(v->why, sizeof v->why, "%s", why ? why : "");
  pthread_cond_signal(&v->news);
  pthread_mutex_unlock(&v->mu);
}

static void on_event(void *ctx, struct span json)
{
  (void)ctx;
  (void)json;
}

static void deadline(struct timespec *t, unsigned ms)
{
  clock_gettime(CLOCK_REALTIME, t);
  t->tv_sec += ms / 1000;
  t->tv_nsec += (long)(ms % 1000) * 1000000;
  if (t->tv_nsec >= 1000000000) t->tv_sec++, t->tv_nsec -= 1000000000;
}

static bool open_link(struct visit *v, struct schema_error *error)
{
  const struct rg_endpoint *e = v->order->endpoint;
  struct ob_link_handlers on = { .ctx = v, .state = on_state, .event = on_event };
  struct span name = arena_copy(&v->arena, e->name), url = arena_copy(&v->arena, e->connect),
              token = arena_copy(&v->arena, e->access_token), ca = arena_copy(&v->arena, e->ca),
              host = arena_copy(&v->arena, e->listen.host),
              path = arena_copy(&v->arena, e->listen.path);
  if (v->arena.failed) return false;
  if (e->connect.len) {
    struct ob_client_options o = { .name = name.ptr,
                                   .url = url.ptr,
                                   .access_token = token.ptr,
                                   .ca = e->ca.len ? ca.ptr : NULL,
                                   .profile = e->profile,
                                   .on = on };
    if (ob_client_open(v->service, &o, &v->client, error) != SCHEMA_OK) return false;
    v->link = ob_client_link(v->client);
    return true;
  }
  struct ob_server_options o = { .name = name.ptr,
                                 .host = host.ptr,
                                 .port = e->listen.port,
                                 .path = path.ptr,
                                 .access_token = token.ptr,
                                 .profile = e->profile,
                                 .on = on };
  if (ob_server_open(v->service, &o, &v->server, error) != SCHEMA_OK) return false;
  v->link = ob_server_link(v->server);
  return true;
}

static void close_link(void *arg)
{
  struct visit *v = arg;
  if (v->client) ob_client_close(v->client);
  if (v->server) ob_server_close(v->server);
}

/* Waits until the link is ready or surely will not be. */
static enum ob_link_state await_link(struct visit *v)
{
  struct timespec until;
  bool dials = v->client != NULL;
  deadline(&until, v->order->wait_ms);
  pthread_mutex_lock(&v->mu);
  while (v->state != OB_LINK_READY && v->state != OB_LINK_REFUSED &&
         !(dials && v->states > 0 && v->state == OB_LINK_DOWN))
    if (pthread_cond_timedwait(&v->news, &v->mu, &until) != 0) break;
  enum ob_link_state state = v->state;
  pthread_mutex_unlock(&v->mu);
  return state;
}

/* ---- questions ---- */

struct question {
  struct visit *visit;
  struct span action, params;
  unsigned timeout_ms;
};

static void on_answer(void *ctx, const struct ob_answer *answer)
{
  struct visit *v = ctx;
  pthread_mutex_lock(&v->mu);
  v->answered = true;
  v->kind = answer->kind;
  buf_clear(&v->answer);
  if (answer->kind == OB_ANSWER_RESPONSE) buf_add(&v->answer, answer->json);
  pthread_cond_signal(&v->news);
  pthread_mutex_unlock(&v->mu);
}

static void put_question(void *arg)
{
  struct question *q = arg;
  ob_link_call(q->visit->link, q->action, q->params, q->timeout_ms, on_answer, q->visit);
}

/* Asks and waits. NULL: no answer that can be read; else its tree. */
static const struct schema_node *ask(struct visit *v, const char *action, struct span params,
                                     unsigned timeout_ms)
{
  struct question q = { v, span_of(action), params, timeout_ms };
  struct schema_node *tree = NULL;
  v->answered = false;
  if (!params.ptr || !ob_service_run(v->service, put_question, &q)) return NULL;
  pthread_mutex_lock(&v->mu);
  while (!v->answered) pthread_cond_wait(&v->news, &v->mu);
  pthread_mutex_unlock(&v->mu);
  struct span json = arena_copy(&v->arena, buf_span(&v->answer));
  if (v->kind != OB_ANSWER_RESPONSE ||
      schema_tree_read(json, SCHEMA_DEPTH_EVENT, &v->arena, &tree, NULL) != SCHEMA_OK)
    return NULL;
  return tree;
}

static const struct schema_node *data_of(const struct schema_node *response)
{
  return span_is(schema_tree_string(schema_tree_get(response, "status")), "ok")
             ? schema_tree_get(response, "data")
             : NULL;
}

/* ---- what is looked at ---- */

static void look_at_version(struct visit *v)
{
  struct span version = ob_link_version(v->link);
  const struct ob_profile *found = ob_profile_detect(version);
  v->profile = *ob_link_profile(v->link);
  if (version.len)
    say(v, FINE, "it is %.*s, profile %s", (int)version.len, version.ptr, v->profile.name);
  else
    say(v, NOTE, "it does not say what it is, profile %s", v->profile.name);
  if (v->order->endpoint->profile && version.len && found != v->order->endpoint->profile)
    say(v, NOTE, "profile: %s is set, by its name it would be %s; is that meant?",
        v->order->endpoint->profile->name, found->name);
  if (!v->order->endpoint->profile && v->profile.id == OB_SPEC)
    say(v, NOTE,
        "no known implementation: only plain OneBot 11 is used; set `profile` if you know "
        "which it resembles");
  const struct rg_list *facts = &v->order->endpoint->profile_override;
  for (size_t i = 0; i + 1 < facts->count; i += 2) {
    ob_profile_override(&v->profile, facts->items[i], facts->items[i + 1], NULL);
    say(v, NOTE, "profile_override: %.*s is %.*s", (int)facts->items[i].len, facts->items[i].ptr,
        (int)facts->items[i + 1].len, facts->items[i + 1].ptr);
  }
}

static void look_at_token(struct visit *v)
{
  if (v->order->endpoint->access_token.len)
    say(v, FINE, "the token is accepted");
  else
    say(v, NOTE,
        "no access_token: whoever reaches that port can send as this account; set one on "
        "both sides");
}

static struct span look_at_account(struct visit *v)
{
  const struct schema_node *login = data_of(ask(v, "get_login_info", SPAN("{}"), ASK_MS));
  struct span self = schema_tree_id(schema_tree_get(login, "user_id"));
  if (self.len)
    say(v, FINE, "the account is %.*s", (int)self.len, self.ptr);
  else
    say(v, WRONG, "get_login_info gives no account: is QQ logged in there?");
  const struct schema_node *status = data_of(ask(v, "get_status", SPAN("{}"), ASK_MS));
  if (status && !schema_tree_truth(schema_tree_get(status, "online"), true))
    say(v, WRONG, "the account is offline: log in again in the implementation");
  return self;
}

/* The group numbers that the file names for this endpoint, looked up one by one. */
static void look_at_group(struct visit *v, uint64_t group, struct span self)
{
  struct span params = arena_printf(&v->arena, "{\"group_id\":%" PRIu64 ",\"user_id\":%.*s}", group,
                                    (int)self.len, self.ptr);
  const struct schema_node *member = data_of(ask(v, "get_group_member_info", params, ASK_MS));
  struct span role = schema_tree_string(schema_tree_get(member, "role"));
  if (!member)
    say(v, WRONG, "group %" PRIu64 ": the account is not in it, or the implementation cannot tell",
        group);
  else if (span_is(role, "owner") || span_is(role, "admin"))
    say(v, FINE, "group %" PRIu64 ": there, as %.*s", group, (int)role.len, role.ptr);
  else
    say(v, FINE, "group %" PRIu64 ": there, as member (mentioning everyone needs an admin)", group);
  if (member && rg_config_group(v->order->config, v->order->endpoint, group)->mention_all &&
      span_is(role, "member"))
    say(v, NOTE, "group %" PRIu64 ": mention_all is true, but QQ lets only admins do it", group);
}

static void look_at_groups(struct visit *v, struct span self)
{
  struct rg_ids named = rg_config_named(v->order->config, v->order->endpoint);
  if (named.count == 0)
    say(v, NOTE, "the configuration names no group: groups.default holds everywhere");
  for (size_t i = 0; self.len && i < named.count; i++) look_at_group(v, named.items[i], self);
}

static void tell_limits(struct visit *v)
{
  if (v->profile.reaction == OB_REACT_NONE)
    say(v, NOTE, "it has no reactions: the model is not offered any");
  if (v->profile.music == OB_MUSIC_NONE)
    say(v, NOTE, "it shows no music cards: songs go as text with their address");
  if (v->profile.note) say(v, NOTE, "shown under a condition: %s", v->profile.note);
}

/* ---- sending, only where the operator asked for it ---- */

static const char picture[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPj/HwADAgH/"
    "p8QxvQAAAABJRU5ErkJggg==";

/* Sends one message to the named account. The id of what was sent, or empty and *reason. */
static struct span send_message(struct visit *v, struct span segments, const char **reason)
{
  struct span user = v->order->try_user;
  struct span params = arena_printf(&v->arena, "{\"user_id\":%.*s,\"message\":[%.*s]}",
                                    (int)user.len, user.ptr, (int)segments.len, segments.ptr);
  const struct schema_node *answer = ask(v, "send_private_msg", params, SEND_MS);
  struct ob_outcome o = ob_outcome_read(&v->profile, SPAN("send_private_msg"), answer);
  *reason = o.reason;
  return o.kind == OB_SENT ? o.message_id : (struct span) { 0 };
}

/* A picture that lies in the first root, as the peer would have to read it. */
static struct span picture_path(struct visit *v, struct span *retpath)
{
  const struct rg_group *g = rg_config_group(v->order->config, v->order->endpoint, 0);
  if (g->media.roots.count == 0) return (struct span) { 0 };
  struct span root = g->media.roots.items[0];
  struct span path = arena_printf(&v->arena, "%.*s/replygate-doctor-%d.png", (int)root.len,
                                  root.ptr, (int)getpid());
  char bytes[128];
  size_t head = 0, size = 0;
  FILE *f = path.ptr ? fopen(path.ptr, "wbx") : NULL;
  if (!f) return (struct span) { 0 };
  rg_media_base64(span_of(picture), bytes, sizeof bytes, &head, &size);
  bool whole = fwrite(bytes, 1, head, f) == head;
  whole = fclose(f) == 0 && whole;
  *retpath = path;
  return whole ? rg_media_path_map(&v->order->endpoint->path_map, path, &v->arena)
               : (struct span) { 0 };
}

static void try_shared_file(struct visit *v)
{
  struct span ours = { 0 }, theirs = picture_path(v, &ours);
  const char *reason = NULL;
  if (!theirs.len) {
    say(v, WRONG, "files: shared, but no file can be written to the first of media.roots");
    return;
  }
  struct span segment =
      arena_printf(&v->arena, "{\"type\":\"image\",\"data\":{\"file\":\"file://%.*s\"}}",
                   (int)theirs.len, theirs.ptr);
  if (send_message(v, segment, &reason).len)
    say(v, FINE, "it sees our files");
  else
    say(v, WRONG,
        "it does not see our files (%s): set path_map to its name of the folder, or files: base64",
        reason);
  unlink(ours.ptr);
}

static void try_picture(struct visit *v)
{
  const char *reason = NULL;
  struct span segment =
      arena_printf(&v->arena, "{\"type\":\"image\",\"data\":{\"file\":\"base64://%s\"}}", picture);
  if (send_message(v, segment, &reason).len)
    say(v, FINE, "a picture arrives");
  else
    say(v, WRONG, "a picture is not taken: %s", reason);
}

/* Whether the message that was sent shows a card, as delivery looks at it. */
static bool shows_card(struct visit *v, struct span message_id)
{
  struct span params =
      arena_printf(&v->arena, "{\"message_id\":%.*s}", (int)message_id.len, message_id.ptr);
  const struct schema_node *message =
      schema_tree_get(data_of(ask(v, "get_msg", params, ASK_MS)), "message");
  for (const struct schema_node *s = message ? message->first : NULL; s; s = s->next) {
    struct span type = schema_tree_string(schema_tree_get(s, "type"));
    if (span_is(type, "json") || span_is(type, "music")) return true;
  }
  return false;
}

static void try_card(struct visit *v)
{
  static const char card[] =
      "{\"type\":\"music\",\"data\":{\"type\":\"163\",\"url\":\"https://music.163.com/"
      "song?id=186016\","
      "\"audio\":\"https://music.163.com/song/media/outer/"
      "url?id=186016.mp3\",\"title\":\"Replygate\","
      "\"content\":\"doctor\",\"image\":\"https://p1.music.126.net/cover.jpg\"}}";
  const char *reason = NULL;
  if (v->profile.music != OB_MUSIC_PLATFORM && v->profile.music != OB_MUSIC_CUSTOM) return;
  struct span id = send_message(v, span_of(card), &reason);
  if (!id.len)
    say(v, WRONG, "a music card is not taken (%s): set music_sign: no, songs then go as text",
        reason);
  else if (shows_card(v, id))
    say(v, FINE, "it signs music cards: music_sign: yes may be set");
  else
    say(v, WRONG,
        "a music card is accepted and not shown: its sign service does not work; set "
        "music_sign: no, or give it another one");
}

static void try_sending(struct visit *v)
{
  if (!v->order->try_user.len) {
    say(v, NOTE, "pictures and music cards were not tried: --try YOUR_QQ sends you one of each");
    return;
  }
  if (v->order->endpoint->files == RG_FILES_SHARED)
    try_shared_file(v);
  else
    try_picture(v);
  try_card(v);
}

/* ---- the whole ---- */

static void examine_ready(struct visit *v)
{
  say(v, FINE, "connected");
  look_at_token(v);
  look_at_version(v);
  look_at_groups(v, look_at_account(v));
  tell_limits(v);
  try_sending(v);
}

/* As the configuration has it. */
static const char *listen_address(struct visit *v)
{
  const struct rg_endpoint *e = v->order->endpoint;
  struct span s =
      arena_printf(&v->arena, "%.*s:%u%.*s", (int)e->listen.host.len, e->listen.host.ptr,
                   e->listen.port, (int)e->listen.path.len, e->listen.path.ptr);
  return s.ptr ? s.ptr : "its address";
}

static void tell_failure(struct visit *v, enum ob_link_state state)
{
  char why[sizeof v->why];
  pthread_mutex_lock(&v->mu);
  snprintf(why, sizeof why, "%s", v->why);
  pthread_mutex_unlock(&v->mu);
  if (state == OB_LINK_REFUSED)
    say(v, WRONG, "refused: %s; compare access_token and the path on both sides", why);
  else if (v->client)
    say(v, WRONG, "no connection: %s; is its WebSocket server on, with this address?",
        *why ? why : "it does not answer");
  else
    say(v, WRONG, "nobody has connected within %u s: set its reverse WebSocket to ws://%s",
        v->order->wait_ms / 1000, listen_address(v));
}

/* Where the link could not even be opened: a run of the same configuration listens there itself. */
static void tell_closed(struct visit *v, const struct schema_error *error)
{
  const char *what = error->what ? error->what : "out of memory";
  if (v->order->endpoint->connect.len)
    say(v, WRONG, "%s", what);
  else
    say(v, WRONG, "%s: %s; if Replygate runs with this configuration, end it first",
        listen_address(v), what);
}

unsigned rg_doctor_examine(struct ob_service *s, const struct rg_doctor_order *order)
{
  struct visit v = { .order = order, .service = s };
  struct schema_error error = { 0 };
  pthread_mutex_init(&v.mu, NULL);
  pthread_cond_init(&v.news, NULL);
  arena_init(&v.arena, 16 * (size_t)ANSWER_MAX);
  buf_init(&v.answer, ANSWER_MAX);
  fprintf(order->out, "%.*s\n", (int)order->endpoint->name.len, order->endpoint->name.ptr);
  if (order->endpoint->host_connects) {
    say(&v, NOTE, "connect: host: the framework has this connection; nothing to examine here");
  } else if (!open_link(&v, &error)) {
    tell_closed(&v, &error);
  } else {
    enum ob_link_state state = await_link(&v);
    if (state == OB_LINK_READY)
      examine_ready(&v);
    else
      tell_failure(&v, state);
    ob_service_run(s, close_link, &v);
  }
  buf_done(&v.answer);
  arena_done(&v.arena);
  pthread_cond_destroy(&v.news);
  pthread_mutex_destroy(&v.mu);
  return v.wrong;
}
