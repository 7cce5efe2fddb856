#!/bin/sh
# run.sh TARGET SECONDS: fuzzes for that long from the vectors' inputs; fails on the first finding,
# whose input is left beside the target.
set -eu
here=$(dirname "$0")
name=$(basename "$1" | sed 's/^fuzz_//')
corpus=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf "$corpus" "$log"' EXIT
python3 "$here/seeds.py" "$name" "$corpus"
"$1" -max_total_time="$2" -max_len=65536 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$(dirname "$1")/" "$corpus" >"$log" 2>&1 ||
  { tail -n 60 "$log"; exit 1; }
grep -E 'stat::number_of_executed_units|[0-9][[:space:]]+DONE' "$log" || true
