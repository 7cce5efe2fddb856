/* card_check: music cards, the one send that can be "ok" and invisible (design 8): a look whether a
 * card is there, and its text form in the place of one that is not. Service thread only. */
#ifndef PLUGIN_DELIVERY_CARD_CHECK_H
#define PLUGIN_DELIVERY_CARD_CHECK_H

#include "plugin/delivery/conversation.h"

/* Whether the card that the job's step sent, and that was accepted, is to be looked at. */
bool rg_card_doubtful(const struct rg_conversation *c, const struct rg_job *job);
/* Looks, by the id that it got; the delivery goes on when that is answered. */
void rg_card_look(struct rg_conversation *c, struct rg_job *job, struct span message_id);
/* Whether a card that failed may be shown as text: it is refused as a card. One of which nobody knows
 * is looked for first (resolve.h). */
bool rg_card_failed(const struct ob_step *step, struct ob_outcome o);
/* Sends the text form in the place of a card that is not there. False: there is none. */
bool rg_card_as_text(struct rg_conversation *c, struct rg_job *job);

#endif
