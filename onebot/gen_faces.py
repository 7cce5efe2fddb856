#!/usr/bin/env python3
"""gen_faces.py FACES.TSV OUT.C: the face table as C. Rows (id, name, usable, type) are sorted by
their number; an index lists them by name (ASCII letters in lower case), proven ones first, then by
number, so that the first hit is the one that is meant."""
import sys


def rows(path):
    seen = set()
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != 4 or not cells[0].isdecimal() or cells[0] in seen:
                sys.exit("%s:%d: wanted a new id, a name, 1 or unknown, and 1 or 2" % (path, number))
            if cells[2] not in ("1", "unknown") or cells[3] not in ("1", "2") or not cells[1]:
                sys.exit("%s:%d: usable is 1 or unknown, type 1 or 2" % (path, number))
            seen.add(cells[0])
            yield int(cells[0]), cells[1], cells[2] == "1", cells[3]


def lowered(name):
    return bytes(c + 32 if 65 <= c <= 90 else c for c in name.encode())


def literal(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def main():
    tsv, out = sys.argv[1:3]
    faces = sorted(rows(tsv))
    order = sorted(range(len(faces)), key=lambda i: (lowered(faces[i][1]), not faces[i][2], faces[i][0]))
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "onebot/face.h"\n\nconst struct ob_face ob_faces[] = {\n')
        for number, name, proven, kind in faces:
            f.write('  { "%d", %s, %s, %s },\n' % (number, literal(name), str(proven).lower(), kind))
        f.write("};\nconst size_t ob_face_count = %d;\nconst uint16_t ob_faces_by_name[] = {\n" % len(faces))
        f.writelines("  %d,\n" % i for i in order)
        f.write("};\n")


main()
