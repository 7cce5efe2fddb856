#!/usr/bin/env python3
"""score_replies.py REPLIES.jsonl -- PROGRAM...   runs `PROGRAM eval reply` on the rows and compares.

A row is right by its main expectation when verdict, delivered and reaction are equal. A row with
"silent" may also be right by one of its "alt" verdicts, with alt_delivered and alt_reaction where
these are given. What must_not_deliver lists is never delivered. Prints each row that is not right by
its main expectation and the three sums; exit 0 when every firm row is right, at least 95 of 100
silent rows are so by their main expectation and the others by an alt."""
import json
import subprocess
import sys

SENT = ("accept", "repair")


def offered_case(row):
    return {k: row[k] for k in ("id", "offered", "input", "input_b64") if k in row}


def delivers(out, verdict, delivered, reaction):
    """Whether the output is that verdict with that content."""
    if out.get("verdict") != verdict:
        return False
    if verdict not in SENT:
        return out.get("delivered") is None and out.get("reaction") is None
    return out.get("delivered") == delivered and out.get("reaction") == reaction


def by_alt(out, expect):
    """Whether one of the other verdicts of a silent row fits."""
    for verdict in expect.get("alt", []):
        if verdict in SENT and "alt_delivered" not in expect:
            if out.get("verdict") == verdict and out.get("delivered") == expect["delivered"]:
                return True
            continue
        if delivers(out, verdict, expect.get("alt_delivered"), expect.get("alt_reaction")):
            return True
    return False


def leaks(out, expect):
    return any(out.get("delivered") == bad for bad in expect.get("must_not_deliver", []))


def run(rows, command):
    text = "".join(json.dumps(offered_case(r)) + "\n" for r in rows)
    done = subprocess.run(command + ["eval", "reply"], input=text, stdout=subprocess.PIPE,
                          encoding="utf-8", timeout=600)
    outs = {}
    for line in done.stdout.split("\n"):
        if line:
            out = json.loads(line)
            outs.setdefault(out.get("id"), out)
    return outs


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "…"


def main():
    path, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    rows = [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]
    outs = run(rows, command)
    firm = firm_right = silent = silent_main = silent_alt = 0
    for row in rows:
        out, expect = outs.get(row["id"], {}), row["expect"]
        bad = leaks(out, expect) or "error" in out
        main_right = not bad and delivers(out, expect["verdict"], expect["delivered"], expect["reaction"])
        alt_right = not bad and not main_right and bool(expect.get("silent")) and by_alt(out, expect)
        if expect.get("silent"):
            silent += 1
            silent_main += main_right
            silent_alt += alt_right
        else:
            firm += 1
            firm_right += main_right
        if not main_right:
            print("%s %s\n  why  %s\n  in   %s\n  want %s %s\n  got  %s" % (
                "alt  " if alt_right else "WRONG", row["id"], expect["why"], short(row.get("input", row.get("input_b64"))),
                expect["verdict"], short(expect["delivered"]),
                short({k: out.get(k) for k in ("verdict", "delivered", "reaction", "code", "path", "why", "error")})))
    print("firm %d/%d, silent by main %d/%d, silent by alt %d" % (firm_right, firm, silent_main, silent, silent_alt))
    right = firm_right + silent_main + silent_alt
    print("%d/%d" % (right, len(rows)))
    enough = silent_main * 100 >= 95 * silent
    return 0 if firm_right == firm and silent_main + silent_alt == silent and enough else 1


if __name__ == "__main__":
    sys.exit(main())
