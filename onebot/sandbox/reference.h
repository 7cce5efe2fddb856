/* reference: what the played implementation makes of a media reference, by its form (files.tsv). */
#ifndef ONEBOT_SANDBOX_REFERENCE_H
#define ONEBOT_SANDBOX_REFERENCE_H

#include "onebot/sandbox/judge.h"

enum ob_reference_fate {
  OB_REFERENCE_OK,
  OB_REFERENCE_DROP, /* the segment is left out */
  OB_REFERENCE_FAIL, /* the call was refused in j */
  OB_REFERENCE_JUNK, /* shown, but broken */
};

/* type: the segment's, or "upload" for the upload actions. A file of this machine is looked for,
 * as an implementation on the same host would; nothing is fetched and no file is read. */
enum ob_reference_fate ob_reference_judge(struct ob_judge *j, struct span type, struct span value);

#endif
