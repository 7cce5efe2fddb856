#!/usr/bin/env python3
"""embed.py OUT.c NAME=FILE …: writes the files into a C table, in the order given (embedded.h)."""
import sys

out = ["/* made by embed.py */", '#include "onebot/sandbox/embedded.h"', ""]
rows = []
for n, argument in enumerate(sys.argv[2:]):
    name, path = argument.split("=", 1)
    data = open(path, "rb").read()
    out.append(f"static const unsigned char file_{n}[] = {{")
    for at in range(0, len(data), 24):
        out.append(" ".join(f"{byte}," for byte in data[at:at + 24]))
    out.append("0 };")  # the table's length does not count it
    rows.append(f'  {{ "{name}", file_{n}, {len(data)} }},')
out += ["", "const struct ob_embedded ob_embedded[] = {", *rows, "};",
        f"const size_t ob_embedded_count = {len(rows)};", ""]
with open(sys.argv[1], "w", encoding="ascii") as f:
    f.write("\n".join(out))
