/* peer: what is known of the other side of an endpoint, as a value that any thread may hold. */
#ifndef PLUGIN_PEER_H
#define PLUGIN_PEER_H

#include "onebot/profile.h"

enum { RG_ID_MAX = 24 }; /* a decimal int64 with sign has 20 */

struct rg_peer {
  struct ob_profile profile; /* with the operator's corrections; spec until it is known */
  bool known;
  bool cards_as_text; /* cards are accepted and not shown, or the operator says so */
  char self_id[RG_ID_MAX];
};

#endif
