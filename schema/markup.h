/* markup: the marks that a model's machinery leaves between words. A tag is <name …>, </name>,
 * <|name|>, <｜DSML｜name …> and the like in any style of bracket and bar, raw, fullwidth, as an HTML
 * entity or as a \u escape; a code span is where Markdown only quotes. Everything looks ahead over
 * a bounded distance or walks forward once, so that hostile text costs linear time. */
#ifndef SCHEMA_MARKUP_H
#define SCHEMA_MARKUP_H

#include "schema/bytes.h"

enum {
  SCHEMA_MARK_NAME_MAX = 48, /* the longest known, tool_call_argument_begin with a vendor's name */
  SCHEMA_MARK_LEN_MAX = 256, /* a tag with its attributes; a longer one is none */
};

struct schema_mark {
  size_t begin, end; /* end: behind its closing bracket, or where the reading stopped */
  /* Its name without separators in lower case, vendor and all: "dsmlinvoke", "toolcallbegin". */
  char name[SCHEMA_MARK_NAME_MAX + 1];
  size_t local;        /* where the last part of the name begins: "invoke" */
  bool closing;        /* </name */
  bool complete;       /* its closing bracket is there */
  bool truncated;      /* the text ends inside it */
  bool bar_front;      /* a bar before the name: <|name */
  bool bar_back;       /* a bar behind the name: name|> */
  bool has_value;      /* <name=value> */
  bool has_attributes; /* <name key=…> */
  bool has_name;       /* one of them is called name */
};

/* Whether an opening bracket in some form can be at byte at: a quick no for the punctuation of CJK
 * text, which shares its first bytes. */
static inline bool schema_mark_may_begin(struct span text, size_t at)
{
  unsigned char next = at + 1 < text.len ? (unsigned char)text.ptr[at + 1] : 0;
  unsigned char third = at + 2 < text.len ? (unsigned char)text.ptr[at + 2] : 0;
  switch ((unsigned char)text.ptr[at]) {
  case '<': return true;
  case '&': return next == 'l' || next == '#';
  case '\\': return next == 'u' || next == 'x';
  case 0xE2: return (next == 0x80 && third == 0xB9) || (next == 0x9F && third == 0xA8);
  case 0xE3: return next == 0x80 && third == 0x88;
  case 0xEF: return next == 0xBC && third == 0x9C;
  default: return false;
  }
}

/* Reads the tag whose opening bracket stands at byte at. False: there is none. */
bool schema_mark_read(struct span text, size_t at, struct schema_mark *ret);
/* Whether the name, or its last part, is that word (given without separators). */
bool schema_mark_is(const struct schema_mark *tag, const char *word);
bool schema_mark_has(const struct schema_mark *tag, const char *part);

/* The character at *at as a reader of tags sees it: ASCII in lower case, also for its fullwidth,
 * entity and escaped forms, '|' for every bar, '_' for the low block of DeepSeek's tokens, zero
 * width passed over; 0x80 for all others, 0 at the end. *at is moved behind it. */
int schema_fold(struct span text, size_t *at);

/* Where Markdown quotes: `inline` on one line, or a ``` fence. */
struct schema_quoted {
  size_t begin, end;             /* with its backticks */
  size_t inner_begin, inner_end; /* without, and without the line of the info string */
  struct span info;              /* of a fence: the word behind its backticks */
  bool fenced;
  bool closed;
};

enum { SCHEMA_CODE_RUN_MAX = 16 }; /* longer runs of backticks quote nothing */

/* Keeps what is known of the backticks ahead; zero it for each text. */
struct schema_quoted_reader {
  size_t line_end;                      /* of the line that last_run belongs to */
  size_t last_run[SCHEMA_CODE_RUN_MAX]; /* where the last run of each length begins on it */
};

/* Reads the code that the backtick at byte at begins. Where it begins none, false, and ret->end is
 * behind the run of backticks. Calls must move forward. */
bool schema_quoted_read(struct schema_quoted_reader *reader, struct span text, size_t at,
                        struct schema_quoted *ret);

/* ---- small readers of text, all by byte offset ---- */

static inline bool schema_is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ASCII letter, digit or underscore */
static inline bool schema_is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Behind the white space, the zero-width characters and the BOM at byte at. */
size_t schema_skip_blank(struct span text, size_t at);
/* Without the same and without NUL at both ends: the edges of a model's answer. */
struct span schema_trim_blank(struct span text);
/* Whether only blanks stand between the begin of at's line and at. */
bool schema_at_line_begin(struct span text, size_t at);
/* Whether a letter, a digit or anything beyond ASCII that can be seen is in text. */
bool schema_has_words(struct span text);

/* Whether what stands between an opening and a closing tag only joins their names in a sentence:
 * "<a> and </a>", "<a> … </a>". */
bool schema_joins_names(struct span between);

#endif
