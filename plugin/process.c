/* process: see process.h. */
#include "plugin/process.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <libwebsockets.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/auxv.h>

static pthread_mutex_t context_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t emitter_once = PTHREAD_ONCE_INIT;
static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static bool curl_ready;

/* Where the lines of the calling thread go. */
static _Thread_local struct {
  void (*line)(void *ctx, enum ob_log_level level, const char *text);
  void *ctx;
} sink;

static void context_lock(void)
{
  pthread_mutex_lock(&context_mu);
}

static void context_unlock(void)
{
  pthread_mutex_unlock(&context_mu);
}

static void emit(int level, const char *text)
{
  if (!sink.line) return;
  enum ob_log_level ours = level == LLL_ERR    ? OB_LOG_ERROR
                           : level == LLL_WARN ? OB_LOG_WARN
                                               : OB_LOG_DEBUG;
  sink.line(sink.ctx, ours, text);
}

static void emitter_set(void)
{
  lws_set_log_level(LLL_ERR | LLL_WARN, emit);
}

static void sink_set(void (*line)(void *ctx, enum ob_log_level level, const char *text), void *ctx)
{
  pthread_once(&emitter_once, emitter_set);
  sink.line = line;
  sink.ctx = ctx;
}

const char *rg_process_tls_fault(void)
{
  Dl_info program, openssl;
  /* the program's own headers are an address inside it */
  if (!dladdr((const void *)getauxval(AT_PHDR), &program) ||
      !dladdr((const void *)(uintptr_t)EVP_sha256, &openssl) ||
      program.dli_fbase != openssl.dli_fbase)
    return NULL;
  return "this program brings an OpenSSL of its own, which would get mixed with the system's; load "
         "replygate.so with RTLD_NOW | RTLD_DEEPBIND, as hosts/node/index.js does";
}

const struct ob_process rg_process = {
  .lock = context_lock,
  .unlock = context_unlock,
  .sink = sink_set,
  .tls_fault = rg_process_tls_fault,
};

static void curl_begin(void)
{
  curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

bool rg_process_curl(void)
{
  if (rg_process_tls_fault()) return false;
  pthread_once(&curl_once, curl_begin);
  return curl_ready;
}
