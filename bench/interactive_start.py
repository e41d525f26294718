"""Measures the start of the interactive mode: the first paint, and the first key that is echoed."""

import subprocess
from pathlib import Path
from statistics import median

from history_index import make_sessions
from interactive_desk import PAINTED, READY, Desk, desk, must
from report import FLOOR, Row, milliseconds, times
from tui_pty import bare_ms

from tau.config.paths import folder_name

ROUNDS, QUICK_ROUNDS = 15, 5
SESSIONS, QUICK_SESSIONS = 10_000, 1_000
FILES, QUICK_FILES = 100_000, 5_000
FILES_IN_FOLDER = 100
KEY = "Z"  # occurs nowhere on the first screen
PAINT_LIMIT, KEY_LIMIT = 9, 12
FOREIGN = "/home/me/project-0"  # one folder of the generated sessions; they become ours


def measure(quick: bool) -> list[tuple[Row, float]]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    sessions, files = (QUICK_SESSIONS, QUICK_FILES) if quick else (SESSIONS, FILES)
    with desk() as small, desk() as large:
        make_repository(large.project, files)
        make_history(large, sessions)
        cold = _start(large)
        _start(small)
        bare, ours, crowded = [], [], []
        for _ in range(rounds):  # alternately, so that noise affects all alike
            bare.append(bare_ms(small.env))
            ours.append(_start(small))
            crowded.append(_start(large))
    floor = median(bare)
    where = f"{sessions:,} sessions, {files:,} files"
    return [
        (Row("bare_ms", f"`{FLOOR}`", None, milliseconds), floor),
        *_rows("", ours, floor),
        *_rows(f"{where}: ", crowded, floor),
        (Row("cold_ms", f"{where}: the first start of all, a key is echoed", None, milliseconds), cold[1]),
    ]


def _rows(where: str, samples: list[tuple[float, float, float]], floor: float) -> list[tuple[Row, float]]:
    paint, key, session = (median(column) for column in zip(*samples, strict=True))
    return [
        (Row("paint_ms", f"{where}first paint", None, milliseconds), paint),
        (Row("paint_ratio", f"... over `{FLOOR}`", PAINT_LIMIT, times), paint / floor),
        (Row("key_ms", f"{where}a key is echoed", None, milliseconds), key),
        (Row("key_ratio", f"... over `{FLOOR}`", KEY_LIMIT, times), key / floor),
        (Row("session_ms", f"{where}the model is shown (session open)", None, milliseconds), session),
    ]


def _start(at: Desk) -> tuple[float, float, float]:
    """Return milliseconds to the first paint, to the echo of a key pressed then, and to the open session."""
    with at.start() as program:
        paint = must(program, program.read_until(PAINTED))
        program.type(KEY)
        key = must(program, program.read_until(KEY.encode()))
        return paint, key, must(program, program.read_until(READY))


def make_repository(folder: Path, files: int) -> None:
    """Create many small files in a git repository, all committed."""
    for number in range(files):
        inner = folder / f"part{number // FILES_IN_FOLDER // 10}" / f"unit{number // FILES_IN_FOLDER}"
        if number % FILES_IN_FOLDER == 0:
            inner.mkdir(parents=True)
        (inner / f"module_{number}.py").write_text("value = 1\n")
    author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")
    for arguments in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def make_history(at: Desk, sessions: int) -> None:
    """Create old sessions of a hundred folders, including the one that tau starts in."""
    root = at.home / "sessions"
    make_sessions(root, sessions)
    ours = root / folder_name(at.project)
    (root / folder_name(Path(FOREIGN))).rename(ours)
    for file in ours.iterdir():
        file.write_bytes(file.read_bytes().replace(FOREIGN.encode(), str(at.project).encode()))
