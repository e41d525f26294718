"""Plays seeds manually: `python -m tests.tui.stress --seed 17 --shape mux --ops 300`."""

import argparse
import sys

from tests.tui.stress.play import check
from tests.tui.stress.shapes import SHAPES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tui.stress", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from the first on")
    parser.add_argument(
        "--shape", choices=sorted(SHAPES), action="append", help="all of them if none is named"
    )
    parser.add_argument("--ops", type=int, default=300, help="operations of a run")
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.seed, options.seed + options.seeds):
        for shape in options.shape or SHAPES:
            try:
                check(shape, seed, options.ops, seconds=120)
            except AssertionError as error:
                wrong += 1
                print(error)
    print(f"{wrong} runs went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
