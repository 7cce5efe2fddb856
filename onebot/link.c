/* link: owns the calls that wait, what is known of the peer, and the watch over its silence.
 *
 * A call's echo is its slot and a serial number, so that a response finds its call without a search
 * and one that comes too late finds none. Handlers may close the link: after each of them `closed`
 * is looked at; the memory stays until the owner is buried. */
#include "onebot/link.h"

#include <stdio.h>
#include <stdlib.h>

#include "onebot/sight.h"
#include "schema/tree.h"

enum {
  ECHO_LEN = 2 + 4 + 16,        /* "rg", slot, serial, in hexadecimal */
  ARENA_MAX = 2 * OB_FRAME_MAX, /* decoded strings of one frame, and the sets of its keys */
  ARENA_KEEP = 256 * 1024,
  PROBE_ARENA = 256 * 1024, /* a response to get_version_info is a few hundred bytes */
  HEARTBEAT_MIN_MS = 1000,  /* a peer's word is not believed beyond these */
  HEARTBEAT_MAX_MS = 600 * 1000,
  STUCK_PROBES = 4,  /* so many times as long it may take nothing of what waits for it */
  HEARTBEATS = 3,    /* missed ones before the peer counts as dead: onebot.md 1.5 */
  FAULTS_LOGGED = 3, /* bad frames of one connection that get a line of their own */
  VERSION_MAX = 96,
  FIRST_SLOTS = 16,
  /* a ticket is the slot and so much of the serial number: with 8,192 calls under way it still is
   * exact in a double, JavaScript's only number */
  TICKET_SERIAL_BITS = 40,
};

#define TICKET_SERIAL ((UINT64_C(1) << TICKET_SERIAL_BITS) - 1)

struct call {
  uint64_t serial; /* 0: free */
  void (*done)(void *ctx, const struct ob_answer *answer);
  void *ctx;
  uint64_t due_ms, mark; /* mark: bytes queued with the end of its frame */
  unsigned timeout_ms;
  bool parts; /* each part of a stream is told */
  size_t next_free;
};

struct ob_link {
  struct ob_link_options options;
  enum ob_link_state state;
  bool closed;
  /* identity, as far as it is known */
  const struct ob_profile *profile; /* NULL: not yet */
  char self_id[24], version[VERSION_MAX];
  /* this connection */
  const struct ob_carrier *carrier;
  void *wire;                      /* NULL: none */
  bool version_known, login_known; /* or given up on */
  bool proven, unwanted, paused;
  unsigned heartbeat_ms; /* 0: none seen */
  unsigned faults;
  uint64_t heard_ms, pinged_ms; /* pinged_ms 0: no ping is out */
  uint64_t handed;              /* with the last look at what it takes */
  bool waited;                  /* and whether something waited then */
  struct ob_timer watch, probes, taking;
  /* calls */
  struct call *slots;
  size_t slot_count, first_free;
  uint64_t serial, ticket; /* ticket: of the last frame */
  uint64_t timer_due_ms;   /* of calls_timer, where it is armed */
  struct ob_timer calls_timer;
  struct arena arena;           /* of the frame that is being read */
  const struct ob_sight *sight; /* of the event that is handed up; else NULL */
  char why[256];                /* of the last state */
};

static struct ob_link *link_of(struct ob_timer *t, size_t offset)
{
  return (struct ob_link *)(void *)((char *)t - offset);
}

/* ---- what others see ---- */

enum ob_link_state ob_link_state(const struct ob_link *l)
{
  return l->state;
}

const struct ob_profile *ob_link_profile(const struct ob_link *l)
{
  if (l->options.profile) return l->options.profile;
  return l->profile ? l->profile : &ob_profiles[OB_SPEC];
}

struct span ob_link_self_id(const struct ob_link *l)
{
  return span_of(l->self_id);
}

struct span ob_link_version(const struct ob_link *l)
{
  return span_of(l->version);
}

bool ob_link_proven(const struct ob_link *l)
{
  return l->proven;
}

bool ob_link_unwanted(const struct ob_link *l)
{
  return l->unwanted;
}

/* Tells the handler a new state, or the same one for a new reason. */
static void tell(struct ob_link *l, enum ob_link_state state, const char *why)
{
  if (l->closed || (state == l->state && strcmp(why, l->why) == 0)) return;
  l->state = state;
  snprintf(l->why, sizeof l->why, "%s", why);
  if (l->options.on.state) l->options.on.state(l->options.on.ctx, state, l->why);
}

static void prove(struct ob_link *l);

static void look_ready(struct ob_link *l)
{
  if (l->state != OB_LINK_OPEN || !l->proven || !l->version_known) return;
  if (!l->login_known && !l->self_id[0]) return;
  char why[VERSION_MAX + 64];
  snprintf(why, sizeof why, "%s, account %s", l->version[0] ? l->version : "unknown implementation",
           l->self_id[0] ? l->self_id : "unknown");
  tell(l, OB_LINK_READY, why);
}

/* ---- calls ---- */

static void echo_write(char *out, size_t slot, uint64_t serial)
{
  static const char digits[] = "0123456789abcdef";
  *out++ = 'r';
  *out++ = 'g';
  for (int shift = 12; shift >= 0; shift -= 4) *out++ = digits[slot >> shift & 15];
  for (int shift = 60; shift >= 0; shift -= 4) *out++ = digits[serial >> shift & 15];
}

/* The slot of the call that echo belongs to, or SIZE_MAX. */
static size_t echo_slot(const struct ob_link *l, struct span echo)
{
  if (echo.len != ECHO_LEN || !span_starts(echo, SPAN("rg"))) return SIZE_MAX;
  size_t slot = 0;
  for (size_t i = 2; i < 6; i++) {
    char c = echo.ptr[i];
    slot = slot << 4 | (size_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (slot >= l->slot_count || !l->slots[slot].serial) return SIZE_MAX;
  char expected[ECHO_LEN];
  echo_write(expected, slot, l->slots[slot].serial);
  return memcmp(expected, echo.ptr, ECHO_LEN) == 0 ? slot : SIZE_MAX;
}

static bool grow_slots(struct ob_link *l)
{
  size_t n = l->slot_count ? l->slot_count * 2 : FIRST_SLOTS;
  if (n > OB_CALLS_MAX) return false;
  struct call *grown = realloc(l->slots, n * sizeof *grown);
  if (!grown) return false;
  for (size_t i = l->slot_count; i < n; i++) grown[i] = (struct call) { .next_free = i + 1 };
  l->first_free = l->slot_count;
  l->slots = grown;
  l->slot_count = n;
  return true;
}

/* Ends the call in a slot; the slot is free before its function runs, which may call again. */
static void end_answered(struct ob_link *l, size_t slot, const struct ob_answer *answer)
{
  struct call c = l->slots[slot];
  l->slots[slot].serial = 0;
  l->slots[slot].next_free = l->first_free;
  l->first_free = slot;
  c.done(c.ctx, answer);
}

static void end_call(struct ob_link *l, size_t slot, enum ob_answer_kind kind)
{
  end_answered(l, slot, &(struct ob_answer) { .kind = kind });
}

static void calls_due(struct ob_timer *t);

static void arm_calls(struct ob_link *l, uint64_t due_ms)
{
  if (l->calls_timer.armed && l->timer_due_ms <= due_ms) return;
  uint64_t now = ob_now_ms();
  l->timer_due_ms = due_ms;
  ob_timer_set(l->options.service, &l->calls_timer, due_ms > now ? due_ms - now : 0, calls_due);
}

/* One timer for all calls: it is set for the earliest and finds what is due by a look at each. A
 * call that was answered in time leaves it armed; it then fires once for nothing. */
static void calls_due(struct ob_timer *t)
{
  struct ob_link *l = link_of(t, offsetof(struct ob_link, calls_timer));
  uint64_t now = ob_now_ms(), next = UINT64_MAX;
  for (size_t i = 0; i < l->slot_count && !l->closed; i++) {
    if (!l->slots[i].serial) continue;
    if (l->slots[i].due_ms > now) {
      if (l->slots[i].due_ms < next) next = l->slots[i].due_ms;
    } else {
      end_call(l, i, OB_ANSWER_TIMEOUT);
    }
  }
  if (next != UINT64_MAX && !l->closed) arm_calls(l, next);
}

static int by_serial(const void *a, const void *b)
{
  const struct call *x = a, *y = b;
  return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* In the order in which they were made. No response finds its slot any more, and no new call is
 * taken, so they may change their places. */
static void end_all_calls(struct ob_link *l, uint64_t handed)
{
  if (l->slot_count) qsort(l->slots, l->slot_count, sizeof *l->slots, by_serial);
  l->first_free = l->slot_count;
  for (size_t i = 0; i < l->slot_count; i++) {
    if (!l->slots[i].serial) {
      l->slots[i].next_free = l->first_free;
      l->first_free = i;
      continue;
    }
    end_call(l, i, l->slots[i].mark <= handed ? OB_ANSWER_CLOSED : OB_ANSWER_NOT_WRITTEN);
  }
}

static bool is_plain(struct span name)
{
  for (size_t i = 0; i < name.len; i++) {
    unsigned char c = (unsigned char)name.ptr[i];
    if (c < ' ' || c == '"' || c == '\\' || c >= 0x7F) return false;
  }
  return name.len > 0;
}

static bool fits(const struct ob_link *l, size_t size)
{
  size_t most = ob_link_profile(l)->frame_max;
  return size <= OB_FRAME_MAX && (most == 0 || size <= most);
}

/* A call's frame on its way: its parts, of which one has room for the echo. */
struct outgoing {
  struct span parts[8];
  size_t count, echo;
  unsigned timeout_ms;
  bool stream;
  void (*done)(void *ctx, const struct ob_answer *answer);
  void *ctx;
};

static void call_send(struct ob_link *l, struct outgoing *o)
{
  static const struct ob_answer not_written = { .kind = OB_ANSWER_NOT_WRITTEN };
  char echo[ECHO_LEN];
  size_t size = 0;
  o->parts[o->echo] = (struct span) { echo, sizeof echo };
  for (size_t i = 0; i < o->count; i++) size += o->parts[i].len;
  if (l->closed || !l->wire || !fits(l, size) ||
      (l->first_free >= l->slot_count && !grow_slots(l))) {
    o->done(o->ctx, &not_written);
    return;
  }
  size_t slot = l->first_free;
  struct call *c = &l->slots[slot];
  l->ticket = (uint64_t)slot << TICKET_SERIAL_BITS | ((l->serial + 1) & TICKET_SERIAL);
  echo_write(echo, slot, l->serial + 1);
  if (!l->carrier->send(l->wire, o->parts, o->count)) {
    o->done(o->ctx, &not_written);
    return;
  }
  l->first_free = c->next_free;
  *c = (struct call) {
    .serial = ++l->serial,
    .done = o->done,
    .ctx = o->ctx,
    .due_ms = ob_now_ms() + o->timeout_ms,
    .timeout_ms = o->timeout_ms,
    .parts = o->stream,
    .mark = l->carrier->queued(l->wire),
  };
  arm_calls(l, c->due_ms);
}

void ob_link_call(struct ob_link *l, struct span action, struct span params, unsigned timeout_ms,
                  void (*done)(void *ctx, const struct ob_answer *answer), void *ctx)
{
  struct outgoing o = {
    .parts = { SPAN("{\"action\":\""),
               action,
               SPAN("\",\"params\":"),
               params.len ? params : SPAN("{}"),
               SPAN(",\"echo\":\""),
               { NULL, 0 },
               SPAN("\"}") },
    .count = 7,
    .echo = 5,
    .timeout_ms = timeout_ms,
    .done = done,
    .ctx = ctx,
  };
  if (is_plain(action))
    call_send(l, &o);
  else
    done(ctx, &(struct ob_answer) { .kind = OB_ANSWER_NOT_WRITTEN });
}

void ob_link_forward(struct ob_link *l, const struct span before[2], struct span after,
                     unsigned timeout_ms, void (*done)(void *ctx, const struct ob_answer *answer),
                     void *ctx)
{
  struct outgoing o = {
    .parts = { before[0], before[1], SPAN("\""), { NULL, 0 }, SPAN("\""), after },
    .count = 6,
    .echo = 3,
    .timeout_ms = timeout_ms,
    .stream = true,
    .done = done,
    .ctx = ctx,
  };
  call_send(l, &o);
}

bool ob_link_send(struct ob_link *l, struct span frame)
{
  return !l->closed && l->wire && fits(l, frame.len) && l->carrier->send(l->wire, &frame, 1);
}

size_t ob_link_waiting(const struct ob_link *l)
{
  return l->wire ? (size_t)(l->carrier->queued(l->wire) - l->carrier->handed(l->wire)) : 0;
}

const struct ob_sight *ob_link_sight(const struct ob_link *l)
{
  return l->sight;
}

uint64_t ob_link_ticket(const struct ob_link *l)
{
  return l->ticket;
}

static struct ob_answer answer_of(const struct ob_sight *s, struct span json)
{
  return (struct ob_answer) { .kind = OB_ANSWER_RESPONSE,
                              .json = json,
                              .echo = s->echo_raw,
                              .message_id = s->message_id,
                              .retcode = s->retcode };
}

void ob_link_answer(struct ob_link *l, uint64_t ticket, struct span json)
{
  size_t slot = (size_t)(ticket >> TICKET_SERIAL_BITS);
  uint64_t serial = ticket & TICKET_SERIAL;
  if (l->closed || !l->wire || slot >= l->slot_count || !l->slots[slot].serial ||
      (l->slots[slot].serial & TICKET_SERIAL) != serial)
    return;
  struct ob_answer answer = { .kind = json.len ? OB_ANSWER_RESPONSE : OB_ANSWER_TIMEOUT,
                              .json = json };
  struct ob_sight seen;
  struct arena arena; /* maybe inside the take of another frame */
  arena_init(&arena, ARENA_MAX);
  if (json.len && ob_sight_read(json, &arena, &seen, NULL)) answer = answer_of(&seen, json);
  l->heard_ms = ob_now_ms();
  if (json.len) prove(l);
  if (!l->closed) end_answered(l, slot, &answer);
  arena_done(&arena);
}

void ob_link_pause(struct ob_link *l, bool pause)
{
  if (!l->wire || l->paused == pause) return;
  l->paused = pause;
  l->heard_ms = ob_now_ms(); /* the silence in between was ours */
  l->carrier->pause(l->wire, pause);
}

/* ---- silence ---- */

static void on_watch(struct ob_timer *t);

/* After a heartbeat its interval counts; before, a ping of ours asks (onebot.md 1.5). */
static void arm_watch(struct ob_link *l, uint64_t silence)
{
  uint64_t limit = l->heartbeat_ms    ? HEARTBEATS * l->heartbeat_ms
                   : l->carrier->ping ? l->options.ping_ms
                                      : 0;
  if (limit)
    ob_timer_set(l->options.service, &l->watch, limit > silence ? limit - silence : 0, on_watch);
}

static void on_watch(struct ob_timer *t)
{
  struct ob_link *l = link_of(t, offsetof(struct ob_link, watch));
  uint64_t now = ob_now_ms(), silence = now - l->heard_ms;
  unsigned limit = l->heartbeat_ms ? HEARTBEATS * l->heartbeat_ms : l->options.ping_ms;
  if (l->heard_ms >= l->pinged_ms) l->pinged_ms = 0;
  if (silence < limit || l->paused) {
    arm_watch(l, silence < limit ? silence : 0);
  } else if (!l->heartbeat_ms && !l->pinged_ms) {
    l->pinged_ms = now;
    l->carrier->ping(l->wire);
    arm_watch(l, 0);
  } else {
    char why[96];
    snprintf(why, sizeof why, "nothing was heard for %llu s, the connection is given up",
             (unsigned long long)(silence / 1000));
    l->carrier->end(l->wire, why);
  }
}

/* A peer may be heard and yet take nothing: what waits for it would hold back for ever who sends
 * it. */
static void on_taking(struct ob_timer *t)
{
  struct ob_link *l = link_of(t, offsetof(struct ob_link, taking));
  uint64_t handed = l->carrier->handed(l->wire);
  bool waits = handed < l->carrier->queued(l->wire);
  if (waits && l->waited && handed == l->handed) {
    l->carrier->end(l->wire, "it takes nothing of what is sent, the connection is given up");
    return;
  }
  l->waited = waits;
  l->handed = handed;
  ob_timer_set(l->options.service, t, STUCK_PROBES * l->options.probe_ms, on_taking);
}

void ob_link_heard(struct ob_link *l)
{
  l->heard_ms = ob_now_ms();
}

static void heartbeat_seen(struct ob_link *l, uint64_t interval_ms)
{
  if (interval_ms < HEARTBEAT_MIN_MS) interval_ms = HEARTBEAT_MIN_MS;
  if (interval_ms > HEARTBEAT_MAX_MS) interval_ms = HEARTBEAT_MAX_MS;
  if (l->heartbeat_ms == interval_ms) return;
  l->heartbeat_ms = (unsigned)interval_ms;
  arm_watch(l, 0);
}

/* ---- frames ---- */

static uint64_t number_of(struct span digits)
{
  uint64_t n = 0;
  for (size_t i = 0; i < digits.len && i < 18; i++) {
    if (digits.ptr[i] < '0' || digits.ptr[i] > '9') return n;
    n = n * 10 + (uint64_t)(digits.ptr[i] - '0');
  }
  return n;
}

/* Whether more replies with this echo follow: NapCat's streams end with data.type "response" or
 * "error". */
static bool more_follows(struct ob_link *l, const struct ob_sight *s)
{
  if (!span_is(s->stream, "stream-action")) return false;
  struct schema_node *data;
  if (schema_tree_read(s->data, SCHEMA_DEPTH_EVENT, &l->arena, &data, NULL) != SCHEMA_OK)
    return false;
  return span_is(schema_tree_string(schema_tree_get(data, "type")), "stream");
}

static void prove(struct ob_link *l)
{
  l->proven = true;
  look_ready(l);
}

static void set_self_id(struct ob_link *l, struct span id)
{
  if (l->self_id[0] || id.len == 0 || id.len >= sizeof l->self_id) return;
  for (size_t i = 0; i < id.len; i++)
    if (id.ptr[i] < '0' || id.ptr[i] > '9') return;
  memcpy(l->self_id, id.ptr, id.len);
  l->self_id[id.len] = 0;
}

static void take_event(struct ob_link *l, const struct ob_sight *s, struct span text)
{
  set_self_id(l, s->self_id);
  if (span_is(s->meta_event, "heartbeat") && s->interval.len)
    heartbeat_seen(l, number_of(s->interval));
  if (s->has_post_type) prove(l);
  if (l->closed || !l->options.on.event) return;
  l->sight = s;
  l->options.on.event(l->options.on.ctx, text);
  l->sight = NULL;
}

static void take_response(struct ob_link *l, const struct ob_sight *s, size_t slot,
                          struct span text)
{
  struct ob_answer answer = answer_of(s, text);
  if (more_follows(l, s)) {
    struct call *c = &l->slots[slot];
    c->due_ms = ob_now_ms() + c->timeout_ms;
    answer.kind = OB_ANSWER_PART;
    if (c->parts) c->done(c->ctx, &answer);
    return;
  }
  prove(l);
  if (!l->closed) end_answered(l, slot, &answer);
}

/* The word of NapCat and LLBot, before they close, that the token is wrong. */
static bool is_refusal(const struct ob_sight *s)
{
  return !s->has_post_type && (span_is(s->retcode, "1403") || span_is(s->retcode, "1401"));
}

/* A response that belongs to no call: the peer's complaint about a request (echo null), or one that
 * came too late. */
static void take_stray(struct ob_link *l, const struct ob_sight *s)
{
  struct ob_service *service = l->options.service;
  if (s->echo_is_string && s->echo.len == ECHO_LEN && span_starts(s->echo, SPAN("rg"))) {
    ob_service_log(service, OB_LOG_DEBUG, "%s: a response came too late and is dropped",
                   l->options.name);
    prove(l);
  } else {
    ob_service_log(service, OB_LOG_WARN, "%s: a response without a call of ours, retcode %.*s",
                   l->options.name, s->retcode.len < 12 ? (int)s->retcode.len : 12,
                   s->retcode.ptr ? s->retcode.ptr : "");
    prove(l);
  }
}

static void take_sound(struct ob_link *l, const struct ob_sight *s, struct span text)
{
  size_t slot = s->echo_is_string ? echo_slot(l, s->echo) : SIZE_MAX;
  if (!l->proven && is_refusal(s)) {
    l->unwanted = true;
    l->carrier->end(l->wire, "the peer refuses the access_token");
  } else if (slot != SIZE_MAX) {
    take_response(l, s, slot, text);
  } else if (s->has_post_type || !(s->has_status || s->retcode.len)) {
    take_event(l, s, text);
  } else {
    take_stray(l, s);
  }
}

void ob_link_take(struct ob_link *l, struct span text)
{
  if (l->closed || !l->wire) return;
  struct ob_sight s;
  struct schema_error error = { .code = SCHEMA_OK };
  if (!ob_sight_read(text, &l->arena, &s, &error)) {
    if (l->faults++ < FAULTS_LOGGED)
      ob_service_log(l->options.service, OB_LOG_WARN,
                     "%s: a frame of %zu bytes is skipped: no JSON object (%s at byte %zu)",
                     l->options.name, text.len,
                     schema_code_text(error.code ? error.code : SCHEMA_ETYPE), error.at);
  } else {
    take_sound(l, &s, text);
  }
  if (l->arena.used > ARENA_KEEP)
    arena_done(&l->arena);
  else
    arena_reset(&l->arena);
}

/* ---- who is there ---- */

/* Whether a question of ours came to an end that says something of the peer. */
static bool is_probed(const struct ob_link *l, const struct ob_answer *answer)
{
  if (answer->kind == OB_ANSWER_TIMEOUT && l->options.patient && !l->proven) return false;
  return !l->closed && answer->kind != OB_ANSWER_CLOSED && answer->kind != OB_ANSWER_NOT_WRITTEN;
}

/* data of the answer, in an arena that is the caller's to end; NULL: none. */
static const struct schema_node *probe_data(const struct ob_answer *answer, struct arena *arena)
{
  struct schema_node *tree = NULL;
  arena_init(arena, PROBE_ARENA);
  if (answer->kind == OB_ANSWER_RESPONSE)
    schema_tree_read(answer->json, SCHEMA_DEPTH_EVENT, arena, &tree, NULL);
  return schema_tree_get(tree, "data");
}

static void probed_version(void *ctx, const struct ob_answer *answer)
{
  struct ob_link *l = ctx;
  struct arena arena;
  if (!is_probed(l, answer)) return;
  const struct schema_node *data = probe_data(answer, &arena);
  struct span app = schema_tree_string(schema_tree_get(data, "app_name"));
  struct span version = schema_tree_id(schema_tree_get(data, "app_version"));
  if (app.len) {
    snprintf(l->version, sizeof l->version, "%.*s%s%.*s", (int)(app.len < 48 ? app.len : 48),
             app.ptr, version.len ? " " : "", (int)(version.len < 40 ? version.len : 40),
             version.ptr ? version.ptr : "");
    for (char *c = l->version; *c; c++)
      if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7F) *c = '?';
    l->profile = ob_profile_detect(app);
  }
  arena_done(&arena);
  l->version_known = true;
  look_ready(l);
}

static void probed_login(void *ctx, const struct ob_answer *answer)
{
  struct ob_link *l = ctx;
  struct arena arena;
  if (!is_probed(l, answer)) return;
  set_self_id(l, schema_tree_id(schema_tree_get(probe_data(answer, &arena), "user_id")));
  arena_done(&arena);
  l->login_known = true;
  look_ready(l);
}

static void probe(struct ob_link *l)
{
  unsigned ms = l->options.probe_ms;
  if (!l->version_known)
    ob_link_call(l, SPAN("get_version_info"), SPAN("{}"), ms, probed_version, l);
  if (!l->login_known) ob_link_call(l, SPAN("get_login_info"), SPAN("{}"), ms, probed_login, l);
}

static void on_probe(struct ob_timer *t)
{
  struct ob_link *l = link_of(t, offsetof(struct ob_link, probes));
  if (l->version_known && l->login_known) return;
  probe(l);
  if (!l->closed) ob_timer_set(l->options.service, &l->probes, l->options.probe_ms, on_probe);
}

/* ---- life ---- */

struct ob_link *ob_link_new(const struct ob_link_options *options)
{
  struct ob_link *l = calloc(1, sizeof *l);
  if (!l) return NULL;
  l->options = *options;
  arena_init(&l->arena, ARENA_MAX);
  return l;
}

void ob_link_up(struct ob_link *l, const struct ob_carrier *carrier, void *wire,
                struct span self_id)
{
  if (l->closed) return;
  l->carrier = carrier;
  l->wire = wire;
  l->version_known = l->login_known = l->proven = l->unwanted = l->paused = false;
  l->pinged_ms = 0;
  l->profile = NULL;
  l->self_id[0] = l->version[0] = 0;
  if (l->options.self_id)
    snprintf(l->self_id, sizeof l->self_id, "%u", (unsigned)l->options.self_id);
  set_self_id(l, self_id);
  l->heartbeat_ms = l->faults = 0;
  l->heard_ms = ob_now_ms();
  arm_watch(l, 0);
  l->waited = false;
  if (carrier->ping)
    ob_timer_set(l->options.service, &l->taking, STUCK_PROBES * l->options.probe_ms, on_taking);
  tell(l, OB_LINK_OPEN, "connected");
  if (l->options.profile && l->options.self_id) { /* all that is needed is known */
    l->version_known = l->login_known = true;
    return;
  }
  probe(l);
  if (l->options.patient && !l->closed)
    ob_timer_set(l->options.service, &l->probes, l->options.probe_ms, on_probe);
}

/* Forgets the connection; what was queued on it will never be written. */
static void detach(struct ob_link *l)
{
  if (!l->wire) return;
  uint64_t handed = l->carrier->handed(l->wire);
  l->wire = NULL;
  ob_timer_clear(l->options.service, &l->watch);
  ob_timer_clear(l->options.service, &l->probes);
  ob_timer_clear(l->options.service, &l->taking);
  ob_timer_clear(l->options.service, &l->calls_timer);
  end_all_calls(l, handed);
}

void ob_link_down(struct ob_link *l, enum ob_link_state state, const char *why)
{
  if (l->closed) return;
  if (l->wire) {
    l->state = state; /* calls that end now find it so */
    l->why[0] = 0;
  }
  detach(l);
  tell(l, state, why);
}

void ob_link_close(struct ob_link *l)
{
  if (l->closed) return;
  l->closed = true;
  l->state = OB_LINK_DOWN;
  detach(l);
}

void ob_link_free(struct ob_link *l)
{
  if (!l) return;
  arena_done(&l->arena);
  free(l->slots);
  free(l);
}
