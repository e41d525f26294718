"""Measures the session index: building it from the files, listing and searching many sessions."""

import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from report import Row, milliseconds, times

from tau.coding.session.storage.log import file_name, new_session_id
from tau.coding.session_index.index import SessionIndex
from tau.coding.session_index.search import search
from tau.config.paths import folder_name

SESSIONS = 10_000
QUICK_SESSIONS = 500
FOLDERS = 100
ROUNDS = 7
QUICK_ROUNDS = 3
VOCABULARY = 5_000
TIME = "2026-01-31T12:00:00.000Z"


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians."""
    sessions, rounds = (QUICK_SESSIONS, QUICK_ROUNDS) if quick else (SESSIONS, ROUNDS)
    folder = Path(tempfile.mkdtemp(prefix="tau-bench-"))
    try:
        make_sessions(folder / "sessions", sessions)
        return _measured(folder, sessions, rounds)
    finally:
        shutil.rmtree(folder)


def _measured(folder: Path, sessions: int, rounds: int) -> list[tuple[Row, float]]:
    root = folder / "sessions"
    time.sleep(2.1)  # new files are read twice

    def build() -> None:
        shutil.rmtree(folder / "home", ignore_errors=True)
        with SessionIndex(folder / "home" / "index.db", root) as index:
            if len(index.sessions()) != sessions or index.remarks:
                raise AssertionError(index.remarks)

    def read() -> None:
        for path in root.glob("*/*.jsonl"):
            path.read_bytes()

    built, read_ms = _in_turn(max(3, rounds // 2), build, read)
    with SessionIndex(folder / "home" / "index.db", root) as index:
        index.sessions()

        def list_new() -> None:
            with SessionIndex(folder / "home" / "index.db", root) as fresh:
                fresh.sessions()

        works = (
            lambda: index.sessions(),
            list_new,
            lambda: search(index, ["wa"], limit=20),
            lambda: search(index, ["rare"], limit=20),
            lambda: search(index, ["wa", "wb", "rare"], limit=20),
        )
        listed, fresh, common, rare, several = _in_turn(rounds, *works)
        one = next(root.glob("*/*.jsonl"))
        grown = _grown(index, one, rounds)
        size = (folder / "home" / "index.db").stat().st_size / 1e6
    many = f"{sessions:,} sessions"
    return [
        (Row("index_list_ms", f"{many}: listed", 100, milliseconds), listed),
        (Row("index_open_ms", "... by a new process's first question", 100, milliseconds), fresh),
        (Row("index_common_ms", "... searched for the most common word", 100, milliseconds), common),
        (Row("index_rare_ms", "... for a rare word", 100, milliseconds), rare),
        (Row("index_words_ms", "... for three words", 100, milliseconds), several),
        (Row("index_grown_ms", "... listed when one has grown", None, milliseconds), grown),
        (Row("index_build_ms", "... the index built from the files", None, milliseconds), built),
        (Row("index_build_ratio", "... over reading the files", 20, times), built / read_ms),
        (Row("index_mb", "... size of the index", None, lambda value: f"{value:.0f} MB"), size),
    ]


def _grown(index: SessionIndex, path: Path, rounds: int) -> float:
    spent = []
    for number in range(rounds):
        with path.open("ab") as file:
            file.write(_line(_entry(f"g{number}", {"role": "user", "content": "more", "timestamp": 1})))
        started = time.perf_counter()
        index.sessions()
        spent.append((time.perf_counter() - started) * 1000)
    return median(spent)


def _in_turn(rounds: int, *works: Callable[[], Any]) -> list[float]:
    spent: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 1):
        for work, samples in zip(works, spent, strict=True):
            started = time.perf_counter()
            work()
            if number:  # the first round warms up
                samples.append((time.perf_counter() - started) * 1000)
    return [median(samples) for samples in spent]


def make_sessions(root: Path, count: int) -> None:
    """Create sessions of five turns with a tool call each, about 20 KB. A few words are frequent."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [
        "wa",
        "wb",
        *("".join(chance.choices(letters, k=chance.randrange(2, 10))) for _ in range(VOCABULARY)),
    ]
    text = [words[min(int(chance.expovariate(1 / 400)), VOCABULARY)] for _ in range(100_000)]

    def some(count: int) -> str:
        begin = chance.randrange(len(text) - count)
        return " ".join(text[begin : begin + count])

    for number in range(count):
        cwd = f"/home/me/project-{number % FOLDERS}"
        folder = root / folder_name(Path(cwd))
        folder.mkdir(parents=True, exist_ok=True)
        id = new_session_id()
        lines = [{"type": "session", "version": 3, "id": id, "timestamp": TIME, "cwd": cwd}]
        rare = " rare" if number % 1000 == 0 else ""
        for turn in range(5):
            messages = (
                {"role": "user", "content": some(20) + rare, "timestamp": 1},
                _answer([{"type": "text", "text": some(15)}, _call(turn, some(8))], "toolUse"),
                _result(turn, some(300)),
                _answer([{"type": "text", "text": some(80)}], "stop"),
            )
            lines += [_entry(f"{turn}-{at}", message) for at, message in enumerate(messages)]
        (folder / file_name(TIME, id)).write_bytes(b"".join(map(_line, lines)))


def _entry(id: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": id, "parentId": None, "timestamp": TIME, "message": message}


def _call(turn: int, command: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": f"c{turn}", "name": "bash", "arguments": {"command": command}}


def _result(turn: int, output: str) -> dict[str, Any]:
    content = [{"type": "text", "text": output}]
    return {
        "role": "toolResult",
        "toolCallId": f"c{turn}",
        "toolName": "bash",
        "content": content,
        "isError": False,
        "timestamp": 1,
    }


def _answer(content: list[dict[str, Any]], reason: str) -> dict[str, Any]:
    cost = {"input": 0.01, "output": 0.02, "cacheRead": 0, "cacheWrite": 0, "total": 0.03}
    usage = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 0, "cost": cost}
    return {
        "role": "assistant",
        "content": content,
        "api": "a",
        "provider": "fake",
        "model": "fake-model",
        "usage": usage,
        "stopReason": reason,
        "timestamp": 1,
    }


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for row, value in measure(quick="--quick" in sys.argv):
        target = "" if row.target is None else f"  (at most {row.form(row.target)})"
        print(f"{row.title}: {row.form(value)}{target}")
