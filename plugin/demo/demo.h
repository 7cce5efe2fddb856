/* demo: what `replygate run` without a configuration is made of, built into the program. */
#ifndef PLUGIN_DEMO_DEMO_H
#define PLUGIN_DEMO_DEMO_H

#include "schema/bytes.h"

extern const struct span rg_demo_config; /* sandbox.yaml; its ${…} are set by the command */
extern const struct span rg_demo_script; /* script.jsonl */

#endif
