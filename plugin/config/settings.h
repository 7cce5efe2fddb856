/* settings: what holds for one group now: the configuration's settings of the group and, on top,
 * what was set in the chat. Overrides are kept in the store and in memory; a message costs one hash
 * lookup, whatever the number of groups. */
#ifndef PLUGIN_CONFIG_SETTINGS_H
#define PLUGIN_CONFIG_SETTINGS_H

#include "plugin/config/config_value.h"
#include "plugin/store/store.h"

struct rg_settings;
struct rg_overlay;

/* What holds for a group, as long as it is kept: a later change makes a new one. */
struct rg_view {
  const struct rg_group *group;
  const struct rg_endpoint *endpoint; /* NULL: not in the configuration */
  struct rg_config *config;           /* a reference */
  struct rg_overlay *overlay;         /* a reference; NULL: nothing was set in the chat */
  uint64_t group_id;                  /* 0: a private chat */
};

/* Tells of an override that does not fit any more (a key that is gone, a value out of range): it is
 * kept in the store and has no effect. line is for the log. */
typedef void rg_settings_note_fn(void *ctx, struct span line);

/* config: a reference is taken. store is lent and may be NULL: then overrides last as long as the
 * process. NULL: no memory. */
struct rg_settings *rg_settings_new(struct rg_config *config, struct rg_store *store,
                                    rg_settings_note_fn *note, void *ctx);
/* Views may outlive it. NULL allowed. */
void rg_settings_free(struct rg_settings *s);

/* Reads the overrides of the store again, in place of those in memory. False and why: they cannot be
 * read, and those in memory stay. Any thread, as all that follows. */
bool rg_settings_load(struct rg_settings *s, char *why, size_t cap);
/* Takes another configuration (a reference) and perhaps another store into use at once; overrides
 * stay. */
void rg_settings_use(struct rg_settings *s, struct rg_config *config, struct rg_store *store);

/* Fills *ret, which rg_view_done gives back. endpoint: its name; empty: the only one, here and in
 * all that follows. False: no memory, and *ret then shows the configuration without overrides. */
bool rg_settings_view(struct rg_settings *s, struct span endpoint, uint64_t group_id,
                      struct rg_view *ret);
void rg_view_done(struct rg_view *v);
/* A second holder of the same. */
struct rg_view rg_view_keep(const struct rg_view *v);
/* Where the value of a key of RG_SCOPE_GROUP comes from. */
enum rg_origin rg_view_origin(const struct rg_view *v, const struct rg_key *key);

enum rg_change_result {
  RG_CHANGED,
  RG_CHANGED_UNSAVED, /* holds until the process ends; why says why it was not kept */
  RG_NOT_CHANGED,     /* refused; why says what is wrong */
};

struct rg_change {
  struct span old, now; /* as one writes it in the file */
  struct span why;
};

/* Sets key of a group to value, which is checked here too. language is that of why; author the
 * account who asks. *ret lives in arena. */
enum rg_change_result rg_settings_set(struct rg_settings *s, struct span endpoint,
                                      uint64_t group_id, const struct rg_key *key,
                                      const struct rg_yaml *value, struct span author,
                                      enum schema_language language, struct arena *arena,
                                      struct rg_change *ret);
/* Gives keys back to the configuration: one, a section with all its keys, or all (NULL). *retcount
 * is the number of overrides that are gone. */
enum rg_change_result rg_settings_reset(struct rg_settings *s, struct span endpoint,
                                        uint64_t group_id, const struct rg_key *key,
                                        size_t *retcount, struct arena *arena,
                                        struct rg_change *ret);

/* The numbers of the groups of an endpoint that the file names or that have overrides, ascending,
 * in arena. */
struct rg_ids rg_settings_groups(struct rg_settings *s, struct span endpoint, struct arena *arena);

#endif
