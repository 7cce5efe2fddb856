#!/usr/bin/env python3
"""seeds.py NAME FOLDER: writes the first inputs of a fuzz target, taken from the vectors."""
import base64
import json
import os
import sys

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "vectors")

# target: files and, for each, how a row becomes bytes
def text(key):
    return lambda row: row[key].encode("utf-8", "surrogatepass") if isinstance(row.get(key), str) else None


def whole(key):
    return lambda row: json.dumps(row[key], ensure_ascii=False).encode("utf-8", "surrogatepass") if key in row else None


def reply_input(row):
    if "input_b64" in row:
        return base64.b64decode(row["input_b64"])
    return text("input")(row)


SOURCES = {
    "json": [("replies", reply_input), ("plan", whole("reply")), ("event", whole("event"))],
    "reply": [("replies", reply_input)],
    "verdict": [("replies", reply_input)],
    "residue": [("replies", reply_input)],
    "directive": [("rich_output", text("text"))],
    "portable": [("response_schema", whole("schema"))],
    "config": [("config", text("config_text"))],
    "command": [("command", whole("event"))],
    "plan": [("plan", whole("reply"))],
    "action": [("action", whole("action"))],
    "event": [("event", whole("event"))],
}


def main():
    name, folder = sys.argv[1:3]
    count = 0
    for source, make in SOURCES.get(name, []):
        with open(os.path.join(VECTORS, source + ".jsonl"), encoding="utf-8") as lines:
            for line in lines:
                seed = make(json.loads(line))
                if seed is not None and len(seed) < 65536:
                    with open(os.path.join(folder, "%s-%d" % (source, count)), "wb") as out:
                        out.write(seed)
                    count += 1


if __name__ == "__main__":
    main()
