"""`Any` turns the type checker off where it goes: few expressions have it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shape.source_tree import ROOT, package_sources

MOST_SHARE = 0.01
MOST_NAMES = 1222  # with which about 0.95 % of the expressions are


def test_few_annotations_are_any() -> None:
    """A quick look; `make soak` measures the expressions."""
    names = sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for source in package_sources()
        for node in ast.walk(source.tree)
    )
    assert names <= MOST_NAMES, 'say "object" for what only passes through, else name its type'


@pytest.mark.soak
def test_at_most_1_percent_of_expressions_are_any(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--any-exprs-report", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stdout
    total, any_count, expressions, _ = (tmp_path / "any-exprs.txt").read_text().splitlines()[-1].split()
    assert total == "Total"
    assert int(any_count) <= MOST_SHARE * int(expressions)
