/* profile: what each OneBot 11 implementation really does, as ONE table; detection and overrides.
 * The planner, the offer, the outcome reader and the documentation read it. */
#ifndef ONEBOT_PROFILE_H
#define ONEBOT_PROFILE_H

#include "schema/error.h"
#include "schema/offer.h"

enum ob_profile_id {
  OB_NAPCAT,
  OB_LLBOT,
  OB_LAGRANGE,
  OB_GOCQ,
  OB_ONEBOTS,
  OB_SPEC,
  OB_PROFILE_COUNT
};

enum ob_reaction_action { OB_REACT_NONE, OB_REACT_EMOJI_LIKE, OB_REACT_GROUP_REACTION };
enum ob_music_form { OB_MUSIC_NONE, OB_MUSIC_PLATFORM, OB_MUSIC_CUSTOM, OB_MUSIC_GOCQ };
enum ob_file_form { OB_FILE_NONE, OB_FILE_SEGMENT, OB_FILE_UPLOAD };

/* One row. Add a member for each further fact; no fact of an implementation lives elsewhere. */
struct ob_profile {
  enum ob_profile_id id;
  const char *name;     /* as in the configuration: "napcat" */
  const char *app_name; /* prefix of get_version_info's app_name, any case; NULL: never detected */
  enum ob_reaction_action reaction;
  enum ob_music_form music;
  bool music_needs_image;
  bool share_segment; /* a native share{url,title,…} is shown */
  bool share_swaps;   /* content and image arrive swapped: send neither */
  enum ob_file_form file;
  bool dice;           /* dice and rps are shown */
  bool mention_person; /* false: event ids are aliases that are not translated back */
  bool opaque_media;   /* media kind file is understood */
  bool base64_video;
  bool id_uint32; /* group and user ids beyond 32 bits are refused */
  bool message_id_int32;
  size_t frame_max; /* bytes of one frame that the peer accepts; 0: unknown */
};

extern const struct ob_profile ob_profiles[OB_PROFILE_COUNT];

/* By configuration name ("go-cqhttp"), NULL if there is none. */
const struct ob_profile *ob_profile_find(struct span name);
/* By get_version_info's app_name: prefix, any case; the spec profile for any other. */
const struct ob_profile *ob_profile_detect(struct span app_name);

#endif
