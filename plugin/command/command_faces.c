/* command_faces: `replygate faces [TEXT]`: looks reactions up. */
#include <stdio.h>

#include "onebot/face.h"
#include "plugin/command/command.h"

static void print_face(const struct ob_face *face)
{
  printf("%s\t%s\t%s\t%s\n", face->id, face->name, face->type == 2 ? "emoji" : "face",
         face->proven ? "proven" : "unproven");
}

static void print_handy(void)
{
  for (size_t i = 0; i < ob_face_handy_count; i++) {
    const struct ob_face *face = ob_face_find(span_of(ob_faces_handy[i]), true);
    if (face) print_face(face);
  }
}

/* Every row that a text may mean: the one it is looked up as, then those whose name holds it. */
static size_t print_matches(struct span text)
{
  const struct ob_face *exact = ob_face_find(text, true);
  size_t count = exact != NULL;
  if (exact) print_face(exact);
  for (size_t i = 0; i < ob_face_count; i++) {
    struct span name = span_of(ob_faces[i].name);
    if (&ob_faces[i] == exact || span_find(name, text) >= name.len) continue;
    print_face(&ob_faces[i]);
    count++;
  }
  return count;
}

static const char usage[] =
    "usage: replygate faces [TEXT]\n"
    "  TEXT: an id, a name or a part of one, or an emoji; without it the handy ones\n"
    "  prints: id, name, face or emoji, proven to work or not\n";

int rg_command_faces(int argc, char **argv)
{
  if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
    return rg_command_usage(usage, rg_command_asks_help(argc, argv));
  if (argc < 2) {
    print_handy();
    return 0;
  }
  struct span text = span_trim(span_of(argv[1]));
  if (text.len > 0 && print_matches(text) > 0) return 0;
  fprintf(stderr, "replygate faces: nothing is called that\n");
  return RG_EXIT_FAULT;
}
