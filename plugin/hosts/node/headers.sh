#!/bin/sh
# Brings the headers of Node-API, pinned by package-lock.json, for the build of replygate.so, unless
# they are there already. Where npm is missing or fails, the build goes on without Node.
cd "$(dirname "$0")" || exit 1
want=$(cksum <package-lock.json)
[ "$(cat node_modules/.replygate 2>/dev/null)" = "$want" ] && exit 0
command -v npm >/dev/null || { echo "npm is missing: replygate.so is built without Node"; exit 0; }
npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=silent \
  --fetch-retries=1 --fetch-timeout=20000 >/dev/null ||
  { echo "npm cannot get Node's headers: replygate.so is built without Node"; exit 0; }
echo "$want" >node_modules/.replygate
