/* mediaref: a media reference (url, path, base64, file) becomes the one `file` value that OneBot
 * implementations read. Nothing is opened, asked or resolved here. */
#ifndef ONEBOT_MEDIAREF_H
#define ONEBOT_MEDIAREF_H

#include "onebot/profile.h"

/* The value is prefix and value, one behind the other. */
struct ob_mediaref {
  struct span prefix, value;
  bool safe; /* needs no escape in JSON: long base64 is not looked at twice */
};

/* A canonical reference (vectors/README.md "Media reference"). False: it cannot go, or memory ran
 * out. *ret lives in arena and in value. */
bool ob_mediaref_read(const struct ob_profile *profile, enum schema_media_kind kind,
                      struct span value, bool video, struct arena *arena, struct ob_mediaref *ret);
/* The kind that a value of the wire has: what a framework writes into `file` or `url`. *retvalue
 * is the value for ob_mediaref_read. */
enum schema_media_kind ob_mediaref_kind(struct span wire, struct span *retvalue);
/* Whether what goes over the wire is exactly given. */
bool ob_mediaref_is(const struct ob_mediaref *ref, struct span given);
/* Appends it as a JSON string. */
void ob_mediaref_print(const struct ob_mediaref *ref, struct buf *out);

/* The plain host path of a path reference; empty where ob_mediaref_read would refuse it or it is
 * no UTF-8. */
struct span ob_mediaref_path(struct span value, struct arena *arena);
/* The name that a file gets: the last part of its address or path; empty: none. */
struct span ob_mediaref_name(enum schema_media_kind kind, struct span value, struct arena *arena);
/* Whether text can be the name of a file: not empty, UTF-8, no / or \ and no control character. */
bool ob_mediaref_is_name(struct span name);

/* Before a plan: a relative path is meant within the first root, ~/ within home, which must be a
 * root itself or lie in one. Empty: refused. Absolute paths and file:// come back as they are. */
struct span ob_mediaref_resolve(struct span value, const struct span *roots, size_t root_count,
                                struct span home, struct arena *arena);

/* Whether a part of the path is "..". */
bool ob_mediaref_climbs(struct span path);
/* Whether a value of the wire is an absolute path of a Windows host, without "..". A model cannot
 * write such a one; a framework can, and the implementations that read bare paths take it. */
bool ob_mediaref_is_drive(struct span wire);

/* Whether url is an http(s) address with a host. */
bool ob_url_is_web(struct span url);

#endif
