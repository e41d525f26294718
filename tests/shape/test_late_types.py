"""mypy sees through `late`: misusing a late-imported module is an error."""

import os
import subprocess
import sys
from pathlib import Path

from tests.shape.source_tree import ROOT

USES = """
from typing import Protocol

from tau.base.late import late

greeting = late("greeting")


class Greeting(Protocol):
    def greet(self, name: str) -> str: ...


TABLE: dict[str, Greeting] = {
    "fits": late("greeting"),
    "does not fit": late("tau.base.version"),
}

greeting.greet("you")
greeting.greet("you", "and me")
greeting.part_from("you")
missing = late("nowhere")
"""


def errors(folder: Path) -> set[str]:
    """The line and code of each error in `uses.py`, checked the way the package is, with a cache."""
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), str(folder / "uses.py")],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(folder)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    found = [line.split(":") for line in run.stdout.splitlines() if ": error: " in line]
    assert found, run.stdout + run.stderr
    lines = USES.splitlines()
    return {f"{lines[int(number) - 1].strip()} {text.split()[-1]}" for _, number, _, *_, text in found}


def test_late_module_has_its_own_type_and_a_table_checks_its_modules(tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(USES)
    greeting = tmp_path / "greeting.py"
    greeting.write_text("def greet(name: str) -> str:\n    return name\n")
    always = {
        '"does not fit": late("tau.base.version"), [dict-item]',
        'greeting.part_from("you") [attr-defined]',
        'missing = late("nowhere") [import-not-found]',
    }
    assert errors(tmp_path) == always | {'greeting.greet("you", "and me") [call-arg]'}
    # `uses.py` stays unchanged: mypy takes its late imports from the cache.
    greeting.write_text("def greet(name: str, other: str) -> str:\n    return name + other\n")
    assert errors(tmp_path) == always | {
        '"fits": late("greeting"), [dict-item]',
        'greeting.greet("you") [call-arg]',
    }
