#!/usr/bin/env python3
"""score_protocol.py CASES.jsonl… -- COMMAND…   runs `COMMAND eval KIND` on the cases of the source protocols
(rich_output, remote_media, response_schema, provider_*) and compares by the rules at the head of their specifications.

A row whose tier or basis leaves the answer open (quirk, ambiguous, limit) only has to be answered. Prints each row that is
wrong, `right/total` of each class of rows, and last those of the file; exit 0 when all are right."""
import json
import re
import subprocess
import sys

OPEN = ("quirk", "ambiguous", "limit")  # any answer will do, but there must be one
FILE_KIND = {"provider_answers": "provider_answer", "provider_requests": "provider_request",
             "provider_stream_cases": "provider_stream", "provider_http_cases": "provider_http"}
EVAL_KIND = {"portable_text": "portable", "mismatch": "fit"}
# never an input: what a case expects, and what people read of it
NOT_INPUT = ("kind", "tier", "basis", "rules", "requires", "expect", "accepted", "renderable", "same", "normative",
             "text_match", "note", "why", "ok", "ok_strict", "stage", "oracle", "source", "jsonschema", "rfc8259",
             "fragment", "unsupported", "retryable", "error", "hold_error", "released_by_hold", "passed_through")
SHORT = {"local_media": "accepted", "remote_media": "accepted", "embed_url": "renderable", "media_same": "same"}


def expected(case):
    """The members that must be in the output."""
    kind = case["kind"]
    if kind == "mismatch":
        want = {"ok": case["ok_strict"]}
        if not case["ok_strict"] and case["stage"] == "schema" and case["rfc8259"]:
            want["path"] = case["path"]
        return want
    if kind.startswith("portable"):
        return {"ok": case["ok"]} if case["ok"] else {"ok": False, "path": case["path"]}
    if kind == "provider_answer":
        ok = case["expect"] == "ok"
        return {k: case[k] for k in (("expect", "checked", "content") if ok else ("expect",))}
    if kind == "provider_request":
        return {"fragment": case["fragment"]} if "fragment" in case else {"reason": "unsupported"}
    if kind == "provider_stream":
        return {"reason": case["hold_error"], "released": case["released_by_hold"]}
    if kind == "provider_http":
        return {"retryable": case["retryable"]}
    if kind in SHORT:
        return {SHORT[kind]: case[SHORT[kind]]}
    want = case["expect"]
    return {k: want[k] for k in case.get("normative", want) if k in want}


def text(value, match):
    if not isinstance(value, str) or match == "exact":
        return value
    return re.sub(r"\s+", " " if match == "ws" else "", value)


def same(a, b):
    """Equal as JSON values: 1 and true differ."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def fits(case, out):
    match = case.get("text_match", "exact")
    for key, want in expected(case).items():
        if key not in out:
            return False
        got = out[key]
        if key == "text":
            want, got = text(want, match), text(got, match)
        if not same(want, got):
            return False
    return True


def class_of(case):
    return case.get("tier") or case.get("basis") or "core"


def run(command, kind, cases):
    lines = "".join(json.dumps({k: v for k, v in c.items() if k not in NOT_INPUT}) + "\n" for c in cases)
    done = subprocess.run(command + ["eval", kind], input=lines, stdout=subprocess.PIPE, encoding="utf-8",
                          errors="replace", timeout=600)
    outs = {}
    for line in done.stdout.split("\n"):
        try:
            out = json.loads(line) if line else None
        except ValueError:
            print("not JSON: %s" % line[:200])
            continue
        if isinstance(out, dict):
            outs.setdefault(out.get("id"), out)
    return outs


def judge(path, command):
    with open(path, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file if line.strip()]
    name = path.rsplit("/", 1)[-1].split(".")[0]
    by_kind = {}
    for case in cases:
        case.setdefault("kind", FILE_KIND.get(name))
        by_kind.setdefault(EVAL_KIND.get(case["kind"], case["kind"]), []).append(case)
    right, total = {}, {}
    for kind, group in by_kind.items():
        outs = run(command, kind, group)
        for case in group:
            name, out = class_of(case), outs.get(case["id"])
            total[name] = total.get(name, 0) + 1
            if isinstance(out, dict) and (name in OPEN or ("error" not in out and fits(case, out))):
                right[name] = right.get(name, 0) + 1
            else:
                print("WRONG %s (%s, %s)\n  got  %s\n  want %s" % (
                    case["id"], case["kind"], name, json.dumps(out, ensure_ascii=False)[:400],
                    json.dumps(expected(case), ensure_ascii=False)[:400]))
    for name in sorted(total):
        print("%s %s: %d of %d" % (path.rsplit("/", 1)[-1], name, right.get(name, 0), total[name]))
    return sum(right.values()), sum(total.values())


def main():
    split = sys.argv.index("--")
    right = total = 0
    for path in sys.argv[1:split]:
        r, t = judge(path, sys.argv[split + 1:])
        right += r
        total += t
    print("%d/%d" % (right, total))
    return right != total


if __name__ == "__main__":
    sys.exit(main())
