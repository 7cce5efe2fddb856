#!/bin/sh
# Exactly the listed symbols leave replygate.so; a sanitizer's own are passed over.
here=$(dirname "$0")
nm -D --defined-only "$1" | awk '{print $3}' | grep -v -e '^__asan' -e '^__ubsan' -e '^__odr' -e '^_init$' -e '^_fini$' |
  sort | diff "$here/exports.txt" - || { echo "replygate.so exports something else than exports.txt says"; exit 1; }
