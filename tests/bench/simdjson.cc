// The peer simdjson (Debian's libsimdjson-dev): On-Demand with a hand-written walk of the closed
// schema. It judges and builds nothing. type has to stand before data.
#include <simdjson.h>
#include <string_view>

#include "contender.h"

using namespace simdjson::ondemand;
using text = std::string_view;

static bool is_one_of(text word, std::initializer_list<text> words)
{
  for (text other : words)
    if (word == other) return true;
  return false;
}

static bool is_reaction(text word)
{
  return word.empty() ||
         is_one_of(word, { "4",   "5",   "8",   "9",   "10",  "12",  "14",  "21",  "23",  "26",
                           "66",  "74",  "75",  "76",  "78",  "79",  "85",  "89",  "96",  "98",
                           "100", "124", "144", "147", "171", "174", "179", "182", "212" });
}

// an object of exactly these strings
static bool is_record(object o, text first, text second)
{
  unsigned seen = 0;
  for (auto field : o) {
    text key, value;
    if (field.unescaped_key().get(key) || field.value().get_string().get(value)) return false;
    if (key == first)
      seen |= 1;
    else if (!second.empty() && key == second)
      seen |= 2;
    else
      return false;
  }
  return seen == (second.empty() ? 1u : 3u);
}

static bool is_media(object data)
{
  unsigned seen = 0;
  for (auto field : data) {
    text key;
    object media;
    if (field.unescaped_key().get(key) || key != "media" || field.value().get_object().get(media))
      return false;
    for (auto member : media) {
      text name, value;
      if (member.unescaped_key().get(name) || member.value().get_string().get(value)) return false;
      if (name == "kind" && is_one_of(value, { "url", "path", "base64", "file" }))
        seen |= 1;
      else if (name == "value")
        seen |= 2;
      else
        return false;
    }
  }
  return seen == 3;
}

static bool is_keyboard(object data)
{
  bool seen = false;
  for (auto field : data) {
    text key;
    array rows, row;
    object button;
    if (field.unescaped_key().get(key) || key != "rows" || field.value().get_array().get(rows))
      return false;
    for (auto r : rows) {
      int count = 0;
      if (r.get_array().get(row)) return false;
      for (auto b : row)
        if (++count > 5 || b.get_object().get(button) || !is_record(button, "label", "payload"))
          return false;
    }
    seen = true;
  }
  return seen;
}

static bool is_empty(object data)
{
  for (auto field : data) {
    (void)field;
    return false;
  }
  return true;
}

static bool is_data(text type, object data)
{
  switch (type.size()) {
  case 3: return type == "rps" && is_empty(data);
  case 4:
    if (type == "text") return is_record(data, "text", {});
    if (type == "file") return is_media(data);
    return type == "dice" && is_empty(data);
  case 5:
    if (type == "share") return is_record(data, "url", "title");
    return is_one_of(type, { "image", "audio", "video" }) && is_media(data);
  case 7: return type == "mention" && is_record(data, "target", {});
  case 8:
    if (type == "markdown") return is_record(data, "content", {});
    return type == "keyboard" && is_keyboard(data);
  default: return false;
  }
}

static bool is_segment(object segment)
{
  text type, key;
  unsigned seen = 0;
  for (auto field : segment) {
    object data;
    if (field.unescaped_key().get(key)) return false;
    if (key == "type") {
      if (field.value().get_string().get(type)) return false;
      seen |= 1;
    } else if (key == "data" && seen & 1) {
      if (field.value().get_object().get(data) || !is_data(type, data)) return false;
      seen |= 2;
    } else {
      return false;
    }
  }
  return seen == 3;
}

static bool is_message(object message)
{
  bool seen = false;
  for (auto field : message) {
    text key;
    array segments;
    object segment;
    if (field.unescaped_key().get(key) || key != "segments" ||
        field.value().get_array().get(segments))
      return false;
    for (auto item : segments)
      if (item.get_object().get(segment) || !is_segment(segment)) return false;
    seen = true;
  }
  return seen;
}

static bool is_reply(document &root)
{
  object reply, message;
  bool seen = false;
  if (root.get_object().get(reply)) return false;
  for (auto field : reply) {
    text key, reaction;
    array messages;
    if (field.unescaped_key().get(key)) return false;
    if (key == "messages") {
      if (field.value().get_array().get(messages)) return false;
      for (auto item : messages)
        if (item.get_object().get(message) || !is_message(message)) return false;
      seen = true;
    } else if (key != "reaction" || field.value().get_string().get(reaction) ||
               !is_reaction(reaction)) {
      return false;
    }
  }
  return seen && root.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

static simdjson::ondemand::parser *reader;

static int init(const char *)
{
  if (!reader) reader = new parser;
  return 0;
}

static int run(const unsigned char *p, size_t n)
{
  document root;
  if (reader->iterate(reinterpret_cast<const char *>(p), n, n + simdjson::SIMDJSON_PADDING).get(root))
    return 0;
  return is_reply(root);
}

static const contender contenders[] = { { "simdjson", "validate", init, run } };

const contender *bench_contenders(int *count)
{
  *count = 1;
  return contenders;
}
