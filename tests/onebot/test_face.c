#include <criterion/criterion.h>
#include <stdlib.h>

#include "onebot/face.h"

Test(face, table_is_in_order)
{
  cr_assert_eq(ob_face_count, 496);
  for (size_t i = 0; i < ob_face_count; i++) {
    cr_expect(ob_faces[i].type == 1 || ob_faces[i].type == 2, "%s", ob_faces[i].id);
    cr_expect_eq(ob_face_find(span_of(ob_faces[i].id), true), &ob_faces[i], "%s", ob_faces[i].id);
    if (i) cr_expect_lt(atol(ob_faces[i - 1].id), atol(ob_faces[i].id), "%s", ob_faces[i].id);
  }
}

Test(face, every_name_is_found_and_the_best_row_is_meant)
{
  for (size_t i = 0; i < ob_face_count; i++) {
    struct span name = span_of(ob_faces[i].name);
    const struct ob_face *found = ob_face_find(name, true);
    bool digits = strspn(ob_faces[i].name, "0123456789") == name.len;
    if (digits) continue;
    cr_assert_not_null(found, "%s", ob_faces[i].name);
    cr_expect(span_eq_nocase(span_of(found->name), name), "%s", ob_faces[i].name);
    cr_expect(found->proven || !ob_faces[i].proven, "%s", ob_faces[i].name);
    if (found->proven == ob_faces[i].proven) cr_expect_leq(atol(found->id), atol(ob_faces[i].id));
    if (ob_faces[i].proven) cr_expect_eq(ob_face_find(name, false), found, "%s", ob_faces[i].name);
  }
}

Test(face, handy_ones_are_proven)
{
  cr_assert_geq(ob_face_handy_count, 50);
  for (size_t i = 0; i < ob_face_handy_count; i++) {
    cr_expect_not_null(ob_face_find(span_of(ob_faces_handy[i]), false), "%s", ob_faces_handy[i]);
    for (size_t k = 0; k < i; k++) cr_expect_str_neq(ob_faces_handy[i], ob_faces_handy[k]);
  }
}

Test(face, looks_values_up)
{
  static const struct {
    const char *value;
    bool unproven;
    const char *id; /* NULL: none */
  } rows[] = {
    { "76", false, "76" },       { " 76\n", false, "76" },
    { "076", false, NULL },      { "0", true, "0" },
    { "0", false, NULL },        { "/赞", false, "76" },
    { "//赞", false, NULL },     { "OK", false, "124" },
    { "oK", false, "124" },      { "/ok", false, "124" },
    { "NO", false, "123" },      { "赞 ", false, "76" },
    { "👍", false, "128077" },    { "👍\xEF\xB8\x8F", false, "128077" },
    { "👍🏽", false, NULL }, { "🇨🇳", false, NULL },
    { "1️⃣", false, NULL },  { "a", false, NULL },
    { "", false, NULL },         { "/", false, NULL },
    { "\xFF", false, NULL },     { "76.0", false, NULL },
    { "-1", false, NULL },       { "99999999999999999999", false, NULL },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct ob_face *face = ob_face_find(span_of(rows[i].value), rows[i].unproven);
    if (rows[i].id)
      cr_expect(face && strcmp(face->id, rows[i].id) == 0, "'%s': %s", rows[i].value,
                face ? face->id : "none");
    else
      cr_expect_null(face, "'%s'", rows[i].value);
  }
  cr_expect_null(ob_face_find((struct span) { NULL, 0 }, true));
}
