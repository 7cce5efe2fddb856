/* upload: bytes to an endpoint on another host, in pieces, for `files: upload` (NapCat's
 * upload_file_stream, spec/onebot.md 2.4). The peer gives a path of its own for them. Service thread
 * only. */
#ifndef PLUGIN_MEDIA_UPLOAD_H
#define PLUGIN_MEDIA_UPLOAD_H

#include "plugin/endpoint.h"

/* Standard base64 with padding (lent until done) becomes a file at the peer. done runs exactly once,
 * maybe before this returns; path: the peer's, lent for the call, empty where it failed. */
void rg_upload_start(struct rg_account *account, struct span base64,
                     void (*done)(void *ctx, struct span path), void *ctx);

#endif
