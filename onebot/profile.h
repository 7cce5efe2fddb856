/* profile: what each OneBot 11 implementation really does, as ONE table; detection and overrides.
 * The planner, the offer, the judge of actions, the outcome reader and the documentation read it.
 * The facts are those of spec/onebot.md; a wrong one is corrected here. */
#ifndef ONEBOT_PROFILE_H
#define ONEBOT_PROFILE_H

#include "onebot/native.h"
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
/* platform: `type` may be a platform; custom: only `custom`; gocq: custom with subtype and voice */
enum ob_music_form { OB_MUSIC_NONE, OB_MUSIC_PLATFORM, OB_MUSIC_CUSTOM, OB_MUSIC_GOCQ };
enum ob_file_form { OB_FILE_NONE, OB_FILE_SEGMENT, OB_FILE_UPLOAD };
/* what a music card by address must have to be shown; bits */
enum ob_music_need { OB_NEEDS_TITLE = 1, OB_NEEDS_AUDIO = 2, OB_NEEDS_IMAGE = 4 };

/* One row. Add a member for each further fact; no fact of an implementation lives elsewhere, but
 * for the words of its refusals (outcome.c). */
struct ob_profile {
  enum ob_profile_id id;
  const char *name;     /* as in the configuration: "napcat" */
  const char *app_name; /* prefix of get_version_info's app_name, any case; NULL: never detected */
  uint32_t shows;       /* bit 1u << enum ob_native: segments it shows */
  uint32_t conditional; /* of these, the ones that are shown under a condition (note) */
  const char *note;     /* the conditions, for the documentation */
  enum ob_reaction_action reaction;
  bool reaction_result; /* a reaction needs data.result 0 as well: status is always ok */
  enum ob_music_form music;
  uint32_t music_needs; /* bits of enum ob_music_need */
  uint32_t music_ids;   /* bit 1u << enum ob_platform: found by `id`; OB_MUSIC_XM for xm */
  bool share_swaps;     /* content and image of a share arrive swapped: send neither */
  enum ob_file_form file;
  bool mention_person; /* false: event ids are aliases that are not translated back */
  bool opaque_media;   /* media kind file is understood */
  bool base64_video;
  bool id_uint32; /* group and user ids beyond 32 bits are refused */
  bool message_id_int32;
  bool message_id_any;       /* a reply id need not be a decimal integer */
  bool reply_seq;            /* a reply may name its message by `seq` */
  bool forward;              /* has send_group_forward_msg and send_private_forward_msg */
  bool forward_only_uploads; /* its send_forward_msg sends nothing, the answer is a resid */
  bool node_message;         /* takes a message that is all nodes */
  bool node_needs_user;      /* a node without a decimal user fails */
  bool group_history;        /* get_group_msg_history gives the last messages of a group */
  bool friend_history;       /* get_friend_msg_history those of a private chat */
  bool uploads;              /* has upload_file_stream: bytes become a path of its own */
  size_t frame_max;          /* bytes of one frame that the peer accepts; 0: unknown */
};

enum { OB_MUSIC_XM = 1 << 16 };

extern const struct ob_profile ob_profiles[OB_PROFILE_COUNT];

/* By configuration name ("go-cqhttp"), NULL if there is none. */
const struct ob_profile *ob_profile_find(struct span name);
/* By get_version_info's app_name: prefix, any case; the spec profile for any other. */
const struct ob_profile *ob_profile_detect(struct span app_name);

static inline bool ob_profile_shows(const struct ob_profile *p, enum ob_native type)
{
  return type < OB_NATIVE_COUNT && (p->shows >> type & 1u);
}
/* Whether id can be meant as a message to react or reply to: not empty, not 0, of its form. */
bool ob_profile_has_message(const struct ob_profile *p, struct span message_id);
/* Whether id is a group or user that can be a target. */
bool ob_profile_has_target(const struct ob_profile *p, struct span id);

/* A single fact that an operator may correct (`profile_override`): a name, what it may be. */
struct ob_fact {
  const char *name;
  const char *values; /* "no, platform, custom or gocq": what is allowed, in words */
  const char *help;
};

/* Ends with a row whose name is NULL. */
extern const struct ob_fact ob_facts[];

/* Sets one fact of *p, a copy of a row. Words are those of the table, true and false are yes and
 * no. An unknown name or value is SCHEMA_ECONFIG with what is allowed in reterr->what, and changes
 * nothing. */
enum schema_code ob_profile_override(struct ob_profile *p, struct span name, struct span value,
                                     struct schema_error *reterr);

#endif
