#!/usr/bin/env python3
"""junit_sums.py testlog.junit.xml: prints "PASSED FAILED", one count for each case of each program.
A program that broke off counts as one failure; a skipped one counts as nothing."""
import sys
import xml.etree.ElementTree as ET

passed = failed = 0
for case in ET.parse(sys.argv[1]).getroot().iter("testcase"):
    if case.find("skipped") is not None:
        continue
    if case.find("failure") is not None or case.find("error") is not None:
        failed += 1
    else:
        passed += 1
print(passed, failed)
