/* upload: see upload.h. One piece is under way at a time, so that a slow peer is not flooded. */
#include "plugin/media/upload.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "plugin/media/media_ref.h"
#include "schema/print.h"

enum {
  PIECE = 512 * 1024,      /* base64 of a piece; a multiple of 4, far below every frame limit */
  PIECE_MS = 60 * 1000,    /* for the answer to one */
  KEPT_MS = 5 * 60 * 1000, /* how long the peer keeps the file: the send follows at once */
  ANSWER_MAX = 64 * 1024,
};

struct upload {
  struct rg_account *account;
  struct span base64;
  size_t at, size; /* base64 that was handed over; bytes in all */
  unsigned index, count;
  char id[33], sha256[65];
  void (*done)(void *ctx, struct span path);
  void *ctx;
};

static void send_piece(struct upload *u);

static void end(struct upload *u, struct span path)
{
  u->done(u->ctx, path);
  free(u);
}

static void write_hex(const unsigned char *bytes, size_t n, char *out)
{
  for (size_t i = 0; i < n; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* The digest of all bytes, decoded piece by piece; the stream is named by it. */
static bool digest(struct upload *u)
{
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned len = 0;
  char *bytes = malloc(PIECE);
  EVP_MD_CTX *md = EVP_MD_CTX_new();
  bool fine = bytes && md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1;
  for (size_t at = 0; fine && at < u->base64.len; at += PIECE) {
    size_t left = u->base64.len - at, n = 0, size = 0;
    struct span piece = { u->base64.ptr + at, left < PIECE ? left : PIECE };
    fine = rg_media_base64(piece, bytes, PIECE, &n, &size) && EVP_DigestUpdate(md, bytes, n) == 1;
    u->size += n;
  }
  fine = fine && EVP_DigestFinal_ex(md, sum, &len) == 1;
  if (fine) {
    write_hex(sum, 32, u->sha256);
    write_hex(sum, 16, u->id);
  }
  EVP_MD_CTX_free(md);
  free(bytes);
  return fine;
}

/* Calls the action with what says that the stream is whole, or with its next piece. */
static void call(struct upload *u, bool complete,
                 void (*answered)(void *ctx, const struct ob_answer *answer))
{
  struct buf params;
  struct schema_writer w = { .out = &params };
  buf_init(&params, PIECE + 1024);
  schema_write_object(&w);
  schema_write_pair(&w, "stream_id", span_of(u->id));
  if (complete) {
    schema_write_key(&w, SPAN("is_complete"));
    schema_write_bool(&w, true);
  } else {
    size_t left = u->base64.len - u->at;
    struct span piece = { u->base64.ptr + u->at, left < PIECE ? left : PIECE };
    schema_write_pair(&w, "chunk_data", piece);
    schema_write_key(&w, SPAN("chunk_index"));
    schema_write_int(&w, u->index);
    schema_write_key(&w, SPAN("total_chunks"));
    schema_write_int(&w, u->count);
    schema_write_key(&w, SPAN("file_size"));
    schema_write_int(&w, (int64_t)u->size);
    schema_write_pair(&w, "expected_sha256", span_of(u->sha256));
    schema_write_pair(&w, "filename", span_of(u->id));
    schema_write_key(&w, SPAN("file_retention"));
    schema_write_int(&w, KEPT_MS);
  }
  schema_write_object_end(&w);
  rg_account_call(u->account, SPAN("upload_file_stream"), buf_span(&params), PIECE_MS, answered, u);
  buf_done(&params);
}

/* data of an answer that says "ok", or NULL; lives in arena. */
static const struct schema_node *data_of(const struct ob_answer *answer, struct arena *arena)
{
  struct schema_node *tree;
  if (answer->kind != OB_ANSWER_RESPONSE || answer->json.len > ANSWER_MAX) return NULL;
  if (schema_tree_read(answer->json, SCHEMA_DEPTH_EVENT, arena, &tree, NULL) != SCHEMA_OK)
    return NULL;
  if (!span_is(schema_tree_string(schema_tree_get(tree, "status")), "ok")) return NULL;
  return schema_tree_get(tree, "data");
}

static void completed(void *ctx, const struct ob_answer *answer)
{
  struct arena arena;
  arena_init(&arena, 8 * ANSWER_MAX);
  end(ctx, schema_tree_string(schema_tree_get(data_of(answer, &arena), "file_path")));
  arena_done(&arena);
}

static void piece_taken(void *ctx, const struct ob_answer *answer)
{
  struct upload *u = ctx;
  struct arena arena;
  arena_init(&arena, 8 * ANSWER_MAX);
  bool taken = data_of(answer, &arena) != NULL;
  arena_done(&arena);
  if (!taken) {
    end(u, (struct span) { 0 });
    return;
  }
  u->index++;
  u->at += PIECE;
  send_piece(u);
}

static void send_piece(struct upload *u)
{
  bool complete = u->at >= u->base64.len;
  call(u, complete, complete ? completed : piece_taken);
}

void rg_upload_start(struct rg_account *account, struct span base64,
                     void (*done)(void *ctx, struct span path), void *ctx)
{
  struct upload *u = calloc(1, sizeof *u);
  if (!u) {
    done(ctx, (struct span) { 0 });
    return;
  }
  u->account = account;
  u->base64 = base64;
  u->count = (unsigned)((base64.len + PIECE - 1) / PIECE);
  u->done = done;
  u->ctx = ctx;
  if (base64.len == 0 || !digest(u))
    end(u, (struct span) { 0 });
  else
    send_piece(u);
}
