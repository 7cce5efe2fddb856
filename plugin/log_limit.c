/* log_limit: see log_limit.h. */
#include "plugin/log_limit.h"

#include <inttypes.h>
#include <stdio.h>

/* FNV-1a over what is no digit. */
static uint64_t shape_of(struct span line)
{
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < line.len; i++) {
    if (line.ptr[i] >= '0' && line.ptr[i] <= '9') continue;
    hash = (hash ^ (unsigned char)line.ptr[i]) * 0x100000001b3u;
  }
  return hash;
}

static bool is_over(const struct rg_log_kind *k, uint64_t now_ms)
{
  return now_ms - k->begun_ms >= RG_LOG_WINDOW_MS;
}

/* The kind of that key, or an unused one, or the one that is missed least: the oldest of those of which
 * nothing was left out, else the oldest. */
static struct rg_log_kind *find(struct rg_log_kind *kinds, size_t count, uint64_t key,
                                uint64_t now_ms)
{
  struct rg_log_kind *oldest = &kinds[0];
  for (size_t i = 0; i < count; i++) {
    struct rg_log_kind *k = &kinds[i];
    if (k->written > 0 && k->key == key) {
      if (is_over(k, now_ms) && k->left_out == 0) k->written = 0;
      if (k->written == 0) k->begun_ms = now_ms;
      return k;
    }
    bool lesser = (k->left_out > 0) != (oldest->left_out > 0) ? k->left_out == 0
                                                              : k->begun_ms < oldest->begun_ms;
    if (k->written == 0 ? oldest->written > 0 : oldest->written > 0 && lesser) oldest = k;
  }
  *oldest = (struct rg_log_kind) { .key = key, .begun_ms = now_ms };
  return oldest;
}

static void leave_out(struct rg_log_limit *l, struct rg_log_kind *k, int32_t level,
                      struct span line)
{
  uint64_t due_ms = k->begun_ms + RG_LOG_WINDOW_MS;
  size_t len = line.len < RG_LOG_SAMPLE_MAX ? line.len : RG_LOG_SAMPLE_MAX;
  len = span_utf8_fault((struct span) { line.ptr, len });
  memcpy(k->last, line.ptr, len);
  k->last[len] = '\0';
  k->level = level;
  k->left_out++;
  if (l->due_ms == 0 || due_ms < l->due_ms) l->due_ms = due_ms;
}

bool rg_log_limit_take(struct rg_log_limit *l, const void *source, int32_t level, struct span line,
                       uint64_t now_ms)
{
  struct rg_log_kind *from = find(l->sources, RG_LOG_SOURCES, (uint64_t)(uintptr_t)source, now_ms);
  if (from->written >= RG_LOG_SOURCE_MAX) { /* first: what is not looked at makes no kinds */
    leave_out(l, from, level, line);
    return false;
  }
  struct rg_log_kind *shape = find(l->shapes, RG_LOG_SHAPES, shape_of(line), now_ms);
  if (shape->written >= RG_LOG_SHAPE_MAX) {
    leave_out(l, shape, level, line);
    return false;
  }
  from->written++;
  shape->written++;
  return true;
}

bool rg_log_limit_summary(struct rg_log_limit *l, bool all, uint64_t now_ms, int32_t *retlevel,
                          char *out, size_t cap)
{
  struct rg_log_kind *found = NULL;
  if (l->due_ms == 0 || (!all && now_ms < l->due_ms)) return false;
  l->due_ms = 0;
  for (size_t i = 0; i < RG_LOG_SHAPES + RG_LOG_SOURCES; i++) {
    struct rg_log_kind *k = i < RG_LOG_SHAPES ? &l->shapes[i] : &l->sources[i - RG_LOG_SHAPES];
    if (k->left_out == 0) continue;
    uint64_t due_ms = k->begun_ms + RG_LOG_WINDOW_MS;
    bool take = !found && (all || is_over(k, now_ms));
    if (take) found = k;
    if (!take && (l->due_ms == 0 || due_ms < l->due_ms)) l->due_ms = due_ms;
  }
  if (!found) return false;
  uint64_t minutes = (now_ms - found->begun_ms + 59999) / 60000;
  snprintf(out, cap, "%s (the last of %" PRIu32 " more like it in %" PRIu64 " min)", found->last,
           found->left_out, minutes > 0 ? minutes : 1);
  *retlevel = found->level;
  *found = (struct rg_log_kind) { .written = 0 };
  return true;
}
