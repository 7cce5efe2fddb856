/* front: see front.h. */
#include "plugin/relay/front.h"

#include "plugin/relay/passage.h"

enum {
  HELD_MAX = 2 * OB_FRAME_MAX, /* one read ends a message of any size and brings 64 KiB more */
  LINK_LOW = 256 * 1024, /* unsent bytes towards the implementation with which reading goes on */
  PATIENCE = 5, /* a pause lasts for this part of the time in which an action is answered */
};

size_t rg_front_waiting(const struct rg_front *f)
{
  if (f->peer) return ob_peer_queued(f->peer);
  if (f->dial && f->up) return (size_t)(ob_dial_queued(f->dial) - ob_dial_handed(f->dial));
  return 0;
}

void rg_front_drop(struct rg_front *f, const char *why)
{
  if (f->dropped || !f->up) return;
  f->dropped = true;
  rg_log_line(&f->account->gate->log, RG_LOG_WARN, "framework %s: disconnected: %s", f->name, why);
  if (f->peer) ob_peer_drop(f->peer);
  if (f->dial) ob_dial_end(f->dial, why);
}

bool rg_front_send(struct rg_front *f, const struct span *parts, size_t count)
{
  size_t size = 0;
  if (!f->up || f->dropped) return false;
  for (size_t i = 0; i < count; i++) size += parts[i].len;
  bool sent =
      size + rg_front_waiting(f) <= RG_FRONT_QUEUE_MAX &&
      (f->peer ? ob_peer_send_parts(f->peer, parts, count) : ob_dial_send(f->dial, parts, count));
  if (!sent) rg_front_drop(f, "it takes nothing, too much waits for it");
  return sent;
}

bool rg_front_has_room(const struct rg_front *f)
{
  const struct ob_link *link = f->account->link;
  return f->call_count <= RG_FRONT_CALLS_MAX / 2 && (!link || ob_link_waiting(link) < LINK_LOW);
}

static void pause_socket(struct rg_front *f, bool pause)
{
  if (f->peer) ob_peer_pause(f->peer, pause);
  if (f->dial) ob_dial_pause(f->dial, pause);
}

static void read_on(struct rg_front *f);

static void patience_ends(struct ob_timer *t)
{
  struct rg_front *f = (struct rg_front *)(void *)((char *)t - offsetof(struct rg_front, patience));
  f->overdue = true;
  rg_log_line(&f->account->gate->log, RG_LOG_WARN,
              "framework %s: %zu of its actions wait for an answer, further ones are refused",
              f->name, f->call_count);
  read_on(f);
}

void rg_front_pause(struct rg_front *f)
{
  struct rg_gate *gate = f->account->gate;
  if (f->paused || f->overdue || !f->up) return;
  f->paused = true;
  pause_socket(f, true);
  ob_timer_set(gate->service, &f->patience, gate->timing.passage / PATIENCE, patience_ends);
}

/* Each frame behind its length. */
static void hold(struct rg_front *f, struct span frame)
{
  buf_add(&f->held, (struct span) { (const char *)&frame.len, sizeof frame.len });
  buf_add(&f->held, frame);
  if (f->held.failed) rg_front_drop(f, "out of memory");
}

void rg_front_take(struct rg_front *f, struct span frame)
{
  if (f->dropped) return;
  if (f->paused)
    hold(f, frame);
  else
    rg_passage_take(f, frame);
}

static void read_on(struct rg_front *f)
{
  if (!f->paused || !f->up) return;
  ob_timer_clear(f->account->gate->service, &f->patience);
  struct buf held = f->held;
  buf_init(&f->held, HELD_MAX);
  f->paused = false;
  for (size_t at = 0; at < held.len && !f->dropped;) {
    size_t len;
    memcpy(&len, held.ptr + at, sizeof len);
    rg_front_take(f, (struct span) { held.ptr + at + sizeof len, len });
    at += sizeof len + len;
  }
  buf_done(&held);
  if (!f->paused) pause_socket(f, false);
}

void rg_front_resume(struct rg_front *f)
{
  f->overdue = false;
  read_on(f);
}

void rg_front_forget(struct rg_front *f)
{
  ob_timer_clear(f->account->gate->service, &f->patience);
  f->overdue = false;
  buf_done(&f->held);
  buf_init(&f->held, HELD_MAX);
}
