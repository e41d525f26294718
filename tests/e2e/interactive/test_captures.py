"""The screens of the documentation match the program, and the pages show them."""

import re
import tempfile
from pathlib import Path

import pytest

from tools.screenshots import ROOT, SCENES, capture

IMAGES = ROOT / "docs" / "images"
PASSING = "Writing (Esc stops it)\n"
"""A screen reader announces this only if the answer takes a moment."""
CAPTURE = re.compile(r"^```text\n(tau \d.*?)\n```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", SCENES)
def test_program_looks_like_the_documentation(name: str) -> None:
    """After a change: run `python tools/screenshots.py screens` and update the pages."""
    shown = (IMAGES / f"screen-{name}.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # as short a path as where they were made
        assert capture(SCENES[name], Path(place)).replace(PASSING, "") == shown


def test_pages_show_the_current_captures() -> None:
    captures = {path.read_text(encoding="utf-8").rstrip("\n") for path in IMAGES.glob("screen-*.txt")}
    shown = [
        (page.name, text)
        for page in (ROOT / "docs").rglob("*.md")
        for text in CAPTURE.findall(page.read_text(encoding="utf-8"))
    ]
    assert shown
    assert not [page for page, text in shown if text not in captures]
