/* plugin: the entry of replygate.so. */
#include "plugin/replygate.h"

static const struct rg_api api = {
  .size = sizeof api,
  .abi = RG_ABI,
  .version = RG_VERSION,
};

const struct rg_api *rg_plugin(uint32_t host_abi)
{
  return host_abi == RG_ABI ? &api : NULL;
}
