"""`tau gallery`: how every tool call looks in every state, printed or interactive."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.modes.output_stream import OutputStream, tell

if TYPE_CHECKING:
    from tau.tui.style import Theme

asyncio = late("asyncio")
catalogue = late("tools.gallery.specimens.catalogue")
printing = late("tools.gallery.specimens.printed")
program = late("tools.gallery.widgets.program")
themes = late("tools.gallery.widgets.printed")
walking = late("tools.gallery.specimens.walk")

EXPANDED = "/expanded"
"""Suffix of a specimen name: show it expanded."""


def run(words: list[str]) -> int:
    """Run the command with these arguments; returns the exit code."""
    options = _options(words)
    theme = themes.theme_of(options.theme, ascii_only=options.ascii, linear=options.linear)
    if options.list:
        return _say([f"{name:28}{specimen.about}" for name, specimen in catalogue.SPECIMENS.items()])
    if options.print is not None:
        names = _chosen(options.print)
        if not names:
            return _refuse(f"There is no specimen {options.print!r}; --list shows all names.")
        return _say(_rows(names, theme, options.width))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _refuse("The gallery needs a terminal; --list and --print do without one.")
    asyncio.run(walking.Walk.through(theme, options.theme))
    return 0


def _say(rows: Sequence[str]) -> int:
    OutputStream().write("".join(f"{row}\n" for row in rows).encode())
    return 0


def _refuse(sentence: str) -> int:
    tell(sentence)
    return 2


def _chosen(wanted: str) -> list[str]:
    """Return all names, those of one tool, or one; each specimen exists folded and expanded."""
    names = [f"{name}{form}" for name in catalogue.SPECIMENS for form in ("", EXPANDED)]
    return [name for name in names if wanted in ("", name, name.partition("/")[0])]


def _rows(names: Sequence[str], theme: "Theme", width: int) -> list[str]:
    rows: list[str] = []
    for name in names:
        specimen = catalogue.SPECIMENS[name.removesuffix(EXPANDED)]
        if len(names) > 1:
            rows += ["", f"[{name}]"] if rows else [f"[{name}]"]
        rows += printing.printed(specimen, theme, width, expanded=name.endswith(EXPANDED))
    return rows


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tau gallery", description="Shows how the calls of every tool look in every state."
    )
    parser.add_argument(
        "--print",
        nargs="?",
        const="",
        metavar="NAME",
        help="print one specimen, those of one tool, or all; NAME/expanded is it in full",
    )
    options: argparse.Namespace = program.parsed(words, parser)
    return options
