/* result: see result.h. */
#include "plugin/delivery/result.h"

#include "plugin/delivery/preview.h"
#include "schema/contract.h"

/* "key": text, or null where there is none. */
static void write_text_or_null(struct schema_writer *w, const char *key, const char *text)
{
  schema_write_key(w, span_of(key));
  if (text) {
    schema_write_string(w, span_of(text));
  } else {
    schema_write_null(w);
  }
}

static void write_fault(const struct rg_job *job, bool faulty, bool with_at,
                        struct schema_writer *w)
{
  const struct schema_error *e = &job->error;
  const char *why = e->what ? e->what : schema_code_text(e->code);
  write_text_or_null(w, "code", faulty ? schema_code_word(e->code) : NULL);
  write_text_or_null(w, "path", faulty ? e->path : NULL);
  if (with_at) {
    schema_write_key(w, SPAN("at"));
    if (faulty) {
      schema_write_int(w, (int64_t)e->at);
    } else {
      schema_write_null(w);
    }
  }
  write_text_or_null(w, "why", faulty ? why : NULL);
}

static void write_judgement(const struct rg_job *job, bool with_at, struct schema_writer *w)
{
  const struct schema_judgement *j = &job->judgement;
  bool faulty = job->course == RG_COURSE_CORRECT || job->course == RG_COURSE_REFUSED;
  write_text_or_null(w, "verdict", job->has_verdict ? schema_verdict_word(j->verdict) : NULL);
  write_fault(job, faulty, with_at, w);
  schema_write_key(w, SPAN("repairs"));
  schema_write_array(w);
  for (size_t i = 0; i < j->repair_count && i < SCHEMA_REPAIR_MAX; i++) {
    schema_write_string(w, span_of(schema_repair_word(j->repairs[i].kind)));
  }
  schema_write_array_end(w);
}

/* The reply as it was validated, and as a readable text; nothing of a reply that did not pass. */
static void write_reply(const struct rg_job *job, struct schema_writer *w)
{
  const struct schema_judgement *j = &job->judgement;
  bool judged = job->has_verdict && (j->verdict == SCHEMA_ACCEPT || j->verdict == SCHEMA_REPAIR);
  bool plain = !job->has_verdict && job->course == RG_COURSE_DELIVER;
  const struct schema_reply *reply = judged ? &j->reply : &job->reply;
  schema_write_key(w, SPAN("reply"));
  if (!judged && !plain) {
    schema_write_null(w);
    schema_write_pair(w, "preview", SPAN(""));
    return;
  }
  schema_write_reply(w, reply, job->offer.offers_reaction);
  struct buf preview;
  buf_init(&preview, RG_TEXT_MAX);
  rg_preview(reply, &preview);
  schema_write_pair(w, "preview", buf_span(&preview));
  buf_done(&preview);
}

static void write_id(struct schema_writer *w, struct span id)
{
  schema_write_key(w, SPAN("message_id"));
  if (id.len > 0) {
    schema_write_string(w, id);
  } else {
    schema_write_null(w);
  }
}

static void write_unsent(struct schema_writer *w, struct span action, const char *outcome,
                         const char *reason)
{
  schema_write_object(w);
  schema_write_pair(w, "action", action);
  schema_write_pair(w, "outcome", span_of(outcome));
  schema_write_pair(w, "reason", span_of(reason));
  schema_write_object_end(w);
}

static void write_parts(const struct rg_job *job, struct schema_writer *w)
{
  size_t count = job->is_notice ? 0 : job->plan.count;
  schema_write_key(w, SPAN("sent"));
  schema_write_array(w);
  for (size_t i = 0; i < count; i++) {
    if (job->parts[i].state != RG_PART_SENT) continue;
    schema_write_object(w);
    schema_write_pair(w, "action", job->plan.steps[i].action);
    write_id(w, job->parts[i].message_id);
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
  schema_write_key(w, SPAN("unsent"));
  schema_write_array(w);
  for (size_t i = 0; i < count; i++) {
    const struct rg_part *p = &job->parts[i];
    struct span action = job->plan.steps[i].action;
    if (p->state == RG_PART_UNSENT) write_unsent(w, action, ob_outcome_word(p->outcome), p->reason);
    if (p->state == RG_PART_OPEN) {
      write_unsent(w, action, "not_tried", job->stopped ? job->stopped : "not_tried");
    }
    if (p->card_fell_back) write_unsent(w, action, ob_outcome_word(OB_UNKNOWN), "card_not_shown");
  }
  schema_write_array_end(w);
}

static void write_notice(const struct rg_job *job, struct schema_writer *w)
{
  bool sent = job->is_notice && job->plan.count > 0 && job->parts[0].state == RG_PART_SENT;
  schema_write_key(w, SPAN("notice"));
  if (!sent) {
    schema_write_null(w);
    return;
  }
  schema_write_object(w);
  write_id(w, job->parts[0].message_id);
  schema_write_object_end(w);
}

/* What of the media could not go, where and why. */
static void write_media(const struct rg_job *job, struct schema_writer *w)
{
  schema_write_key(w, SPAN("media"));
  schema_write_array(w);
  for (size_t i = 0; i < job->media_fault_count; i++) {
    const struct rg_media_fault *f = &job->media_faults[i];
    schema_write_object(w);
    schema_write_key(w, SPAN("message"));
    schema_write_int(w, (int64_t)f->message);
    schema_write_key(w, SPAN("segment"));
    schema_write_int(w, (int64_t)f->segment);
    schema_write_pair(w, "reason", span_of(f->reason));
    schema_write_object_end(w);
  }
  schema_write_array_end(w);
}

static void write_document(const struct rg_job *job, struct schema_writer *w)
{
  schema_write_key(w, SPAN("document"));
  if (job->document.ptr) {
    schema_write_string(w, job->document);
  } else {
    schema_write_null(w);
  }
}

bool rg_job_write_result(const struct rg_job *job, const char *result, struct buf *out)
{
  struct schema_writer w = { .out = out };
  schema_write_object(&w);
  schema_write_pair(&w, "result", span_of(result));
  write_text_or_null(&w, "reason", job->stopped);
  write_judgement(job, false, &w);
  schema_write_key(&w, SPAN("corrected"));
  schema_write_bool(&w, job->corrected);
  if (job->recovered) {
    schema_write_key(&w, SPAN("recovered"));
    schema_write_bool(&w, true);
  }
  write_reply(job, &w);
  write_parts(job, &w);
  write_media(job, &w);
  write_notice(job, &w);
  write_document(job, &w);
  schema_write_object_end(&w);
  return !out->failed;
}

bool rg_job_write_report(const struct rg_job *job, struct buf *out)
{
  struct schema_writer w = { .out = out };
  schema_write_object(&w);
  write_judgement(job, true, &w);
  write_reply(job, &w);
  write_document(job, &w);
  schema_write_object_end(&w);
  return !out->failed;
}

/* Bytes that are no UTF-8 become U+FFFD: JSON cannot carry them. */
static void write_raw_answer(struct schema_writer *w, struct span text)
{
  struct buf clean;
  buf_init(&clean, 3 * RG_TEXT_MAX);
  while (text.len > 0) {
    size_t good = span_utf8_fault(text);
    buf_add(&clean, (struct span) { text.ptr, good });
    if (good == text.len) break;
    buf_add_utf8(&clean, 0xFFFD);
    text = (struct span) { text.ptr + good + 1, text.len - good - 1 };
  }
  if (clean.failed) w->out->failed = true;
  schema_write_pair(w, "answer", buf_span(&clean));
  buf_done(&clean);
}

bool rg_job_write_contract(const struct rg_job *job, struct buf *schema, struct buf *instruction)
{
  if (rg_job_wants_document(job)) {
    buf_add(schema, job->wanted.text);
    return schema_contract_document(&job->offer, job->wanted.text, instruction) && !schema->failed;
  }
  if (job->asked.output == RG_OUTPUT_TEXT) return schema_contract_words(&job->offer, instruction);
  return schema_contract_schema(&job->offer, schema) &&
         schema_contract_instruction(&job->offer, instruction);
}

bool rg_job_write_request(const struct rg_job *job, struct buf *out)
{
  struct schema_writer w = { .out = out };
  struct buf part;
  buf_init(&part, RG_TEXT_MAX);
  schema_write_object(&w);
  bool made = schema_contract_instruction(&job->offer, &part);
  schema_write_pair(&w, "instruction", buf_span(&part));
  buf_clear(&part);
  made = schema_contract_schema(&job->offer, &part) && made;
  schema_write_key(&w, SPAN("schema"));
  schema_write_raw(&w, buf_span(&part));
  buf_done(&part);
  write_raw_answer(&w, job->text);
  write_fault(job, true, false, &w);
  schema_write_object_end(&w);
  return made && !out->failed;
}
