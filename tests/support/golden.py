"""Inputs and outputs in files beside the tests.

WRITE_GOLDEN=1 writes the outputs; review the diff.
"""

import os
from collections.abc import Iterable
from pathlib import Path


def check(path: Path, text: str) -> None:
    """Compare a text with its golden file."""
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    assert path.read_bytes().decode() == text


def listed(cases: Iterable[tuple[str, str]]) -> str:
    """Named outputs, one below the other."""
    return "".join(f"=== {name}\n{output.rstrip()}\n\n" for name, output in cases)


def read_cases(path: Path) -> dict[str, str]:
    """Named inputs of a file: each starts below a line `=== name`."""
    cases: dict[str, str] = {}
    for case in path.read_bytes().decode().split("=== ")[1:]:
        name, _, text = case.partition("\n")
        cases[name] = text
    return cases
