#!/bin/sh
# Installs the pinned npm packages of the tests, unless they are there already.
set -e
cd "$(dirname "$0")/.."
want=$(cksum <package-lock.json)
[ "$(cat node_modules/.replygate 2>/dev/null)" = "$want" ] && exit 0
npm ci --no-audit --no-fund --loglevel=error
echo "$want" >node_modules/.replygate
