"""Measures the time from Escape to idle in each state of a session: `bench/escape.py [ROUNDS]`."""

import asyncio
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.faults.escapes import STATES, escape

PROMISED_MS = 200


def measured(name: str, rounds: int) -> list[float]:
    """Return the milliseconds of each round."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="tau-escape-") as place:
            folder = Path(place) / "project"
            folder.mkdir()
            os.environ.update(HOME=place, TAU_HOME=f"{place}/home", TMPDIR=f"{place}/tmp")
            found.append(asyncio.run(escape(STATES[name], folder)).seconds * 1000)
    return found


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    width = max(map(len, STATES))
    print(f"{'state'.ljust(width)}  median ms  worst ms  (at most {PROMISED_MS} promised)")
    for name in STATES:
        times = measured(name, rounds)
        print(f"{name.ljust(width)}  {statistics.median(times):9.1f}  {max(times):8.1f}")


if __name__ == "__main__":
    main()
