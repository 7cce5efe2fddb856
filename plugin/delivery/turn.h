/* turn: one reply on its way: the submitted text, its verdict, its plan and what became of each step.
 * Pure CPU: what is sent and when is delivery.c's, what the host is told is result.c's. */
#ifndef PLUGIN_DELIVERY_TURN_H
#define PLUGIN_DELIVERY_TURN_H

#include "onebot/outcome.h"
#include "onebot/service.h"
#include "plugin/config/settings.h"
#include "plugin/delivery/shown.h"
#include "plugin/delivery/timing.h"
#include "plugin/media/media.h"
#include "plugin/peer.h"
#include "plugin/replygate.h"
#include "schema/document.h"
#include "schema/print.h"
#include "schema/verdict.h"

enum {
  RG_TEXT_MAX = 64 * 1024 * 1024, /* a reply may carry 37 MiB of media as base64, which is 50 MiB */
};

/* What is to be done with a job once it was judged. */
enum rg_course {
  RG_COURSE_DELIVER, /* plan holds the steps, maybe none */
  RG_COURSE_CORRECT, /* only the one format-only correction can help */
  RG_COURSE_MEDIA,   /* its media are to be looked at first; then rg_job_media_done */
  RG_COURSE_REFUSED, /* nothing of it is sent; error says why */
  RG_COURSE_SILENT,  /* this group is switched off and muted */
};

/* Who else wants to know how a job goes: a framework that waits for its answer. told runs once: with
 * the id of the first message (maybe empty) once it is sent; with why (a word) where it is not.
 * Service thread. */
struct rg_job_watch {
  void (*told)(void *ctx, struct span message_id, const char *why); /* NULL: nobody */
  void *ctx;
};

/* How a send of which nothing is known is looked for (resolve.h). */
struct rg_resolving {
  uint64_t ask_ms;    /* when the history is asked next; 0: not any more */
  unsigned asks_left; /* how often */
  bool absent;        /* the history covers the time, and it is not there */
};

/* What became of a step of the plan. */
struct rg_part {
  enum { RG_PART_OPEN, RG_PART_SENT, RG_PART_UNSENT } state;
  struct span message_id;       /* of what was sent; in the job's arena */
  enum ob_outcome_kind outcome; /* RG_PART_UNSENT: as far as it is known */
  const char *reason;           /* RG_PART_UNSENT: a word */
  bool card_fell_back;          /* the card was not shown, its text form was sent in its place */
  bool card_doubtful;           /* it was accepted, and a look at it failed */
};

/* How a turn's text is read: what its model was asked for when it was accepted, whatever the settings
 * say when it is judged (after a restart they may be others). */
struct rg_asked {
  enum rg_output output;
  bool directives, media_lines, markdown_images;
};

struct rg_job_input {
  const struct rg_view *view;   /* what holds for the conversation now; references are taken */
  const struct rg_asked *asked; /* of an earlier process, or NULL: as the view's group has it */
  struct span home;             /* of this process, or empty */
  const struct rg_turn *turn;
  struct span text;
  const struct rg_timing *timing; /* lent for the job's life; NULL: rg_timing */
};

struct rg_conversation;

/* Between rg_job_new and its hand-over to the service thread it belongs to the caller, afterwards
 * to that thread. */
struct rg_job {
  /* delivery's own */
  struct rg_job *next; /* in its conversation */
  struct rg_conversation *conversation;
  uint64_t ticket;
  size_t bytes;            /* counted as waiting */
  struct ob_timer timer;   /* of the correction */
  uint64_t not_before_ms;  /* of the next step */
  uint64_t arrived_ms;     /* at the delivery */
  uint64_t stuck_until_ms; /* could not be written, and fails then; 0: it could */
  const char *stopped;     /* why nothing more of it is sent: a word; NULL while it runs */
  bool cancelled;          /* stopped from outside, not by a failure */
  struct rg_job_watch watch;
  bool foreign; /* a framework's: its watch is told, the host is told no result */
  bool given;   /* its plan came from elsewhere */
  bool quoted;  /* its first message quotes what it answers, whatever `quote` says */
  bool own;     /* the plugin's own words (an admin's answer): no result is told */
  bool words;   /* the model's words beside a tool call: judged as words, whatever is asked for */
  bool judged;
  bool corrected;      /* the one correction was asked for */
  bool provider_asked; /* a provider was, maybe after a host that had none */
  bool notice_decided; /* whether the failure notice goes out */
  bool at_media;       /* the media thread or an upload has it: it must not go */
  bool awaits_echo;    /* the last send is unknown: its own event may yet come */
  uint64_t echo_until_ms;
  const char *unknown;           /* why it is */
  struct span echoed_id;         /* of the event that showed the send under way; in the arena */
  struct rg_resolving resolving; /* resolve's own, while awaits_echo */
  /* the journal's and recovery's own */
  bool journaled;       /* the journal has it */
  bool journal_planned; /* and its plan */
  bool journal_stale;   /* and says less of it than was done */
  bool recovered;       /* an earlier process accepted it */
  bool doubted;         /* any step of it may have been sent: the machine went down */
  bool unsure;          /* the step that it is at may have been sent by that process */
  int64_t accepted_ms;  /* Unix time; 0: not written down */
  int64_t framed_ms;    /* Unix time when the step that it is at went to the wire */
  size_t upload_message, upload_segment; /* the one that is being uploaded */
  size_t step;                           /* the next one of the plan */

  const struct rg_timing *timing;
  int32_t kind; /* enum rg_kind */
  struct rg_view view;
  const struct rg_group *group; /* of view */
  struct rg_asked asked;
  struct rg_peer peer;
  struct ob_plan_settings settings;
  struct schema_private hide;
  struct schema_directive_options directives; /* offer reads them where the group has them on */
  struct schema_offer offer;
  struct arena arena; /* everything below, and what group's and profile's users need */
  struct span text;
  struct ob_target target;
  struct span message_id, sender_id;
  struct rg_schema_file wanted; /* the answer is a document in this schema; tree NULL: a reply */
  struct span document;         /* as it was received, once it is right; ptr NULL: none */
  struct schema_judgement judgement;
  struct schema_reply reply; /* what is delivered: the judged reply, or plain text */
  struct rg_shown *shown;    /* lent: what earlier parts of the same answer named; NULL: none */
  bool has_verdict;          /* false for what is not judged: a notice of the host */
  struct schema_error error; /* RG_COURSE_REFUSED, RG_COURSE_CORRECT */
  enum rg_course course;
  const struct schema_reply *media_reply; /* what the media thread made of reply; NULL: no memory */
  const struct rg_media_fault *media_faults;
  size_t media_fault_count;
  struct ob_plan plan;
  struct rg_part *parts; /* one for each step of plan */
  bool is_notice;        /* plan shows the failure notice in place of the reply */
};

/* The same as the journal keeps it. */
uint32_t rg_asked_pack(const struct rg_asked *asked);
/* False: nothing was kept. */
bool rg_asked_unpack(uint32_t packed, struct rg_asked *ret);

/* A job with copies of everything that the input lends, not judged yet. NULL: no memory, or the
 * turn's schema is outside the portable subset, of which why (which may be NULL) then tells. */
struct rg_job *rg_job_new(const struct rg_job_input *in, struct buf *why);
/* NULL allowed. */
void rg_job_free(struct rg_job *job);

/* Fits the job to what its endpoint can show; makes job->offer. Before rg_job_judge, and again
 * where the endpoint turned out to be another. False: no memory. */
bool rg_job_fit(struct rg_job *job, const struct rg_peer *peer);
/* Judges the job's text and plans it; sets course. Linear in the text. */
void rg_job_judge(struct rg_job *job);
/* The same with the model's corrected answer; what still is not sound is refused (reply.md 95). */
void rg_job_judge_again(struct rg_job *job, struct span text);
/* The turn has failed before there was a text to judge. what: constant. */
void rg_job_fail(struct rg_job *job, enum schema_code code, const char *what);
/* Takes a plan that was judged elsewhere (a copy) as what is delivered. False: no memory. */
bool rg_job_take_plan(struct rg_job *job, const struct ob_plan *plan);
/* The media of RG_COURSE_MEDIA were looked at (media_reply and the two behind it are set): plans. */
void rg_job_media_done(struct rg_job *job);
/* Makes the failure notice the plan. False: there is none to be sent. */
bool rg_job_plan_notice(struct rg_job *job);
/* Plans one plain text for the job's conversation, for what goes beside the reply. */
bool rg_job_plan_text(struct rg_job *job, struct span text, struct ob_plan *ret);

/* What the settings of a chat mean for its plans. home: of this process, or empty; lent. */
struct ob_plan_settings rg_plan_settings(const struct rg_view *view, struct span home);
/* How a group reads directives in what answers that message. */
struct schema_directive_options rg_directive_options(const struct rg_group *group,
                                                     struct span message_id);
/* Milliseconds between a step of a plan and the one before it. */
unsigned rg_plan_pause_ms(const struct rg_group *group, const struct ob_plan *plan, size_t step);
/* Milliseconds to wait before a step, after the one before it was answered. */
unsigned rg_job_pause_ms(const struct rg_job *job, size_t step);
/* How long the answer to a step may take. */
unsigned rg_job_timeout_ms(const struct rg_job *job, size_t step);

/* Whether the text is to be a document in a schema (job->wanted), not a reply. */
bool rg_job_wants_document(const struct rg_job *job);

#endif
