#!/usr/bin/env python3
"""embed.py OUT.c NAME=FILE …: writes each file as `const struct span rg_demo_NAME` (demo.h)."""
import sys

out = ["/* made by embed.py */", '#include "plugin/demo/demo.h"', ""]
for argument in sys.argv[2:]:
    name, path = argument.split("=", 1)
    data = open(path, "rb").read()
    out.append(f"static const unsigned char {name}[] = {{")
    for at in range(0, len(data), 24):
        out.append(" ".join(f"{byte}," for byte in data[at:at + 24]))
    out += ["0 };", f"const struct span rg_demo_{name} = {{ (const char *){name}, {len(data)} }};", ""]
with open(sys.argv[1], "w", encoding="ascii") as f:
    f.write("\n".join(out))
