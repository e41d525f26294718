"""Records `tau demo` in a real terminal as an asciinema cast: a header, then one JSON line per frame.

Only what a player shows goes into the recording. Queries and keyboard modes stay out, because the viewer's
terminal would answer them.
"""

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tau.modes.interactive.demo.script import ENDING
from tests.support.pty_terminal import PtyTerminal, run_in_terminal

COLUMNS, ROWS = 100, 30
SAMPLE_SECONDS, LAST_LOOK_SECONDS, LIMIT_SECONDS = 0.02, 3.0, 180.0
BEGIN_FRAME, END_FRAME = b"\x1b[?2026h", b"\x1b[?2026l"
# The folder's name is random.
FOLDER, EXAMPLE_FOLDER = re.compile(r"tau-demo-\w{8}"), "tau-demo-a1b2c3d4"
SEQUENCE = re.compile(
    r"\x1b(?:\[(?P<csi>[0-?]*[ -/]*[@-~])|\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|[PX^_][^\x1b]*\x1b\\|(?P<esc>[ -/]*[0-~]))"
)
DRAWS = re.compile(r"[\d;:]*[@-HJ-MPSTXZ`adefmr]|\?(?:25|2026)[hl]")


def record_demo() -> str:
    """Run the demo at its own pace and return the recording."""
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "tau demo"}
    header["env"] = {"TERM": "xterm-256color", "SHELL": "/bin/sh"}
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        known = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        known |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        argv = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in known.items())]
        with run_in_terminal(
            [*argv, sys.executable, "-m", "tau", "demo"], None, COLUMNS, ROWS, cwd=Path(home)
        ) as terminal:
            events = list(_events(terminal))
            terminal.press("ctrl+d")
            terminal.wait()
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *events))


def _events(terminal: PtyTerminal) -> Iterator[tuple[float, str, str]]:
    """Yield a line per frame, until the end has been on screen for a while."""
    started, before, shown, ended = 0.0, 0, 0, False
    ending = " ".join(ENDING.split()[:4])
    limit = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < limit:
        time.sleep(SAMPLE_SECONDS)
        pending = bytes(terminal.output[shown:])
        is_whole = pending.count(BEGIN_FRAME) == pending.count(END_FRAME) and shown + len(pending) == before
        before = shown + len(pending)
        if pending and is_whole:
            shown, started = before, started or time.monotonic() - SAMPLE_SECONDS
            text = FOLDER.sub(EXAMPLE_FOLDER, showable(pending.decode()))
            yield round(time.monotonic() - started, 2), "o", text
        if not ended and any(ending in row for row in terminal.screen()):
            ended, limit = True, time.monotonic() + LAST_LOOK_SECONDS
    if not ended:
        raise SystemExit("The demo did not end in time.")
    yield round(time.monotonic() - started, 2), "o", "\x1b[?25h\r\n\r\n"


def showable(text: str) -> str:
    """Drop every control sequence that does not draw."""

    def keep(found: re.Match[str]) -> str:
        if found["csi"]:
            draws = DRAWS.fullmatch(found["csi"]) is not None
        else:
            draws = (found["osc"] or "").startswith("8;") or (found["esc"] or "-") in "78DEM"
        return found[0] if draws else ""

    return SEQUENCE.sub(keep, text)
