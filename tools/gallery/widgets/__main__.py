"""The command line: `python -m tools.gallery.widgets` is interactive; options print a specimen."""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable

from tools.gallery.widgets.catalogue import SPECIMENS
from tools.gallery.widgets.printed import printed, theme_of
from tools.gallery.widgets.program import parsed
from tools.gallery.widgets.walk import Walk


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    theme = theme_of(options.theme, ascii_only=options.ascii, linear=options.linear)
    if options.list:
        return _say(f"{name:32}{specimen.about}" for name, specimen in SPECIMENS.items())
    if options.print is not None:
        if options.print not in SPECIMENS:
            return _refuse(f"There is no specimen {options.print!r}; --list shows all names.")
        return _say(printed(SPECIMENS[options.print], theme, options.width))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _refuse("The gallery needs a terminal; --list and --print do without one.")
    asyncio.run(Walk.through(theme, options.theme))
    return 0


def _say(rows: Iterable[str]) -> int:
    try:
        sys.stdout.write("".join(f"{row}\n" for row in rows))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe: write nothing more, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gallery.widgets", description="Shows every component of the terminal engine."
    )
    parser.add_argument("--print", metavar="NAME", help="print one specimen")
    return parsed(arguments, parser)


if __name__ == "__main__":
    raise SystemExit(main())
