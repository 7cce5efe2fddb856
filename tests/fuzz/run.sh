#!/bin/sh
# run.sh TARGET SECONDS: fuzzes for that long from the vectors' inputs; fails on the first finding,
# whose input is left beside the target.
set -eu
here=$(dirname "$0")
name=$(basename "$1" | sed 's/^fuzz_//')
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
python3 "$here/seeds.py" "$name" "$corpus"
"$1" -max_total_time="$2" -max_len=65536 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$(dirname "$1")/" "$corpus" >"$corpus/../fuzz_$name.log" 2>&1 ||
  { tail -n 60 "$corpus/../fuzz_$name.log"; exit 1; }
grep -E 'stat::number_of_executed_units|DONE' "$corpus/../fuzz_$name.log" || true
rm -f "$corpus/../fuzz_$name.log"
