#include "plugin/media/media_type.h"

#include <magic.h>
#include <stdio.h>

struct signature {
  uint8_t at; /* where the bytes stand */
  struct span bytes;
  enum rg_media_class class;
  const char *mime;
};

/* First match counts: brands of ISO media files before the general mp4 row. */
static const struct signature signatures[] = {
  { 0, SPAN_INIT("\x89PNG\r\n\x1a\n"), RG_MEDIA_IMAGE, "image/png" },
  { 0, SPAN_INIT("\xff\xd8\xff"), RG_MEDIA_IMAGE, "image/jpeg" },
  { 0, SPAN_INIT("GIF87a"), RG_MEDIA_IMAGE, "image/gif" },
  { 0, SPAN_INIT("GIF89a"), RG_MEDIA_IMAGE, "image/gif" },
  { 8, SPAN_INIT("WEBP"), RG_MEDIA_IMAGE, "image/webp" },
  { 8, SPAN_INIT("WAVE"), RG_MEDIA_AUDIO, "audio/wav" },
  { 8, SPAN_INIT("AVI "), RG_MEDIA_VIDEO, "video/x-msvideo" },
  { 4, SPAN_INIT("ftypavif"), RG_MEDIA_IMAGE, "image/avif" },
  { 4, SPAN_INIT("ftypavis"), RG_MEDIA_IMAGE, "image/avif" },
  { 4, SPAN_INIT("ftypheic"), RG_MEDIA_IMAGE, "image/heic" },
  { 4, SPAN_INIT("ftypheix"), RG_MEDIA_IMAGE, "image/heic" },
  { 4, SPAN_INIT("ftypheim"), RG_MEDIA_IMAGE, "image/heic" },
  { 4, SPAN_INIT("ftypheis"), RG_MEDIA_IMAGE, "image/heic" },
  { 4, SPAN_INIT("ftyphevc"), RG_MEDIA_IMAGE, "image/heic" },
  { 4, SPAN_INIT("ftypmif1"), RG_MEDIA_IMAGE, "image/heif" },
  { 4, SPAN_INIT("ftypmsf1"), RG_MEDIA_IMAGE, "image/heif" },
  { 4, SPAN_INIT("ftypM4A "), RG_MEDIA_AUDIO, "audio/mp4" },
  { 4, SPAN_INIT("ftypM4B "), RG_MEDIA_AUDIO, "audio/mp4" },
  { 4, SPAN_INIT("ftyp"), RG_MEDIA_VIDEO, "video/mp4" },
  { 0, SPAN_INIT("\x1a\x45\xdf\xa3"), RG_MEDIA_VIDEO, "video/webm" },
  { 0, SPAN_INIT("OggS"), RG_MEDIA_AUDIO, "audio/ogg" },
  { 0, SPAN_INIT("fLaC"), RG_MEDIA_AUDIO, "audio/flac" },
  { 0, SPAN_INIT("ID3"), RG_MEDIA_AUDIO, "audio/mpeg" },
  { 0, SPAN_INIT("#!AMR\n"), RG_MEDIA_AUDIO, "audio/amr" },
  { 0, SPAN_INIT("#!AMR-WB\n"), RG_MEDIA_AUDIO, "audio/amr-wb" },
  { 0, SPAN_INIT("\x02#!SILK_V3"), RG_MEDIA_AUDIO, "audio/silk" }, /* QQ's own voice format */
  { 0, SPAN_INIT("#!SILK_V3"), RG_MEDIA_AUDIO, "audio/silk" },
  { 0, SPAN_INIT("%PDF-"), RG_MEDIA_OTHER, "application/pdf" },
};

static bool matches(struct span head, const struct signature *s)
{
  if (head.len < s->at + s->bytes.len) return false;
  /* WEBP, WAVE and AVI stand behind a RIFF head with its size */
  if (s->at == 8 && memcmp(head.ptr, "RIFF", 4) != 0) return false;
  return memcmp(head.ptr + s->at, s->bytes.ptr, s->bytes.len) == 0;
}

/* A frame of MPEG audio, layer II or III, without an ID3 head: eleven sync bits, no reserved
 * version, bit rate or sample rate. (Layer I would be a UTF-16 mark as well.) */
static bool is_mpeg_audio(struct span head)
{
  const unsigned char *b = (const unsigned char *)head.ptr;
  return head.len >= 4 && b[0] == 0xff && (b[1] & 0xe0) == 0xe0 && (b[1] & 0x18) != 0x08 &&
         ((b[1] & 0x06) == 0x02 || (b[1] & 0x06) == 0x04) && (b[2] & 0xf0) != 0xf0 &&
         (b[2] & 0x0c) != 0x0c;
}

/* "BM", the file's size is not checked (writers get it wrong), the header's size is a known one. */
static bool is_bmp(struct span head)
{
  return head.len >= 18 && memcmp(head.ptr, "BM", 2) == 0 &&
         (head.ptr[14] == 12 || head.ptr[14] == 40 || head.ptr[14] == 52 || head.ptr[14] == 56 ||
          head.ptr[14] == 64 || head.ptr[14] == 108 || head.ptr[14] == 124) &&
         head.ptr[15] == 0 && head.ptr[16] == 0 && head.ptr[17] == 0;
}

static struct rg_media_type type_of(enum rg_media_class class, const char *mime)
{
  struct rg_media_type t = { .class = class };
  snprintf(t.mime, sizeof t.mime, "%s", mime);
  return t;
}

static enum rg_media_class class_of_mime(const char *mime)
{
  static const struct {
    const char *prefix;
    enum rg_media_class class;
  } rows[] = {
    { "application/octet-stream", RG_MEDIA_UNKNOWN },
    { "application/x-empty", RG_MEDIA_UNKNOWN },
    { "inode/", RG_MEDIA_UNKNOWN },
    { "image/svg", RG_MEDIA_OTHER }, /* no chat shows it as a picture */
    { "image/", RG_MEDIA_IMAGE },
    { "audio/", RG_MEDIA_AUDIO },
    { "video/", RG_MEDIA_VIDEO },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strncmp(mime, rows[i].prefix, strlen(rows[i].prefix)) == 0) return rows[i].class;
  return RG_MEDIA_OTHER;
}

static const char *ask_magic(struct span head, struct rg_magic *magic)
{
  if (!magic) return NULL;
  if (!magic->tried) {
    magic->tried = true;
    magic_t m = magic_open(MAGIC_MIME_TYPE);
    if (m && magic_load(m, NULL) != 0) {
      magic_close(m);
      m = NULL;
    }
    magic->cookie = m;
  }
  return magic->cookie ? magic_buffer(magic->cookie, head.ptr, head.len) : NULL;
}

struct rg_media_type rg_media_type_of(struct span head, struct rg_magic *magic)
{
  if (head.len == 0) return type_of(RG_MEDIA_UNKNOWN, "");
  if (head.len > RG_MEDIA_HEAD) head.len = RG_MEDIA_HEAD;
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
    if (matches(head, &signatures[i])) return type_of(signatures[i].class, signatures[i].mime);
  if (is_bmp(head)) return type_of(RG_MEDIA_IMAGE, "image/bmp");
  if (is_mpeg_audio(head)) return type_of(RG_MEDIA_AUDIO, "audio/mpeg");
  const char *mime = ask_magic(head, magic);
  enum rg_media_class class = mime ? class_of_mime(mime) : RG_MEDIA_UNKNOWN;
  return type_of(class, class == RG_MEDIA_UNKNOWN ? "" : mime);
}

void rg_magic_done(struct rg_magic *magic)
{
  if (magic->cookie) magic_close(magic->cookie);
  *magic = (struct rg_magic) { 0 };
}

bool rg_media_type_fits(const struct rg_media_type *t, enum schema_type segment)
{
  static const enum rg_media_class wanted[SCHEMA_TYPE_COUNT] = {
    [SCHEMA_IMAGE] = RG_MEDIA_IMAGE,
    [SCHEMA_AUDIO] = RG_MEDIA_AUDIO,
    [SCHEMA_VIDEO] = RG_MEDIA_VIDEO,
  };
  if (segment == SCHEMA_FILE) return t->class != RG_MEDIA_UNKNOWN;
  return wanted[segment] != RG_MEDIA_UNKNOWN && wanted[segment] == t->class;
}
