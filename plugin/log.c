/* log: see log.h. */
#include "plugin/log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "onebot/service.h"

enum { LINE_MAX_BYTES = 1000 }; /* a longer line helps no one and fills disks */

static const char *const levels[] = {
  [RG_LOG_ERROR] = "error",
  [RG_LOG_WARN] = "warn",
  [RG_LOG_INFO] = "info",
  [RG_LOG_DEBUG] = "debug",
};

bool rg_log_init(struct rg_log *log, const struct rg_host *host)
{
  *log = (struct rg_log) { .level = RG_LOG_INFO };
  if (RG_HAS(host, log)) {
    log->sink = host->log;
    log->ctx = host->ctx;
  }
  return pthread_mutex_init(&log->mu, NULL) == 0;
}

static int32_t level_find(struct span name)
{
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    if (span_is(name, levels[i])) return (int32_t)i;
  }
  return RG_LOG_INFO;
}

bool rg_log_configure(struct rg_log *log, struct span level, struct span file)
{
  FILE *opened = NULL;
  if (file.len > 0) {
    char *path = strndup(file.ptr, file.len);
    opened = path ? fopen(path, "ae") : NULL;
    free(path);
    if (!opened) return false;
  }
  pthread_mutex_lock(&log->mu);
  FILE *old = log->file;
  log->level = level_find(level);
  log->file = opened;
  pthread_mutex_unlock(&log->mu);
  if (old) fclose(old);
  return true;
}

static void file_line(FILE *file, int32_t level, const char *line, size_t len)
{
  struct timespec now;
  struct tm parts;
  clock_gettime(CLOCK_REALTIME, &now);
  localtime_r(&now.tv_sec, &parts);
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S%z", &parts);
  fprintf(file, "%s %s %.*s\n", stamp, levels[level], (int)len, line);
  fflush(file);
}

/* A line on its way. source NULL: it is written in any case. */
static void put(struct rg_log *log, const void *source, int32_t level, const char *line, size_t len)
{
  struct span text = { line, len };
  pthread_mutex_lock(&log->mu);
  bool wanted = level <= log->level;
  if (wanted && source && level != RG_LOG_DEBUG) /* who asks for those wants them all */
    wanted = rg_log_limit_take(&log->limit, source, level, text, ob_now_ms());
  if (wanted && log->file) file_line(log->file, level, line, len);
  pthread_mutex_unlock(&log->mu);
  if (wanted && log->sink) log->sink(log->ctx, level, (struct rg_bytes) { line, len });
}

static void summaries(struct rg_log *log, bool all)
{
  char line[RG_LOG_SAMPLE_MAX + 64];
  int32_t level;
  for (;;) {
    pthread_mutex_lock(&log->mu);
    bool due = rg_log_limit_summary(&log->limit, all, ob_now_ms(), &level, line, sizeof line);
    pthread_mutex_unlock(&log->mu);
    if (!due) return;
    put(log, NULL, level, line, strlen(line));
  }
}

void rg_log_summaries(struct rg_log *log)
{
  summaries(log, false);
}

__attribute__((format(printf, 4, 0))) static void
line_write(struct rg_log *log, bool always, int32_t level, const char *format, va_list args)
{
  char line[LINE_MAX_BYTES + 1];
  int n = vsnprintf(line, sizeof line, format, args);
  if (n < 0) return;
  size_t len = (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
  len = span_utf8_fault((struct span) { line, len }); /* a cut may fall inside a character */
  for (size_t i = 0; i < len; i++) {
    if ((unsigned char)line[i] < ' ' || line[i] == 0x7F) line[i] = '?'; /* no forged second line */
  }
  summaries(log, false);
  put(log, always ? NULL : format, level, line, len);
}

void rg_log_line(struct rg_log *log, int32_t level, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  line_write(log, false, level, format, args);
  va_end(args);
}

void rg_log_always(struct rg_log *log, int32_t level, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  line_write(log, true, level, format, args);
  va_end(args);
}

void rg_log_done(struct rg_log *log)
{
  summaries(log, true);
  if (log->file) fclose(log->file);
  pthread_mutex_destroy(&log->mu);
}
