#!/usr/bin/env python3
"""readme.py PROGRAM SOURCE_ROOT [--write]: the tables of keys in README.md, README.zh.md and
config.example.yaml are what the program prints. --write puts them there."""
import difflib
import os
import subprocess
import sys

BEGIN, END = "<!-- reference -->\n", "<!-- /reference -->\n"


def printed(program, *arguments):
    return subprocess.run([program, "config", *arguments], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def main():
    program, root = sys.argv[1:3]
    write = "--write" in sys.argv
    wrong = False
    for name, language in (("README.md", "en"), ("README.zh.md", "zh"), ("config.example.yaml", None)):
        path = os.path.join(root, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if language is None:
            want = printed(program, "--example")
        else:
            head, rest = text.split(BEGIN)
            want = head + BEGIN + printed(program, "--reference", language) + END + rest.split(END)[1]
        if text == want:
            continue
        if write:
            with open(path, "w", encoding="utf-8") as f:
                f.write(want)
            continue
        wrong = True
        print("%s is not what the table of keys says; tests/house/readme.py PROGRAM . --write mends it" % name)
        print("".join(list(difflib.unified_diff(text.splitlines(1), want.splitlines(1), name, "printed"))[:20]))
    sys.exit(wrong)


if __name__ == "__main__":
    main()
