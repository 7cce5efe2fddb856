/* handshake: see handshake.h. */
#include "onebot/handshake.h"

#include <fcntl.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* base64 of n bytes, of which its length is known. lws wants one byte more than the NUL needs. */
static bool encode(const unsigned char *bytes, int n, char *ret, int len)
{
  char room[OB_HANDSHAKE_ACCEPT + 2];
  if (lws_b64_encode_string((const char *)bytes, n, room, (int)sizeof room) != len) return false;
  memcpy(ret, room, (size_t)len + 1);
  return true;
}

bool ob_handshake_key(struct lws_context *lws, char retkey[OB_HANDSHAKE_KEY + 1])
{
  unsigned char random[16];
  return lws_get_random(lws, random, sizeof random) == sizeof random &&
         encode(random, sizeof random, retkey, OB_HANDSHAKE_KEY);
}

bool ob_handshake_accept(const char *key, char retaccept[OB_HANDSHAKE_ACCEPT + 1])
{
  static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char joined[OB_HANDSHAKE_KEY + sizeof guid - 1], hash[20];
  memcpy(joined, key, OB_HANDSHAKE_KEY);
  memcpy(joined + OB_HANDSHAKE_KEY, guid, sizeof guid - 1);
  lws_SHA1(joined, sizeof joined, hash);
  return encode(hash, sizeof hash, retaccept, OB_HANDSHAKE_ACCEPT);
}

/* ---- as a server ---- */

const char *ob_handshake_fault(struct lws *wsi, char retkey[OB_HANDSHAKE_KEY + 1])
{
  char version[8], connection[64];
  if (lws_hdr_copy(wsi, version, sizeof version, WSI_TOKEN_VERSION) <= 0 ||
      strcmp(version, "13") != 0)
    return "Sec-WebSocket-Version must be 13";
  if (lws_hdr_copy(wsi, connection, sizeof connection, WSI_TOKEN_CONNECTION) <= 0 ||
      !strcasestr(connection, "upgrade"))
    return "Connection must be Upgrade";
  if (lws_hdr_copy(wsi, retkey, OB_HANDSHAKE_KEY + 1, WSI_TOKEN_KEY) != OB_HANDSHAKE_KEY)
    return "Sec-WebSocket-Key must be 16 bytes in base64";
  if (lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL) > 0)
    return "no Sec-WebSocket-Protocol is spoken here; leave the header out";
  return NULL;
}

bool ob_handshake_answer(struct lws *wsi, const char *key)
{
  char accept[OB_HANDSHAKE_ACCEPT + 1], answer[256];
  if (!ob_handshake_accept(key, accept)) return false;
  int n = snprintf(answer, sizeof answer,
                   "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                   accept);
  return send((int)lws_get_socket_fd(wsi), answer, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n;
}

int ob_handshake_detach(struct lws *wsi)
{
  int theirs = (int)lws_get_socket_fd(wsi);
  int ours = fcntl(theirs, F_DUPFD_CLOEXEC, 0),
      other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (ours >= 0 && (other < 0 || dup3(other, theirs, O_CLOEXEC) < 0)) {
    close(ours);
    ours = -1;
  }
  if (other >= 0) close(other);
  return ours;
}
