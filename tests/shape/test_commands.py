"""The setup commands, as far as they can be tested without setting everything up."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.shape.source_tree import PACKAGE, ROOT

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@needs_make
def test_make_alone_lists_the_targets() -> None:
    listed = make().stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    for target in set(phony[1].split()) - {"help", "packages", "weights"}:
        assert f"make {target}" in listed


@needs_make
def test_missing_python_is_reported_in_one_sentence(tmp_path: Path) -> None:
    run = make("run", f"VENV={tmp_path}/venv", "PYTHON=/nowhere/python3")
    assert run.returncode != 0
    assert run.stderr.startswith("No Python 3.11 or newer found (/nowhere/python3).")


def test_ci_only_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = [
        line for line in script.read_text().splitlines() if line and not line.startswith(("#", "set ", "cd "))
    ]
    assert lines == ["exec make test"]


def test_no_package_index_is_named() -> None:
    """Where packages come from is up to the machine: pip's own variables say it."""
    named = re.compile(
        r"index[-_]url\s*=|registry\s*=|pypi\.org|pythonhosted|--(extra-)?index-url", re.IGNORECASE
    )
    files = [
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
        *(ROOT / "tools").glob("*"),
        *(ROOT / ".ci").glob("*"),
    ]
    assert not [file.name for file in files if file.is_file() and named.search(file.read_text())]


def test_everything_in_the_package_goes_into_the_wheel() -> None:
    """The build takes the whole folder except what git ignores."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    beside = {"docs": "tau/docs", "CHANGELOG.md": "tau/CHANGELOG.md"}
    assert wheel == {"packages": ["src/tau"], "force-include": beside}
    data = [str(path) for path in PACKAGE.rglob("*") if path.suffix in (".md", ".json", ".jinja", ".typed")]
    assert data
    if shutil.which("git") and (ROOT / ".git").exists():
        run = subprocess.run(["git", "check-ignore", *data], cwd=ROOT, capture_output=True, text=True)
        assert not run.stdout


@pytest.mark.soak
def test_wheel_contains_every_file_of_the_package(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    (wheel,) = builder.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    listed = subprocess.run(
        ["python3", "-m", "zipfile", "-l", wheel], capture_output=True, text=True, check=True
    ).stdout
    expected = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert not [name for name in expected if name not in listed]
