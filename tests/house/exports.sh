#!/bin/sh
# Exactly the listed symbols leave replygate.so (Node's two only where it was built for Node), and
# nothing of Node is needed to load it; a sanitizer's own symbols are passed over. Nor is the hook in it
# by which the crash test kills a process.
# exports.sh REPLYGATE.SO yes|no
here=$(dirname "$0")
fault=0
[ "$2" = yes ] && but='^$' || but='^n.*api_'
nm -D --defined-only "$1" | awk '{print $3}' | grep -v -e '^__asan' -e '^__ubsan' -e '^__odr' -e '^_init$' -e '^_fini$' |
  sort >"/tmp/exports.$$"
grep -v -e "$but" "$here/exports.txt" | diff - "/tmp/exports.$$" || { echo "replygate.so exports something else than exports.txt says"; fault=1; }
rm -f "/tmp/exports.$$"
nm -D -u "$1" | grep -E ' U n(ode_)?api_' && { echo "replygate.so needs Node: these must be weak"; fault=1; }
grep -q RG_CRASH "$1" && { echo "replygate.so has the crash points of the tests"; fault=1; }
exit $fault
