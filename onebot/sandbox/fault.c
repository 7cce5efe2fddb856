/* fault: see fault.h. */
#include "onebot/sandbox/fault.h"

#include "onebot/id.h"

static const char *const words[OB_FAULT_KIND_COUNT] = {
  [OB_FAULT_NONE] = "none",
  [OB_FAULT_LATE] = "late",
  [OB_FAULT_SILENT] = "silent",
  [OB_FAULT_MUTED] = "muted",
  [OB_FAULT_UPLOAD] = "upload",
  [OB_FAULT_OFFLINE] = "offline",
  [OB_FAULT_RISK] = "risk",
  [OB_FAULT_TIMEOUT] = "timeout",
  [OB_FAULT_REFUSE] = "refuse",
  [OB_FAULT_RESULT] = "result",
  [OB_FAULT_CLOSE_AFTER] = "close_after",
  [OB_FAULT_CLOSE_BEFORE] = "close_before",
  [OB_FAULT_DROP] = "drop",
  [OB_FAULT_NO_ECHO] = "no_echo",
  [OB_FAULT_TWICE] = "twice",
  [OB_FAULT_GARBLED] = "garbled",
  [OB_FAULT_ANSWER_CLOSE] = "answer_close",
  [OB_FAULT_RESTART] = "restart",
  [OB_FAULT_LOG_OUT] = "log_out",
};

const char *ob_fault_word(enum ob_fault_kind kind)
{
  return words[kind];
}

static bool copy(struct span from, char *to, size_t size)
{
  if (from.len >= size) return false;
  if (from.len) memcpy(to, from.ptr, from.len);
  to[from.len] = '\0';
  return true;
}

/* An integer member between low and high; absent leaves *ret. */
static bool number(const struct schema_node *order, const char *name, int64_t low, int64_t high,
                   int64_t *ret)
{
  const struct schema_node *n = schema_tree_get(order, name);
  int64_t value;
  if (!n) return true;
  if (n->kind != SCHEMA_NUMBER || !ob_id_read(n->text, &value) || value < low || value > high)
    return false;
  *ret = value;
  return true;
}

const char *ob_fault_order(struct ob_faults *f, const struct schema_node *order)
{
  struct ob_fault fault = { .kind = OB_FAULT_NONE };
  struct span action = schema_tree_string(schema_tree_get(order, "action"));
  struct span kind = schema_tree_string(schema_tree_get(order, "kind"));
  int64_t skip = 0, count = 1, ms = 0, retcode = -1;
  for (size_t i = 1; i < OB_FAULT_KIND_COUNT; i++)
    if (span_is(kind, words[i])) fault.kind = (enum ob_fault_kind)i;
  if (fault.kind == OB_FAULT_NONE) return "kind: no such fault";
  if (!copy(action.len ? action : SPAN("*"), fault.action, sizeof fault.action))
    return "action: too long";
  if (!copy(schema_tree_string(schema_tree_get(order, "text")), fault.text, sizeof fault.text))
    return "text: too long";
  if (!number(order, "skip", 0, 1000000, &skip)) return "skip: 0 to 1000000";
  if (!number(order, "count", 1, 1000000, &count)) return "count: 1 to 1000000";
  if (!number(order, "ms", 0, OB_FAULT_MS_MAX, &ms)) return "ms: 0 to 600000";
  if (!number(order, "retcode", INT32_MIN, INT32_MAX, &retcode)) return "retcode: an integer";
  if (f->count == OB_FAULTS_MAX) return "too many faults are ordered already";
  fault.skip = (unsigned)skip;
  fault.count = (unsigned)count;
  fault.ms = (unsigned)ms;
  fault.retcode = (int32_t)retcode;
  fault.delivered = schema_tree_truth(schema_tree_get(order, "delivered"), true);
  fault.push = schema_tree_truth(schema_tree_get(order, "push"), false);
  f->list[f->count++] = fault;
  return NULL;
}

struct ob_fault ob_fault_take(struct ob_faults *f, struct span action)
{
  for (size_t i = 0; i < f->count; i++) {
    struct ob_fault *fault = &f->list[i];
    if (strcmp(fault->action, "*") != 0 && !span_is(action, fault->action)) continue;
    if (fault->skip > 0) {
      fault->skip--;
      continue;
    }
    struct ob_fault taken = *fault;
    if (--fault->count == 0) {
      memmove(fault, fault + 1, (f->count - i - 1) * sizeof *fault);
      f->count--;
    }
    return taken;
  }
  return (struct ob_fault) { .kind = OB_FAULT_NONE };
}
