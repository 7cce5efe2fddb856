/* media_ref: what can be told of a media reference before its bytes are looked at: whether an
 * address, a path or base64 text is one that may be used at all. No thread, no network. */
#ifndef PLUGIN_MEDIA_MEDIA_REF_H
#define PLUGIN_MEDIA_MEDIA_REF_H

#include "plugin/config/config.h"

/* What of an http(s) address can be told without asking anyone. NULL, or the reason: "scheme",
 * "host". directive: https only, whatever the settings say. */
const char *rg_media_url_fault(const struct rg_group *settings, bool directive, struct span url);

/* The absolute path of a reference: file:// is decoded, relative ones start at the first root, ~/
 * needs home to be a root, and the result lies inside a root by its name. NULL, or the reason
 * "path". *ret is NUL-terminated and lives in arena. */
const char *rg_media_path_fault(const struct rg_list *roots, struct span home, struct span path,
                                struct arena *arena, struct span *ret);
/* Opens it for reading if, all links followed, it is a regular file inside a root; else -1. */
int rg_media_path_open(const struct rg_list *roots, const char *path);
/* The peer's name of a path of ours by the endpoint's path_map, or the path itself. */
struct span rg_media_path_map(const struct rg_list *map, struct span path, struct arena *arena);
/* This process's home folder, or empty. */
struct span rg_media_home(void);

/* Decoded size of standard base64 (white space, a base64:// or data: head are taken off) and its
 * first bytes, at most cap, in head. False: it is none. */
bool rg_media_base64(struct span text, char *head, size_t cap, size_t *head_len, size_t *size);
/* Bytes as standard base64 with padding; ptr NULL where memory ran out. */
struct span rg_media_base64_print(struct span bytes, struct arena *arena);

#endif
