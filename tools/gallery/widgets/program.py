"""The command-line options of all galleries."""

import argparse
import os

from tools.gallery.widgets.printed import PALETTES

MAX_WIDTH = 1_000


def parsed(words: list[str] | None, parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the arguments; adds the common options to a parser that has its own `--print`."""
    parser.add_argument("--list", action="store_true", help="print the names of all specimens")
    parser.add_argument("--width", type=int, default=80, help="columns for --print (default: 80)")
    parser.add_argument("--theme", choices=list(PALETTES), help="colours (default: dark)")
    parser.add_argument("--ascii", action="store_true", help="signs of ASCII only")
    parser.add_argument("--linear", action="store_true", help="as a screen reader gets it")
    options = parser.parse_args(words)
    options.theme = options.theme or ("none" if os.environ.get("NO_COLOR") else "dark")
    options.width = max(1, min(options.width, MAX_WIDTH))
    return options
