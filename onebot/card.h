/* card: share and music. ONE table of platforms with their app ids, packages, signs and tags. */
#ifndef ONEBOT_CARD_H
#define ONEBOT_CARD_H

#include "schema/bytes.h"

enum ob_platform { OB_QQ, OB_NETEASE, OB_KUGOU, OB_KUWO, OB_MIGU, OB_PLATFORM_COUNT };
enum ob_card { OB_CARD_AUTO, OB_CARD_MUSIC, OB_CARD_ARK, OB_CARD_TEXT };

struct ob_app {
  const char *name;  /* in the configuration and in a share: "netease" */
  const char *music; /* OneBot music type: "163" */
  uint32_t appid;
  const char *package, *sign, *tag, *icon; /* icon may be NULL */
};

extern const struct ob_app ob_apps[OB_PLATFORM_COUNT];
/* By name or alias (163, cloudmusic, ncm, tencent, qqmusic), any ASCII case, spaces around cut;
 * OB_PLATFORM_COUNT: unknown. */
enum ob_platform ob_platform_find(struct span name);

#endif
