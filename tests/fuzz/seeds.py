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


def rich_input(row):
    """Behind the byte that offers everything and has directives read."""
    words = text("text")(row)
    return None if words is None else b"\x11" + words


def framed_input(row):
    """What a framework sends for words; its length says how it is judged."""
    words = row.get("text")
    if not isinstance(words, str):
        return None
    frame = json.dumps({"action": "send_group_msg", "params": {"group_id": 1, "message": words}}, ensure_ascii=False)
    frame = frame.encode("utf-8", "surrogatepass")
    return frame + b" " * (-len(frame) % 4 + 3)


DIALECTS = ["openai", "mistral", "anthropic", "gemini", "ollama"]


def events(dialect, body):
    """The events of a stream that comes to a body, more or less."""
    if dialect == "anthropic":
        for block in body.get("content") or []:
            yield {"type": "content_block_start", "content_block": block}
        yield {"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}, "usage": body.get("usage")}
    elif dialect in ("openai", "mistral"):
        yield json.loads(json.dumps(body).replace('"message"', '"delta"'))
    else:
        yield dict(body, done=True)


def answer(stream):
    """The body of an answer, or a stream of it, behind its dialect and how it is cut."""

    def make(row):
        body = row.get("response_body")
        if not isinstance(body, dict):
            return None
        dialect = row["provider"].replace("gemini_vertex", "gemini")
        dialect = dialect if dialect in DIALECTS else "openai"
        text = json.dumps(body, ensure_ascii=False)
        if stream:
            lines = [json.dumps(e, ensure_ascii=False) for e in events(dialect, body)]
            text = "\n".join(lines) + "\n" if dialect == "ollama" else "".join("data: %s\n\n" % line for line in lines)
        return bytes([DIALECTS.index(dialect), 7]) + text.encode("utf-8", "surrogatepass")

    return make


SOURCES = {
    "json": [("replies", reply_input), ("plan", whole("reply")), ("event", whole("event"))],
    "reply": [("replies", reply_input)],
    "verdict": [("replies", reply_input), ("rich_output", rich_input)],
    "residue": [("replies", reply_input)],
    "directive": [("rich_output", text("text"))],
    "portable": [("response_schema", whole("schema"))],
    "config": [("config", text("config_text"))],
    "command": [("command", whole("event"))],
    "plan": [("plan", whole("reply"))],
    "action": [("action", whole("action")), ("rich_output", framed_input)],
    "event": [("event", whole("event"))],
    "provider": [("provider_answers", answer(False)), ("provider_answers", answer(True))],
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
