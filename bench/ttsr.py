"""Stream rules: CPU time per streamed piece with 50 rules, at the start and after 100,000 pieces.

python bench/ttsr.py
"""

import time

from tau.coding.rules.patterns import RulePatterns, TextWindow
from tau.coding.rules.rule import make_rule

PIECES, SLICE = 100_000, 1_000


def main() -> None:
    rules = [
        make_rule(f"rule{n}", "", {"condition": rf"\bforbidden_{n}\(.*\)|^todo {n}$", "scope": "text"})
        for n in range(50)
    ]
    started = time.process_time()
    patterns = RulePatterns(rules)
    early = patterns.early("text", "")
    compiled = time.process_time() - started
    window = TextWindow(early)
    slices = []
    for _ in range(PIECES // SLICE):
        started = time.process_time()
        for _ in range(SLICE):
            window.feed("some more ")
        slices.append(time.process_time() - started)
    middle = sorted(slices)[len(slices) // 2]
    print(f"compile 50 rules        {compiled * 1000:6.1f} ms")
    print(f"one piece (median)      {middle / SLICE * 1e6:6.2f} us   (limit 5)")
    print(f"last 1,000 over first   {min(slices[-5:]) / min(slices[:5]):6.2f}      (limit 1.3)")


if __name__ == "__main__":
    main()
