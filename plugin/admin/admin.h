/* admin: commands of administrators in the chat: what is one, what it asks, who may, what it does.
 * Finding, reading and allowing are pure; acting goes through settings.h and the functions of
 * struct rg_admin_runtime. The words, keys and answers are in English and Chinese. */
#ifndef PLUGIN_ADMIN_ADMIN_H
#define PLUGIN_ADMIN_ADMIN_H

#include "onebot/event.h"
#include "plugin/config/settings.h"

/* name, English word, Chinese word, who may: design 7 */
#define RG_OPS(X)                                                                                  \
  X(HELP, "help", "帮助")                                                                          \
  X(STATUS, "status", "状态")                                                                      \
  X(ON, "on", "开")                                                                                \
  X(OFF, "off", "关")                                                                              \
  X(SET, "set", "设置")                                                                            \
  X(RESET, "reset", "重置")                                                                        \
  X(SHOW, "show", "查看")                                                                          \
  X(LAST, "last", "最近")                                                                          \
  X(RECALL, "recall", "撤回")                                                                      \
  X(CLEAR, "clear", "清空")                                                                        \
  X(GROUPS, "groups", "群")                                                                        \
  X(RELOAD, "reload", "重载")

enum rg_op {
#define X(name, en, zh) RG_OP_##name,
  RG_OPS(X)
#undef X
      RG_OP_COUNT
};

/* "status" */
const char *rg_op_word(enum rg_op op);

/* A command as it was read. Lives in the arena and the event. */
struct rg_command {
  enum rg_op op;               /* RG_OP_COUNT: an unknown word */
  bool named;                  /* another group was named: @123456789 */
  uint64_t group;              /* the group that it is about; 0: none, in a private chat */
  const struct rg_key *key;    /* of set, reset, show; NULL: all */
  const struct rg_yaml *value; /* of set */
  struct span fault;           /* why it cannot be done, in the language of the configuration;
                                  empty: it can */
};

/* Whether the event is a command: a group or private message, not of the bot itself, that begins
 * with the prefix; *retrest is what stands behind the prefix, in arena. */
bool rg_command_find(const struct ob_event *event, struct span prefix, struct arena *arena,
                     struct span *retrest);
/* What it asks. is_admin: its sender is one of `admins`, who may set more keys. False: no memory. */
bool rg_command_read(const struct ob_event *event, struct span rest, const struct rg_view *view,
                     bool is_admin, struct arena *arena, struct rg_command *ret);

/* What the sender of an event may do here. */
enum rg_rank {
  RG_RANK_NONE,
  RG_RANK_GROUP,    /* the group's owner or one of its admins: this group only */
  RG_RANK_OPERATOR, /* one of `admins`: every group, every command */
};

/* From the event's own sender and the settings of its group, nothing else. own: the bot's accounts.
 * Anonymous and ignored senders and our own accounts have no rank. */
enum rg_rank rg_command_rank(const struct ob_event *event, const struct rg_view *view,
                             const struct rg_ids *own);
bool rg_command_may(const struct rg_command *command, enum rg_rank rank);

/* What other parts of the program do for a command. Each may be NULL and is then said to be not
 * there. They append one or a few short lines to out, in the language given. */
struct rg_admin_runtime {
  void *ctx;
  /* Connection, profile, what waits. group 0: of the endpoint as a whole. */
  void (*status)(void *ctx, struct span endpoint, uint64_t group, enum schema_language language,
                 struct buf *out);
  /* The last verdicts of a group, or of the private chat with user where group is 0. words: message
   * text may be shown. */
  void (*last)(void *ctx, struct span endpoint, uint64_t group, struct span user, bool words,
               enum schema_language language, struct buf *out);
  /* Takes back the bot's last reply there. */
  void (*recall)(void *ctx, struct span endpoint, uint64_t group, struct span user,
                 enum schema_language language, struct buf *out);
  /* Makes the built-in agent forget what was said there, as `last` finds it. */
  void (*clear)(void *ctx, struct span endpoint, uint64_t group, struct span user,
                enum schema_language language, struct buf *out);
  /* Loads the file again; what is wrong with it goes to out. */
  bool (*reload)(void *ctx, enum schema_language language, struct buf *out);
};

/* One line for the log: who did what, where, and what it changed; or who tried. */
typedef void rg_audit_fn(void *ctx, struct span line);

struct rg_admin {
  struct rg_settings *settings;
  struct rg_admin_runtime runtime;
  rg_audit_fn *audit; /* may be NULL */
  void *audit_ctx;
};

enum rg_admin_result {
  RG_ADMIN_NOT_A_COMMAND, /* for the bot */
  RG_ADMIN_DENIED,        /* a command of someone who may not: no answer, not passed on */
  RG_ADMIN_DONE,          /* answer goes back to the chat; not passed on */
};

struct rg_admin_answer {
  struct rg_command command; /* of RG_ADMIN_DONE and RG_ADMIN_DENIED */
  struct span text;          /* the answer: one message; in the arena */
};

/* Finds, reads, allows and does what an event asks. endpoint: the name of where it came from. own:
 * our accounts. Any thread. */
enum rg_admin_result rg_admin_handle(const struct rg_admin *admin, struct span endpoint,
                                     const struct ob_event *event, const struct rg_ids *own,
                                     struct arena *arena, struct rg_admin_answer *ret);

#endif
