/* plugin: the entry of replygate.so. */
#include "plugin/gate.h"

static const struct rg_api api = {
  .size = sizeof api,
  .abi = RG_ABI,
  .version = RG_VERSION,
  .open = rg_gate_open,
  .submit = rg_gate_submit,
  .cancel = rg_gate_cancel,
  .outbound = rg_gate_outbound,
  .inbound = rg_gate_inbound,
  .response = rg_gate_response,
  .completed = rg_gate_completed,
  .contract = rg_gate_contract,
  .check = rg_gate_check,
  .reload = rg_gate_reload,
  .stats = rg_gate_stats,
  .release = rg_gate_release,
  .close = rg_gate_close,
};

const struct rg_api *rg_plugin(uint32_t host_abi)
{
  return host_abi == RG_ABI ? &api : NULL;
}
