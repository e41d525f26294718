"""The screens of the documentation match the program, and the pages show them."""

import re
import tempfile
from pathlib import Path

import pytest

from tools.scenes import PICTURES, SCENES
from tools.screenshots import IMAGES, ROOT, capture, picture


@pytest.fixture
def forks() -> None:
    """As users start it."""


PASSING = "Writing (Esc stops it)\n"
"""A screen reader announces this only if the answer takes a moment."""
CAPTURE = re.compile(r"^```text\n(tau \d.*?)\n```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", SCENES)
def test_program_looks_like_the_documentation(name: str) -> None:
    """After a change: run `make screenshots` and update the pages."""
    shown = (IMAGES / f"screen-{name}.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # as short a path as where they were made
        assert capture(SCENES[name], Path(place)).replace(PASSING, "") == shown


@pytest.mark.parametrize("name", PICTURES)
def test_program_looks_like_its_pictures(name: str) -> None:
    """After a change: run `make screenshots`, and look at them."""
    shown = (IMAGES / f"picture-{name}.svg").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        assert picture(PICTURES[name], Path(place)) == shown


def test_every_picture_is_on_a_page() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert {path.stem for path in IMAGES.glob("picture-*")} == {f"picture-{name}" for name in PICTURES}
    assert not [name for name in PICTURES if f"images/picture-{name}.svg)" not in text]


def test_pages_show_the_current_captures() -> None:
    captures = {path.read_text(encoding="utf-8").rstrip("\n") for path in IMAGES.glob("screen-*.txt")}
    shown = [
        (page.name, text)
        for page in (ROOT / "docs").rglob("*.md")
        for text in CAPTURE.findall(page.read_text(encoding="utf-8"))
    ]
    assert shown
    assert not [page for page, text in shown if text not in captures]
