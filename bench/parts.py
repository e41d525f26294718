"""Runs the measurements of several modules and prints one table."""

import argparse
import os
from collections.abc import Sequence
from types import ModuleType


def show(description: str, modules: Sequence[ModuleType]) -> None:
    """Each module has `measure(quick)`, which returns rows and figures."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a few rounds only, to see that it works")
    quick = parser.parse_args().quick
    print(f"Load of the machine: {os.getloadavg()[0]:.1f}\n")
    print("| | figure | target | |\n|---|---|---|---|")
    for module in modules:
        for row, figure in module.measure(quick):
            target = "" if row.target is None else f"<= {row.form(row.target)}"
            verdict = "" if row.target is None else "ok" if figure <= row.target else "missed"
            print(f"| {row.title} | {row.form(figure)} | {target} | {verdict} |", flush=True)
