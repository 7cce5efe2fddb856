#!/usr/bin/env python3
"""vectors.py FOLDER PROGRAM: runs every vector file of a folder through `PROGRAM eval KIND`.
Prints what is wrong, a line a file, and last "RIGHT WRONG". A file that is not there is passed over."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCORERS = [  # scorer, its files
    ("../data/vectors/score.py", ["plan", "action", "outcome", "event", "face", "command", "config"]),
    ("score_replies.py", ["replies"]),
    ("score_protocol.py", ["rich_output", "remote_media", "response_schema", "provider_answers",
                           "provider_requests", "provider_stream_cases", "provider_http_cases"]),
]


def run(scorer, path, program):
    """(right, wrong, output) of one scorer on one file; its last "right/total" counts."""
    done = subprocess.run([sys.executable, os.path.join(HERE, scorer), path, "--", program],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=600)
    sums = re.findall(r"(\d+)/(\d+)\s*$", done.stdout, re.M)
    if not sums:
        return 0, 1, done.stdout
    right, total = map(int, sums[-1])
    wrong = total - right
    if done.returncode and not wrong:
        wrong = 1
    return right, wrong, done.stdout


def main():
    folder, program = sys.argv[1:3]
    right = wrong = 0
    for scorer, names in SCORERS:
        for name in names:
            path = os.path.join(folder, name + ".jsonl")
            if not os.path.exists(path):
                continue
            r, w, output = run(scorer, path, program)
            print("%-20s %d right, %d wrong" % (name, r, w))
            if w:
                print(output[-4000:])
            right += r
            wrong += w
    print(right, wrong)


if __name__ == "__main__":
    main()
