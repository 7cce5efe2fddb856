/* front: see front.h. */
#include "plugin/relay/front.h"

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

void rg_front_pause(struct rg_front *f, bool pause)
{
  if (f->paused == pause || !f->up) return;
  f->paused = pause;
  if (f->peer) ob_peer_pause(f->peer, pause);
  if (f->dial) ob_dial_pause(f->dial, pause);
}
