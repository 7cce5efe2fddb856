#include "onebot/id.h"

bool ob_id_read(struct span s, int64_t *ret)
{
  if (s.len == 0) return false;
  bool minus = s.ptr[0] == '-';
  size_t digits = s.len - minus;
  const char *d = s.ptr + minus;
  if (digits == 0 || digits > 19 || (d[0] == '0' && (digits > 1 || minus))) return false;
  uint64_t value = 0; /* 19 nines fit */
  for (size_t i = 0; i < digits; i++) {
    unsigned digit = (unsigned char)d[i] - (unsigned)'0';
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  if (value > (uint64_t)INT64_MAX + minus) return false;
  if (ret) *ret = minus ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

bool ob_id_positive(struct span s, int64_t max)
{
  int64_t value;
  return ob_id_read(s, &value) && value > 0 && value <= max;
}

static bool is_integer(struct span number)
{
  for (size_t i = number.ptr[0] == '-'; i < number.len; i++)
    if (number.ptr[i] < '0' || number.ptr[i] > '9') return false;
  return true;
}

struct span ob_id_of(const struct schema_node *node)
{
  static const char *const none[] = { "", "0", "-0", "null", "undefined" };
  struct span id = schema_tree_id(node);
  if (id.len == 0 || (node->kind == SCHEMA_NUMBER && !is_integer(id))) return (struct span) { 0 };
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (span_is(id, none[i])) return (struct span) { 0 };
  return id;
}
