/* store_redis: the store for several machines that share their bots' settings, talks and budgets: one
 * database of a Redis server (5 or newer). The journal is one machine's and is never here.
 *
 * Keys, all below "replygate:":
 *   replygate:overrides                hash: "GROUP KEY ENDPOINT" -> "TIME AUTHOR JSON"
 *   replygate:overrides:version        counts the changes of the hash
 *   replygate:talk:group:ID:ENDPOINT   list of JSON objects, the oldest line first; gone once all its
 *   replygate:talk:user:ID:ENDPOINT    lines are too old
 *   replygate:budget:DAY:NAME          tokens of one day (since 1970, UTC); gone two days later
 *   replygate:probe                    what doctor writes; gone after a minute
 * An endpoint of the same name is the same account on every machine: bots that have nothing to do with
 * each other take different database numbers.
 *
 * What is read is judged: entries of another form, not in UTF-8, or too large are passed over. */
#ifndef PLUGIN_STORE_STORE_REDIS_H
#define PLUGIN_STORE_STORE_REDIS_H

enum {
  RG_REDIS_VALUE_MAX = 64 * 1024, /* bytes of an entry; the largest that is written has 20,000 */
  RG_REDIS_LINES_MAX = 100,       /* of a talk; the most that agent.history allows */
};

#endif
