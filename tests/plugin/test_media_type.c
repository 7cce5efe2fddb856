#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/media/media_type.h"

static const struct {
  struct span head;
  enum rg_media_class class;
  const char *mime;
} rows[] = {
  { SPAN_INIT("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), RG_MEDIA_IMAGE, "image/png" },
  { SPAN_INIT("\xff\xd8\xff\xe0\0\x10JFIF"), RG_MEDIA_IMAGE, "image/jpeg" },
  { SPAN_INIT("GIF87a...."), RG_MEDIA_IMAGE, "image/gif" },
  { SPAN_INIT("GIF89a...."), RG_MEDIA_IMAGE, "image/gif" },
  { SPAN_INIT("RIFF\x24\0\0\0WEBPVP8 "), RG_MEDIA_IMAGE, "image/webp" },
  { SPAN_INIT("RIFF\x24\0\0\0WAVEfmt "), RG_MEDIA_AUDIO, "audio/wav" },
  { SPAN_INIT("RIFF\x24\0\0\0AVI LIST"), RG_MEDIA_VIDEO, "video/x-msvideo" },
  { SPAN_INIT("XXXX\x24\0\0\0WAVEfmt "), RG_MEDIA_UNKNOWN, "" },
  { SPAN_INIT("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"), RG_MEDIA_IMAGE, "image/bmp" },
  { SPAN_INIT("BMW is a car, not a picture"), RG_MEDIA_UNKNOWN, "" },
  { SPAN_INIT("\0\0\0\x1c"
              "ftypavif\0\0\0\0"),
    RG_MEDIA_IMAGE, "image/avif" },
  { SPAN_INIT("\0\0\0\x1c"
              "ftypheic\0\0\0\0"),
    RG_MEDIA_IMAGE, "image/heic" },
  { SPAN_INIT("\0\0\0\x1c"
              "ftypM4A \0\0\0\0"),
    RG_MEDIA_AUDIO, "audio/mp4" },
  { SPAN_INIT("\0\0\0\x1c"
              "ftypisom\0\0\0\0"),
    RG_MEDIA_VIDEO, "video/mp4" },
  { SPAN_INIT("\x1a\x45\xdf\xa3....webm"), RG_MEDIA_VIDEO, "video/webm" },
  { SPAN_INIT("OggS\0\x02"), RG_MEDIA_AUDIO, "audio/ogg" },
  { SPAN_INIT("fLaC\0\0\0\x22"), RG_MEDIA_AUDIO, "audio/flac" },
  { SPAN_INIT("ID3\x04\0\0\0\0\0\0"), RG_MEDIA_AUDIO, "audio/mpeg" },
  { SPAN_INIT("\xff\xfb\x90\x64\0\0"), RG_MEDIA_AUDIO, "audio/mpeg" },
  { SPAN_INIT("\xff\xfeh\0i\0"), RG_MEDIA_UNKNOWN, "" }, /* UTF-16 text, not a frame of layer I */
  { SPAN_INIT("#!AMR\n\x3c"), RG_MEDIA_AUDIO, "audio/amr" },
  { SPAN_INIT("#!AMR-WB\n\x3c"), RG_MEDIA_AUDIO, "audio/amr-wb" },
  { SPAN_INIT("\x02#!SILK_V3\x1a"), RG_MEDIA_AUDIO, "audio/silk" },
  { SPAN_INIT("#!SILK_V3\x1a"), RG_MEDIA_AUDIO, "audio/silk" },
  { SPAN_INIT("%PDF-1.7"), RG_MEDIA_OTHER, "application/pdf" },
  { SPAN_INIT("#!/bin/sh\n"), RG_MEDIA_UNKNOWN, "" },
  { SPAN_INIT(""), RG_MEDIA_UNKNOWN, "" },
};

Test(media_type, knows_its_own_rows_without_libmagic)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct rg_media_type t = rg_media_type_of(rows[i].head, NULL);
    cr_expect_eq(t.class, rows[i].class, "row %zu", i);
    cr_expect_str_eq(t.mime, rows[i].mime, "row %zu", i);
  }
}

/* Every beginning of every row, byte by byte: nothing is read behind the end (the sanitizers see). */
Test(media_type, short_heads_are_read_to_their_end_only)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t n = 0; n <= rows[i].head.len; n++) {
      char *copy = malloc(n ? n : 1);
      memcpy(copy, rows[i].head.ptr, n);
      rg_media_type_of((struct span) { copy, n }, NULL);
      free(copy);
    }
}

Test(media_type, libmagic_knows_the_rest)
{
  struct rg_magic magic = { 0 };
  struct rg_media_type text = rg_media_type_of(SPAN("just a few words of text\n"), &magic);
  cr_expect_eq(text.class, RG_MEDIA_OTHER);
  cr_expect_str_eq(text.mime, "text/plain");
  struct rg_media_type svg =
      rg_media_type_of(SPAN("<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>"), &magic);
  cr_expect_neq(svg.class, RG_MEDIA_IMAGE);
  struct rg_media_type noise = rg_media_type_of(SPAN("\x01\x02\x03\x04\xf9\x80\xc0\xc1"), &magic);
  cr_expect_eq(noise.class, RG_MEDIA_UNKNOWN);
  rg_magic_done(&magic);
}

Test(media_type, fits_by_class)
{
  static const struct {
    enum rg_media_class class;
    bool image, audio, video, file;
  } fits[] = {
    { RG_MEDIA_UNKNOWN, false, false, false, false }, { RG_MEDIA_IMAGE, true, false, false, true },
    { RG_MEDIA_AUDIO, false, true, false, true },     { RG_MEDIA_VIDEO, false, false, true, true },
    { RG_MEDIA_OTHER, false, false, false, true },
  };
  for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
    struct rg_media_type t = { .class = fits[i].class };
    cr_expect_eq(rg_media_type_fits(&t, SCHEMA_IMAGE), fits[i].image, "row %zu", i);
    cr_expect_eq(rg_media_type_fits(&t, SCHEMA_AUDIO), fits[i].audio, "row %zu", i);
    cr_expect_eq(rg_media_type_fits(&t, SCHEMA_VIDEO), fits[i].video, "row %zu", i);
    cr_expect_eq(rg_media_type_fits(&t, SCHEMA_FILE), fits[i].file, "row %zu", i);
    cr_expect(!rg_media_type_fits(&t, SCHEMA_TEXT), "row %zu", i);
  }
}

static const struct {
  const char *file;
  enum schema_type type;
  const char *mime;
} files[] = {
  { "picture.png", SCHEMA_IMAGE, "image/png" },    { "picture.jpg", SCHEMA_IMAGE, "image/jpeg" },
  { "picture.gif", SCHEMA_IMAGE, "image/gif" },    { "picture.bmp", SCHEMA_IMAGE, "image/bmp" },
  { "picture.webp", SCHEMA_IMAGE, "image/webp" },  { "picture.avif", SCHEMA_IMAGE, "image/avif" },
  { "picture.heic", SCHEMA_IMAGE, "image/heic" },  { "sound.wav", SCHEMA_AUDIO, "audio/wav" },
  { "sound.mp3", SCHEMA_AUDIO, "audio/mpeg" },     { "frames.mp3", SCHEMA_AUDIO, "audio/mpeg" },
  { "sound.ogg", SCHEMA_AUDIO, "audio/ogg" },      { "sound.flac", SCHEMA_AUDIO, "audio/flac" },
  { "sound.m4a", SCHEMA_AUDIO, "audio/mp4" },      { "sound.amr", SCHEMA_AUDIO, "audio/amr" },
  { "film.mp4", SCHEMA_VIDEO, "video/mp4" },       { "film.webm", SCHEMA_VIDEO, "video/webm" },
  { "film.avi", SCHEMA_VIDEO, "video/x-msvideo" },
};

/* What real encoders wrote; each is of its class and of no other. */
Test(media_type, knows_real_files)
{
  const char *tests = getenv("RG_TESTS");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char name[512], bytes[16384];
    snprintf(name, sizeof name, "%s/data/media/%s", tests ? tests : "tests", files[i].file);
    FILE *f = fopen(name, "rb");
    cr_assert(f, "%s", name);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    struct rg_media_type t = rg_media_type_of((struct span) { bytes, n }, NULL);
    cr_expect_str_eq(t.mime, files[i].mime, "%s", files[i].file);
    static const enum schema_type types[] = { SCHEMA_IMAGE, SCHEMA_AUDIO, SCHEMA_VIDEO };
    for (size_t k = 0; k < 3; k++)
      cr_expect_eq(rg_media_type_fits(&t, types[k]), types[k] == files[i].type, "%s",
                   files[i].file);
    cr_expect(rg_media_type_fits(&t, SCHEMA_FILE), "%s", files[i].file);
  }
}
