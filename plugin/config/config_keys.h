/* config_keys: the ONE table of configuration keys. The loader, config.example.yaml, the README's
 * reference, `replygate config`, show and set are all made from these rows; a key, its range or its
 * default is changed here and nowhere else. */
#ifndef PLUGIN_CONFIG_CONFIG_KEYS_H
#define PLUGIN_CONFIG_CONFIG_KEYS_H

#include "plugin/config/config.h"

/* Where a key stands: the mapping whose key it is. */
enum rg_scope {
  RG_SCOPE_TOP,       /* the file: offsets are in struct rg_config */
  RG_SCOPE_ENDPOINT,  /* endpoints.NAME: struct rg_endpoint */
  RG_SCOPE_GROUP,     /* groups.ID, endpoints.NAME.groups.ID: struct rg_group */
  RG_SCOPE_PROVIDER,  /* providers.NAME: struct rg_provider */
  RG_SCOPE_TOOL,      /* tools.NAME: struct rg_http_tool */
  RG_SCOPE_FRAMEWORK, /* an item of relay.connect: struct rg_framework */
  RG_SCOPE_COUNT
};

enum rg_key_type {
  RG_KEY_SECTION, /* a mapping; its keys are the rows NAME.… behind it */
  RG_KEY_BOOL,
  RG_KEY_COUNT,     /* uint32_t, low to high */
  RG_KEY_BYTES,     /* uint64_t, low to high */
  RG_KEY_SECONDS,   /* double, low to high */
  RG_KEY_WORD,      /* an enum: the index in the words */
  RG_KEY_WORD_TEXT, /* one of the words, kept as text */
  RG_KEY_WORDS,     /* a list of words: a bit for each */
  RG_KEY_TEXT,
  RG_KEY_PREFIX, /* the word that begins a command */
  RG_KEY_PATH,   /* absolute after loading; empty stays empty */
  RG_KEY_SCHEMA, /* the path of a JSON Schema */
  RG_KEY_PATHS,  /* a list of paths */
  RG_KEY_TEXTS,  /* a list of texts, none of them empty */
  RG_KEY_IDS,    /* a list of QQ numbers: accounts, groups */
  RG_KEY_STORE,
  RG_KEY_CONNECT, /* the whole struct, offset 0, as all that follow */
  RG_KEY_LISTEN,
  RG_KEY_RELAY_LISTEN,
  RG_KEY_URL,
  RG_KEY_PROFILE,
  RG_KEY_FACTS,    /* a mapping of profile facts */
  RG_KEY_PATH_MAP, /* a mapping of folders */
  RG_KEY_REACTIONS,
  RG_KEY_HOSTS,
  RG_KEY_NOTICE,
  RG_KEY_TOOL_NAMES,   /* a list of words, a bit for each, and of names of HTTP tools */
  RG_KEY_PARAMETERS,   /* a JSON Schema written as YAML */
  RG_KEY_HEADERS,      /* a mapping of header names to values */
  RG_KEY_HEADER_FILES, /* the same to paths */
  RG_KEY_ENDPOINTS,    /* a mapping of names to RG_SCOPE_ENDPOINT */
  RG_KEY_PROVIDERS,    /* a mapping of names to RG_SCOPE_PROVIDER */
  RG_KEY_TOOLS,        /* a mapping of names to RG_SCOPE_TOOL */
  RG_KEY_GROUPS,       /* a mapping of group numbers to RG_SCOPE_GROUP */
  RG_KEY_FRAMEWORKS,   /* a list of RG_SCOPE_FRAMEWORK */
};

enum rg_key_flag {
  RG_KEY_SECRET = 1,   /* never printed */
  RG_KEY_OPERATOR = 2, /* from the chat only by `admins`: the host's files and network, privacy */
  RG_KEY_ADDRESS = 4,  /* may hold a secret behind ? or before @: shown without */
  RG_KEY_OPTIONAL = 8, /* stands in config.example.yaml with # before it */
};

struct rg_key {
  const char *name; /* "pace.min": dots lead through sections of the same scope */
  enum rg_key_type type;
  size_t offset;
  double low, high;         /* of numbers */
  const char *const *words; /* of RG_KEY_WORD…, NULL-terminated */
  const char *initial;      /* the default, as one writes it behind `set`; "" is unset or empty */
  const char *example;      /* in config.example.yaml instead of the default; NULL: the default */
  unsigned flags;
  const char *help_en, *help_zh;
};

struct rg_keys {
  const struct rg_key *items;
  size_t count;
};

/* The rows of each scope, in the order of the documentation. */
extern const struct rg_keys rg_keys[RG_SCOPE_COUNT];

/* More keys of a group than bits of a mask would need another mask. */
enum { RG_GROUP_KEYS_MAX = 64 };

/* The row of that full name, or NULL. */
const struct rg_key *rg_key_find(enum rg_scope scope, struct span name);
/* The place of a row in its scope: the bit of a group's key. */
size_t rg_key_index(enum rg_scope scope, const struct rg_key *key);

/* The i-th word that a row allows, or NULL behind the last. */
const char *rg_key_word(const struct rg_key *key, size_t i);
/* The index of a word, or SIZE_MAX. */
size_t rg_key_word_find(const struct rg_key *key, struct span word);

/* What the row allows, for a fault or the reference: "a number from 0 to 60". */
void rg_key_allowed(const struct rg_key *key, enum schema_language language, struct buf *out);
/* The word among count candidates that a mistyped one most likely means, or an empty span. */
struct span rg_nearest(struct span typed, const struct span *candidates, size_t count);

#endif
