/* reference: what names one attachment: a remote address, a local path or a file: URL. Judged by
 * its text alone; the read policy, the bytes and the network are looked at later (rich-output.md
 * 68 to 73, 131 to 140). */
#ifndef SCHEMA_REFERENCE_H
#define SCHEMA_REFERENCE_H

#include "schema/remote.h"
#include "schema/segment.h"

enum schema_reference_option {
  SCHEMA_REFERENCE_SPACES = 1, /* white space may be part of it (a quoted one, a whole path) */
  SCHEMA_REFERENCE_BARE = 2,   /* a name with an extension is one (rule 134) */
  SCHEMA_REFERENCE_ANY = 4,    /* a structured field: any name that is no other scheme */
};

/* NULL where it may be an attachment, else what is wrong (constant). options: bits of above. */
const char *schema_reference_fault(struct span reference, unsigned options);

/* Whether it reads like a path, sound or not: what is refused of it is not to be shown (111). */
bool schema_reference_looks_local(struct span reference);
/* Whether it climbs by .. or into another user's home. */
bool schema_reference_climbs(struct span reference);
/* Whether it begins with a root: /, ~, ./, ../, C:\ or \\ . */
bool schema_reference_has_root(struct span reference);
/* Whether it begins with a scheme (letters and a colon; so does C:). */
bool schema_reference_has_scheme(struct span reference);
/* Whether it ends in a dot and 1 to 10 word characters. */
bool schema_reference_has_extension(struct span reference);
/* Without file: or file:// in front. */
struct span schema_reference_bare(struct span reference);

/* The path that a file: URL means, percent-escapes undone; anything else as it is. ptr NULL: no
 * memory. */
struct span schema_reference_path(struct span reference, struct arena *arena);
/* Equal keys mean the same attachment (rules 182 to 185). ptr NULL: no memory. */
struct span schema_reference_key(struct span reference, struct arena *arena);

/* What it is by its extension: SCHEMA_IMAGE, AUDIO, VIDEO, else FILE. The one table of that. */
enum schema_type schema_reference_type(struct span reference);

#endif
