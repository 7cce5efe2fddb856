/* handshake: see handshake.h. */
#include "onebot/handshake.h"

#include <libwebsockets.h>
#include <string.h>

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
