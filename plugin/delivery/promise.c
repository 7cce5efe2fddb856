/* promise: see promise.h. */
#include "plugin/delivery/promise.h"

#include <stdlib.h>

struct rg_promise {
  struct rg_gate *gate;
  struct rg_account *account;
  struct rg_keyboard keyboard;
  bool group;
  char id[RG_ID_MAX];
};

struct rg_promise *rg_promise_new(struct rg_gate *gate, struct rg_account *account,
                                  const struct rg_judged *j)
{
  const struct ob_target *to = &j->action.target;
  struct span id = to->group_id.len > 0 ? to->group_id : to->user_id;
  if (!j->judgement.keyboard || id.len == 0 || id.len >= RG_ID_MAX) return NULL;
  struct rg_promise *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->gate = gate;
  p->account = account;
  p->group = to->group_id.len > 0;
  memcpy(p->id, id.ptr, id.len);
  struct span asked = j->view.group->answer_by == RG_ANSWER_ASKED ? j->sender_id : SPAN("");
  bool kept = rg_keyboard_remember(&p->keyboard, j->judgement.keyboard, asked, ob_now_ms());
  if (kept && p->keyboard.count > 0) return p;
  rg_promise_free(p);
  return NULL;
}

void rg_promise_keep(struct rg_promise *p)
{
  if (!p) return;
  struct rg_gate *gate = p->gate;
  pthread_mutex_lock(&gate->mu);
  struct rg_conversation *c =
      rg_conversation_get(&gate->conversations, p->account, p->group, span_of(p->id));
  pthread_mutex_unlock(&gate->mu);
  if (c) {
    rg_keyboard_forget(&c->keyboard);
    c->keyboard = p->keyboard;
    p->keyboard = (struct rg_keyboard) { .count = 0 };
    gate->keyboards_until_ms = c->keyboard.until_ms;
  }
  rg_promise_free(p);
}

void rg_promise_free(struct rg_promise *p)
{
  if (!p) return;
  rg_keyboard_forget(&p->keyboard);
  free(p);
}
