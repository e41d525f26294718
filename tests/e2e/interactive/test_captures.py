"""The screens of the documentation: the program still looks as they show it, and the pages show them."""

import re
import tempfile
from pathlib import Path

import pytest

from tools.screenshots import ROOT, SCENES, capture

IMAGES = ROOT / "docs" / "images"
PASSING = "Writing (Esc stops it)\n"
"""A screen reader is told this only where the answer takes a moment."""
CAPTURE = re.compile(r"^```text\n(tau \d.*?)\n```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", SCENES)
def test_the_program_looks_as_the_documentation_shows_it(name: str) -> None:
    """After a change: `python tools/screenshots.py screens`, and put what is new into the pages."""
    shown = (IMAGES / f"screen-{name}.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # as short a path as where they were made
        assert capture(SCENES[name], Path(place)).replace(PASSING, "") == shown


def test_the_pages_show_the_captures_as_they_are() -> None:
    captures = {path.read_text(encoding="utf-8").rstrip("\n") for path in IMAGES.glob("screen-*.txt")}
    shown = [
        (page.name, text)
        for page in (ROOT / "docs").rglob("*.md")
        for text in CAPTURE.findall(page.read_text(encoding="utf-8"))
    ]
    assert shown
    assert not [page for page, text in shown if text not in captures]
