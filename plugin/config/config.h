/* config: YAML -> an immutable snapshot. Driven by ONE table of keys (config.c), from which the
 * loader, config.example.yaml's comments, `replygate config`, show/set and the README's reference
 * are made. Strict: every fault of a file at once, as line and column. */
#ifndef PLUGIN_CONFIG_CONFIG_H
#define PLUGIN_CONFIG_CONFIG_H

#include <stdatomic.h>

#include "onebot/plan.h"
#include "plugin/config/schema_file.h"

struct rg_list { /* of strings */
  const struct span *items;
  size_t count;
};

struct rg_ids { /* account or group numbers */
  const uint64_t *items;
  size_t count;
};

enum rg_off_means { RG_OFF_PASS, RG_OFF_MUTE };
enum rg_mode { RG_MODE_ENFORCE, RG_MODE_OBSERVE };
enum rg_output { RG_OUTPUT_REPLY, RG_OUTPUT_TEXT, RG_OUTPUT_SCHEMA };
enum rg_quote { RG_QUOTE_NEVER, RG_QUOTE_FIRST, RG_QUOTE_ALL };
enum rg_answer_by { RG_ANSWER_ANYONE, RG_ANSWER_ASKED };
enum rg_long_text { RG_LONG_SPLIT, RG_LONG_FORWARD, RG_LONG_REFUSE };
enum rg_files { RG_FILES_BASE64, RG_FILES_SHARED, RG_FILES_UPLOAD };
enum rg_yes_no { RG_UNKNOWN, RG_YES, RG_NO };
enum rg_newer { RG_NEWER_CANCELS, RG_NEWER_WAITS };
enum rg_form { RG_FORM_AUTO, RG_FORM_NATIVE, RG_FORM_PROMPT };

/* What makes the agent answer a message of a group: bits of agent.triggers. */
enum rg_trigger {
  RG_TRIGGER_MENTION = 1,
  RG_TRIGGER_REPLY = 2,
  RG_TRIGGER_PREFIX = 4,
  RG_TRIGGER_KEYWORD = 8,
  RG_TRIGGER_CHANCE = 16,
};
/* Bits of agent.tools; RG_TOOL_HTTP: some of agent.http_tools. */
enum rg_agent_tool { RG_TOOL_FIND_MEMBER = 1, RG_TOOL_GET_MESSAGE = 2, RG_TOOL_HTTP = 4 };
enum {
  RG_TOOLS_MAX = 32,  /* HTTP tools of a group: each costs tokens at every question */
  RG_HEADERS_MAX = 8, /* of an HTTP tool */
};
enum rg_method { RG_METHOD_GET, RG_METHOD_POST };
enum rg_reach { RG_REACH_PUBLIC, RG_REACH_ANY };

/* The settings of one group (design 6 "groups"), complete: every value filled. */
struct rg_group {
  bool enabled;
  enum rg_off_means off_means;
  enum rg_mode mode;
  bool group_admins;
  enum rg_output output;
  struct rg_schema_file output_schema; /* for RG_OUTPUT_SCHEMA; its tree where files are read */
  bool unwrap;
  uint32_t segments; /* bit 1u << enum schema_type */
  bool reactions;
  bool reactions_handy; /* `true`: the handy list; else reaction_list */
  struct rg_list reaction_list;
  uint32_t share_platforms; /* bit 1u << enum ob_platform */
  enum ob_card card;
  enum rg_quote quote;
  bool mention_all;
  enum rg_answer_by answer_by;
  struct {
    double min, max, per_char; /* seconds */
  } pace;
  struct {
    uint32_t per_minute;
  } rate;
  enum rg_long_text long_text;
  uint32_t long_text_chars;
  struct {
    uint64_t max_bytes;
    struct rg_list roots; /* absolute after loading */
    bool public_hosts;    /* hosts: public; else hosts lists the only ones */
    struct rg_list hosts;
    uint32_t schemes; /* bit 0 https, bit 1 http */
    bool inspect;
    enum { RG_DELIVER_AUTO, RG_DELIVER_URL, RG_DELIVER_BASE64 } deliver;
  } media;
  struct {
    bool enabled, media_lines, markdown_images;
  } directives;
  bool notice_off;
  struct span notice; /* a text of the operator's; empty: the default of the language */
  bool privacy;
  struct rg_ids ignore;
  struct {
    bool enabled;
    struct rg_list providers; /* names, in the order they are asked; empty: all of the file */
    uint32_t triggers;        /* bits of enum rg_trigger */
    struct rg_list prefixes, keywords;
    double chance;
    uint32_t context; /* messages */
    struct span system_prompt;
    enum rg_newer newer;
    uint32_t tools; /* bits of enum rg_agent_tool */
    struct rg_list http_tools;
    uint32_t tool_rounds;
    uint64_t daily_tokens; /* 0: no limit */
    uint32_t history;      /* messages kept in the store; 0: none */
    uint32_t history_days;
    uint32_t images; /* that a model which sees is shown; 0: none */
    uint32_t at_once;
    double pause; /* seconds */
  } agent;
};

/* A model's endpoint that the built-in agent asks. */
struct rg_provider {
  struct span name;
  struct span dialect;  /* a name that schema_provider_find knows */
  struct span base_url; /* empty: the vendor's */
  struct span api_key, api_key_file;
  struct span model;
  struct span api_version; /* Azure: of its older paths; empty: v1 */
  enum rg_form structured_output;
  enum rg_yes_no takes_schema, takes_schema_with_tools;
  uint32_t max_tokens;
  double connect_timeout, timeout, idle_timeout; /* seconds */
  bool stream;
  bool images;            /* the model sees */
  struct span extra_body; /* a JSON object, or empty */
  struct span proxy, ca;
  uint64_t daily_tokens; /* 0: no limit */
};

/* A tool of the agent's that asks a server. */
struct rg_http_tool {
  struct span name, description;
  struct rg_schema_file parameters; /* no path */
  struct span url;                  /* {name} stands for a parameter */
  enum rg_method method;
  struct rg_list headers;      /* name, value, name, value… */
  struct rg_list header_files; /* name, path… */
  enum rg_reach reach;
  uint32_t response_bytes;
  double timeout; /* seconds */
};

struct rg_endpoint {
  struct span name;
  struct span connect; /* ws:// or wss:// address; empty where it listens or the host connects */
  bool host_connects;  /* connect: host */
  struct {
    struct span host, path;
    uint16_t port;
  } listen;
  struct span access_token;
  const struct ob_profile *profile; /* NULL: auto */
  struct rg_list profile_override;  /* key, value, key, value… */
  uint32_t self_id;                 /* 0: ask */
  struct span ca;
  enum rg_files files;
  struct rg_list path_map; /* ours, the peer's, ours, the peer's… */
  enum rg_yes_no music_sign;
  double offline_wait; /* seconds */
  struct {
    uint32_t per_minute; /* 0: no limit */
  } rate;
  const void *groups; /* config.c's own: its own settings of groups, or NULL */
};

/* A framework that the relay dials. */
struct rg_framework {
  struct span url, access_token;
  struct span endpoint; /* its account; empty: the only one */
};

/* Whether turns on their way are written down before they are sent (journal.h). */
enum rg_journal_mode { RG_JOURNAL_REQUIRED, RG_JOURNAL_OPTIONAL, RG_JOURNAL_OFF };

/* An immutable snapshot; everything in it lives in its arena. */
struct rg_config {
  atomic_uint references;
  struct arena arena;
  struct span path, folder; /* absolute; relative paths of the file start at folder */
  enum schema_language language;
  struct span store;
  struct span journal_store; /* the same, or a file of this machine's where that one is shared */
  enum rg_journal_mode journal;
  struct span log_level, log_file;
  struct span command_prefix;
  struct rg_ids admins, notify, notify_groups;
  const struct rg_endpoint *endpoints;
  size_t endpoint_count;
  struct {
    bool present;
    struct span listen_host;
    uint16_t listen_port;
    struct span access_token;
    uint32_t answer_window; /* seconds */
    const struct rg_framework *frameworks;
    size_t framework_count;
  } relay;
  struct {
    bool enabled;
    struct rg_ids users;
  } private_chat;
  const struct rg_provider *providers; /* in the order of the file */
  size_t provider_count;
  const struct rg_http_tool *tools; /* likewise */
  size_t tool_count;
  const void *groups; /* config.c's own; asked through rg_config_group */
};

struct rg_config_fault {
  size_t line, column; /* from 1, in characters */
  struct span what;    /* says what is wrong and what is allowed */
};

struct rg_config_faults {
  const struct rg_config_fault *items; /* in the order of the file */
  size_t count;
};

/* The environment of ${VAR}: value of a name, or NULL. NULL function: getenv. */
typedef const char *rg_env_fn(void *ctx, const char *name);

/* Reads a configuration text. folder: where relative paths start; no file is opened. Returns the
 * snapshot with one reference, or NULL with every fault in *faults (which lives in arena). Any
 * thread. */
struct rg_config *rg_config_read(struct span text, struct span folder, rg_env_fn *env,
                                 void *env_ctx, struct arena *arena,
                                 struct rg_config_faults *faults);
/* The same; files: those that it names are opened and checked. */
struct rg_config *rg_config_read_files(struct span text, struct span folder, bool files,
                                       rg_env_fn *env, void *env_ctx, struct arena *arena,
                                       struct rg_config_faults *faults);
/* The same from a file, with the files that it names; one that cannot be read is a fault at 1:1, or
 * at the key that names it. */
struct rg_config *rg_config_load(struct span path, struct arena *arena,
                                 struct rg_config_faults *faults);
struct rg_config *rg_config_keep(struct rg_config *c);
void rg_config_release(struct rg_config *c); /* NULL allowed */

/* The settings of a group at an endpoint (0: private chats, which use the default): default, group,
 * the endpoint's default, the endpoint's group. Its cost does not depend on the number of groups.
 * Lent by the snapshot. Runtime overrides come on top in settings.h. */
const struct rg_group *rg_config_group(const struct rg_config *c, const struct rg_endpoint *e,
                                       uint64_t group_id);
/* Where a value of a group's settings comes from, the weakest first. */
enum rg_origin {
  RG_FROM_BUILTIN,
  RG_FROM_DEFAULT,
  RG_FROM_GROUP,
  RG_FROM_ENDPOINT_DEFAULT,
  RG_FROM_ENDPOINT_GROUP,
  RG_FROM_OVERRIDE, /* set in the chat: settings.h */
};
/* key: its place among the rows of RG_SCOPE_GROUP in config_keys.h. */
enum rg_origin rg_config_origin(const struct rg_config *c, const struct rg_endpoint *e,
                                uint64_t group_id, size_t key);
/* The numbers of the groups that the file names for this endpoint (NULL: for all), ascending. Lent
 * by the snapshot. */
struct rg_ids rg_config_named(const struct rg_config *c, const struct rg_endpoint *e);

/* The endpoint of that name, or the only one where name is empty, else NULL. */
const struct rg_endpoint *rg_config_endpoint(const struct rg_config *c, struct span name);
/* The provider of that name, or NULL. */
const struct rg_provider *rg_config_provider(const struct rg_config *c, struct span name);
/* The HTTP tool of that name, or NULL. */
const struct rg_http_tool *rg_config_tool(const struct rg_config *c, struct span name);

#endif
