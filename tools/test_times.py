"""Writes the table of test times in docs/development.md.

make test ARGS=--junitxml=times.xml
.venv/bin/python tools/test_times.py times.xml
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "development.md"
PLACE = re.compile(r"(?<=<!-- test times -->\n).*?(?=<!-- end of test times -->)", re.DOTALL)
SPLIT_FOLDERS = {"coding", "modes", "tui", "e2e", "backends"}


def folder_of(module: str) -> str:
    """`tests/coding/tools` for `tests.coding.tools.test_read`, `tests/agent` for `tests.agent.test_loop`."""
    parts = module.split(".")[1:-1]
    depth = 2 if parts and parts[0] in SPLIT_FOLDERS else 1
    return "/".join(["tests", *parts[:depth]])


def main() -> None:
    tests: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
        folder = folder_of(case.attrib["classname"])
        tests[folder] += 1
        seconds[folder] += float(case.attrib["time"])
    rows = [
        f"| `{folder}` | {tests[folder]:,} | {seconds[folder]:.0f} s |" for folder, _ in seconds.most_common()
    ]
    total = f"| all | {sum(tests.values()):,} | {sum(seconds.values()):.0f} s |"
    table = "\n".join(["| folder | tests | time of the workers |", "|---|---:|---:|", *rows, total, ""])
    PAGE.write_text(PLACE.sub(lambda _: table, PAGE.read_text()))


if __name__ == "__main__":
    main()
