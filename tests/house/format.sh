#!/bin/sh
# Every C file is as clang-format would write it (version 14, Debian 12's).
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
cd "$1" && git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
