"""Captures the screenshots of the documentation from the real program.

`python tools/screenshots.py [KIND ...] [--folder FOLDER]` writes them to docs/images:

- `screens`: the interactive screen as text (screen-*.txt), also where a page quotes it;
- `pictures`: the same in color (picture-*.svg);
- `demo`: a recording of `tau demo` (demo.cast), which takes a minute;
- `pages`: the pictures of docs/export.md, by day and by night, for which it needs Chromium;
- `serve`: those of docs/serve.md, too.

Without a kind: all but those that need Chromium.
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tau.base.secrets import SecretMask  # noqa: E402
from tau.coding.cost_report.chart import chart_page  # noqa: E402
from tau.coding.export.files import exported  # noqa: E402
from tests.coding.export.chromium import browser, program  # noqa: E402
from tests.coding.export.sample import sample_session, sample_usage  # noqa: E402
from tests.support.pty_terminal import PtyTerminal  # noqa: E402
from tests.support.terminal.virtual import Answers, Cell  # noqa: E402
from tools import page_pictures  # noqa: E402
from tools.demo_cast import record_demo  # noqa: E402
from tools.scenes import PICTURES, SCENES, Screenshot, on_stage  # noqa: E402
from tools.terminal_svg import BACKGROUND, FOREGROUND, terminal_svg  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SIZES = {"": (1280, 1000), "-phone": (390, 844)}
QUIET_SECONDS = 0.5
# Durations differ between runs.
TOOK = re.compile(r"  \d[\d.]* m?s$| \(\d+ s\)$")
TIME = re.compile(r" \d[\d.]* (?:m?s|min \d+ s)(?=[:,])")
TEST_TIME = re.compile(r"(?<= in )\d\.\d{3}(?=s$)")
BLANK = Cell(" ", "", "", frozenset(), "")


class Screen(NamedTuple):
    """All cells of a terminal, and the cursor unless it is hidden."""

    rows: tuple[tuple[Cell, ...], ...]
    cursor: tuple[int, int] | None

    def text(self) -> list[str]:
        return ["".join(cell.char for cell in row).rstrip() for row in self.rows]


def capture(shot: Screenshot, place: Path) -> str:
    """Return the final screen as text. The name of the home folder is not shown."""
    with on_stage(shot, place, 80, 24, Answers()) as terminal:
        rows = stable_screen(terminal).text()
    text = "\n".join(TIME.sub(" 0.0 s", TOOK.sub("", row)) for row in rows).rstrip() + "\n"
    return text.replace(str(place / "home"), "/home/me")


def picture(shot: Screenshot, place: Path) -> str:
    """Return the final screen as an SVG picture, as tall as its content."""
    colors = Answers(foreground=_x_color(FOREGROUND), background=_x_color(BACKGROUND))
    with on_stage(shot, place, 100, 34, colors) as terminal:
        screen = stable_screen(terminal)
    used = max(number for number, text in enumerate(screen.text(), 1) if text)
    repeatable = (
        (TOOK, ""),
        (TEST_TIME, "0.001"),
        (re.compile(re.escape(str(place / "home"))), "/home/me"),
    )
    rows = [list(row) for row in screen.rows[:used]]
    for row in rows:
        for pattern, text in repeatable:
            _replace(row, pattern, text)
    return terminal_svg(rows, screen.cursor, shot.title)


def _x_color(color: str) -> str:
    return "rgb:" + "/".join(color[at : at + 2] * 2 for at in (1, 3, 5))


def _replace(row: list[Cell], pattern: re.Pattern[str], text: str) -> None:
    """Replace what the pattern finds in a row, in its style; the rest of the row moves up."""
    found = pattern.search("".join(cell.char or "\0" for cell in row).rstrip())
    if found is not None:
        start, end = found.span()
        row[start:end] = [row[start]._replace(char=char) for char in text]
        row += [BLANK] * (end - start - len(text))


def stable_screen(terminal: PtyTerminal) -> Screen:
    """Wait until the screen is stable and return it."""
    screen = None
    while screen != (screen := Screen(*terminal.cells())):
        time.sleep(QUIET_SECONDS)
    return screen


def screens(folder: Path) -> int:
    for name, shot in SCENES.items():
        path = folder / f"screen-{name}.txt"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            write(path, capture(shot, Path(place)))
        if before and folder == IMAGES:
            update_pages(before, path.read_text(encoding="utf-8"))
    return 0


def update_pages(before: str, now: str) -> None:
    """Replace a capture in the pages that quote it."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if (quoted := f"```text\n{before}```") in text:
            page.write_text(text.replace(quoted, f"```text\n{now}```"), encoding="utf-8")


def pictures(folder: Path) -> int:
    for name, shot in PICTURES.items():
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            write(folder / f"picture-{name}.svg", picture(shot, Path(place)))
    return 0


def demo(folder: Path) -> int:
    write(folder / "demo.cast", record_demo())
    return 0


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    print(path.name)


def pages(folder: Path) -> int:
    if program() is None:
        print("Chromium is not there; apt-get install chromium brings it.")
        return 1
    phone = folder != IMAGES
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        log = sample_session(place)
        made = {
            "export": b"".join(exported(log, "html", SecretMask())),
            "stats": "".join(chart_page(sample_usage())).encode(),
        }
        log.close()
        with browser(place) as page:
            for title, content in made.items():
                file = place / f"{title}.html"
                file.write_bytes(content)
                for suffix, (width, height) in SIZES.items():
                    if suffix and not phone:
                        continue
                    for dark in (False, True):
                        page.look(width=width, height=height, dark=dark)
                        page.open(file.as_uri())
                        page.screenshot(folder / f"{title}{suffix}-{'dark' if dark else 'light'}.png")
    return 0


def serve(folder: Path) -> int:
    """The web page of `tau serve`."""
    page_pictures.capture_pages(folder)
    return 0


KINDS = {"screens": screens, "pictures": pictures, "demo": demo, "pages": pages, "serve": serve}


def main() -> int:
    parser = argparse.ArgumentParser(description="Capture the screenshots of the documentation.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--folder", type=Path, default=IMAGES)
    arguments = parser.parse_args()
    kinds = arguments.kinds or ["screens", "pictures", "demo"]
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    return max(KINDS[kind](arguments.folder) for kind in kinds)


if __name__ == "__main__":
    raise SystemExit(main())
