/* card: share and music. ONE table of platforms with their app ids, packages, signs and tags, and
 * what a share becomes for a profile: a music card, a link card, an ark or words. */
#ifndef ONEBOT_CARD_H
#define ONEBOT_CARD_H

#include "onebot/profile.h"
#include "schema/print.h"

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

/* What a share says. Empty spans: absent. */
struct ob_share {
  struct span url, title, description, image, audio;
  enum ob_platform platform; /* OB_PLATFORM_COUNT: none */
};

enum ob_card_form {
  OB_FORM_NOTICE, /* the address is none: nothing can be shown but a notice */
  OB_FORM_TEXT,
  OB_FORM_MUSIC,
  OB_FORM_SHARE,
  OB_FORM_ARK,
};

/* Images and audio that are no web address are absent, so is a platform that is unknown or not among
 * the bits of platforms. Without a title the description is it. */
struct ob_share ob_share_settle(struct ob_share share, uint32_t platforms);
/* From a canonical segment, settled. */
struct ob_share ob_share_read(const struct schema_segment *segment, uint32_t platforms);
enum ob_card_form ob_card_form(const struct ob_profile *profile, enum ob_card card,
                               const struct ob_share *share);
/* Writes the segment {"type","data"} of MUSIC, SHARE or ARK. */
void ob_card_write(enum ob_card_form form, const struct ob_profile *profile,
                   const struct ob_share *share, struct schema_writer *w);
/* The words of a share: "title – description\nurl". Empty where memory ran out. */
struct span ob_card_text(const struct ob_share *share, struct arena *arena);
/* The ark as JSON text (spec/onebot.md 3.1). */
void ob_card_ark(const struct ob_share *share, struct schema_writer *w);

#endif
