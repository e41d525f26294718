"""Captures at 80 columns: `python -m tests.modes.interactive.tool_views.golden` rewrites them."""

from pathlib import Path

from tools.gallery.specimens.case import Specimen
from tools.gallery.specimens.catalogue import SPECIMENS
from tools.gallery.specimens.printed import printed
from tools.gallery.widgets.printed import theme_of

FOLDER = Path(__file__).parent / "golden"
WIDTH = 80
TOOLS = sorted({specimen.tool for specimen in SPECIMENS.values()})


def path_of(tool: str) -> Path:
    return FOLDER / f"{tool}.txt"


def capture(tool: str) -> str:
    """All specimens of a tool, collapsed and expanded, without colors."""
    parts = [
        _part(specimen, expanded=expanded)
        for specimen in SPECIMENS.values()
        if specimen.tool == tool
        for expanded in (False, True)
    ]
    return "\n".join(parts)


def _part(specimen: Specimen, *, expanded: bool) -> str:
    rows = printed(specimen, theme_of("none"), WIDTH, expanded=expanded)
    return "\n".join([f"[{specimen.name}{'/expanded' if expanded else ''}]", *rows, ""])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in TOOLS:
        path_of(name).write_text(capture(name), encoding="utf-8")
