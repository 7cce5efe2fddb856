/* config_address: the forms of addresses, stores and paths that a configuration may hold. */
#ifndef PLUGIN_CONFIG_CONFIG_ADDRESS_H
#define PLUGIN_CONFIG_CONFIG_ADDRESS_H

#include "schema/bytes.h"

/* libwebsockets 4.1.6 cuts longer ones without a word and sends a broken request. */
enum { RG_HOST_MAX = 120, RG_URL_PATH_MAX = 2000 };

/* ws:// or wss:// with a host, perhaps a port and a path; no user, no fragment, no space. */
bool rg_address_is_ws(struct span text);

/* A numeric IPv4 address, [IPv6] or localhost, then :port, then a path where with_path, else
 * nothing. The parts are lent from text; *rethost is without brackets. */
bool rg_address_listen(struct span text, bool with_path, struct span *rethost, uint16_t *retport,
                       struct span *retpath);
/* Whether an address of rg_address_listen is reached from this machine only. */
bool rg_address_is_loopback(struct span host);
/* Whether it stands for all addresses of the machine. */
bool rg_address_is_any(struct span host);

/* A host name or numeric address as media may come from: no scheme, port or path. */
bool rg_address_is_host(struct span text);

/* sqlite:FILE, or what rg_address_redis reads. */
bool rg_address_is_store(struct span text);

/* redis://[[user]:password@]host[:port][/number]. The parts are lent from the text; user and password
 * still have their %XX, the host is without brackets. */
struct rg_redis_address {
  struct span user, password, host;
  uint16_t port;
  unsigned database;
};
bool rg_address_redis(struct span text, struct rg_redis_address *ret);
/* Writes part, which that function gave, to out (part.len bytes) without %XX and returns how long. */
size_t rg_address_decode(struct span part, char *out);

/* An address without what may be secret: nothing behind ? or before @. Lives in arena. */
struct span rg_address_shown(struct span text, struct arena *arena);

/* path, made absolute by folder where it is relative, without "." and ".." parts and without a
 * slash at its end. With an empty folder a relative path stays so, ".." included. Lives in arena. */
struct span rg_path_join(struct span folder, struct span path, struct arena *arena);

#endif
