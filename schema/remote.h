/* remote: the pure part of the guard for remote media (rich-output.md 61 to 66, 114 to 130): which
 * address may be taken for an attachment at all. Whoever fetches it guards the network again: a
 * name may resolve to anything (67). */
#ifndef SCHEMA_REMOTE_H
#define SCHEMA_REMOTE_H

#include "schema/bytes.h"

enum {
  SCHEMA_REFERENCE_MAX = 4096, /* UTF-16 units of an address or path (rule 124) */
};

/* Whether it begins with http:// or https://, whatever follows. */
bool schema_remote_is_web(struct span reference);

/* NULL where url is the https address of a public host, else what is wrong with it (constant).
 * It is read as a browser reads it: percent-escapes and wide forms in the host are undone, numbers
 * are judged by the IPv4 address that they mean, internationalised names letter by letter.
 * spaces: whether blanks behind the host are let pass (a quoted reference). Linear. Any thread. */
const char *schema_remote_fault(struct span url, bool spaces);
/* The same, but http is taken as well: for media of a reply, where the configuration allows it. */
const char *schema_remote_web_fault(struct span url);

#endif
