/* notice: see notice.h. */
#include "plugin/delivery/notice.h"

static const char *const texts[] = {
  [SCHEMA_ZH] = "抱歉，这条回复没能生成好，请稍后再试一次。",
  [SCHEMA_EN] = "Sorry, that reply did not work out. Please try again in a moment.",
};

struct span rg_notice_text(const struct rg_group *group, enum schema_language language)
{
  if (group->notice_off) return (struct span) { NULL, 0 };
  return group->notice.len > 0 ? group->notice : span_of(texts[language]);
}
