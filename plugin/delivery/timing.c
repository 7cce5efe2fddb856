/* timing: see timing.h. */
#include "plugin/delivery/timing.h"

const struct rg_timing rg_timing = {
  .send = 20 * 1000,
  .reaction = 3 * 1000,
  .card_look = 3 * 1000,
  .correction = 30 * 1000,
  .history = 3 * 1000,
  .resolve = 6 * 1000,
  .echo = 2 * 1000,
  .retry = 1000,
  .muted = 10 * 60 * 1000,
  .risk = 5 * 60 * 1000,
  .removed = 60 * 60 * 1000,
  .probe = 30 * 1000,
  .down = 5 * 60 * 1000,
  .notify = 60 * 60 * 1000,
  .passage = 50 * 1000,
};
