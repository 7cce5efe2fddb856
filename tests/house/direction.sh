#!/bin/sh
# plugin -> onebot -> schema, never back; and schema/ needs no file, socket, clock, thread or log.
# direction.sh SOURCE_ROOT libschema.a libonebot.a
set -u
fault=0
bad() { echo "$1"; fault=1; }

grep -nE '#include "(onebot|plugin)/' "$1"/schema/*.[ch] && bad "schema/ includes from above"
grep -rnE '#include "plugin/' --include='*.[ch]' "$1/onebot" && bad "onebot/ includes plugin/"
nm -u "$2" | grep -E ' (ob|rg|lws)_' && bad "libschema needs a symbol from above"
nm -u "$3" | grep -E ' rg_' && bad "libonebot needs a symbol of plugin/"
nm -u "$2" | awk '{print $2}' | grep -xE \
  'f?open(at)?|creat|read|write|f?close|fread|fwrite|f?printf|puts|perror|socket|connect|bind|listen|accept|send|recv|poll|select|time|gettimeofday|clock(_gettime)?|nanosleep|u?sleep|pthread_.*|thrd_.*|mtx_.*|syslog|getenv|rand|random|std(out|err|in)' \
  && bad "libschema needs a file, socket, clock, thread or log symbol"
exit $fault
