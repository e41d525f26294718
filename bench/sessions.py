"""Measures long sessions: `bench/sessions.py [--quick]`.

How long a session of 100,000 entries takes to open and to become a context, against decoding its lines and
nothing else; whether appending stays as fast as it was; and what going on with such a session costs a run of
`tau -p`, in time to the first request and in memory, against a new session.
"""

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from fake import FakeServer
from report import Row, milliseconds, times, verdict
from run import ask
from subjects import Subject, tau

from tau.ai.wire import AssistantMessage, TextContent, Usage, UserMessage
from tau.coding.session.storage.log import SessionLog

ENTRIES = 100_000
QUICK_ENTRIES = 10_000
ENTRY_BYTES = 1_000
ROUNDS = 7
QUICK_ROUNDS = 3
APPENDS = 200
BEFORE_APPENDS = 100
COMPACTED_EVERY = 1_000
KEPT = 40
SEED = 1
TIME = "2026-01-31T12:00:00.000Z"
WORDS = ("return", "naïve", '"quoted"', "path/to/file.py", "\n    ", "def", "value", "0x1f", "C:\\tmp", "→")


@dataclass(frozen=True)
class Figure:
    row: Row
    value: float
    detail: str


class Writer:
    """Writes a session file of a given size, entry by entry."""

    def __init__(self, path: Path, cwd: Path) -> None:
        self._file = path.open("wb")
        self._chance = random.Random(SEED)
        self._text = " ".join(self._chance.choice(WORDS) for _ in range(4_000))
        self._ids: list[str] = []
        self._line({"type": "session", "version": 3, "id": f"{0:036x}", "timestamp": TIME, "cwd": str(cwd)})

    def fill(self, entries: int, *, compacted: bool) -> None:
        makers = (self._question, self._call, self._result, self._answer)
        for number in range(entries - 1):
            if compacted and number % COMPACTED_EVERY == COMPACTED_EVERY - 1:
                self._entry("compaction", **self._compaction())
            else:
                self._entry("message", message=makers[number % len(makers)](number))
        if compacted:
            self._entry("compaction", **self._compaction())
        self._file.close()

    def _entry(self, type: str, **fields: Any) -> None:
        number = len(self._ids)
        id = f"{number * 2_654_435_761 % 2**32:08x}"  # scattered like random ids, but unique
        parent = self._ids[-1] if self._ids else None
        self._ids.append(id)
        self._line({"type": type, "id": id, "parentId": parent, "timestamp": TIME, **fields})

    def _line(self, record: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(record) + b"\n")

    def _some(self, most: int = 2 * (ENTRY_BYTES - 330)) -> str:
        begin = self._chance.randrange(1_000)
        return self._text[begin : begin + self._chance.randrange(most)]

    def _question(self, number: int) -> dict[str, Any]:
        return {"role": "user", "content": self._some(), "timestamp": number}

    def _call(self, number: int) -> dict[str, Any]:
        call = {
            "type": "toolCall",
            "id": f"c{number}",
            "name": "bash",
            "arguments": {"command": self._some()},
        }
        return self._assistant([{"type": "text", "text": "Look."}, call], "toolUse", number)

    def _result(self, number: int) -> dict[str, Any]:
        content = [{"type": "text", "text": self._some()}]
        return {
            "role": "toolResult",
            "toolCallId": f"c{number - 1}",
            "toolName": "bash",
            "content": content,
            "isError": False,
            "timestamp": number,
            "details": {"exitCode": 0},
        }

    def _answer(self, number: int) -> dict[str, Any]:
        return self._assistant([{"type": "text", "text": self._some()}], "stop", number)

    def _assistant(self, content: list[dict[str, Any]], reason: str, number: int) -> dict[str, Any]:
        cost = {"input": 0.01, "output": 0.02, "cacheRead": 0, "cacheWrite": 0, "total": 0.03}
        usage = {"input": 100, "output": 50, "cacheRead": 9_000, "cacheWrite": 0, "cost": cost}
        return {
            "role": "assistant",
            "content": content,
            "api": "openai-completions",
            "provider": "fake",
            "model": "fake-model",
            "usage": usage,
            "stopReason": reason,
            "timestamp": number,
        }

    def _compaction(self) -> dict[str, Any]:
        first = self._ids[-min(KEPT, len(self._ids))]
        return {"summary": self._some(4_000), "firstKeptEntryId": first, "tokensBefore": 150_000}


def load_ratio(path: Path, rounds: int) -> tuple[float, str]:
    """Time opening a session and building its context, over an untyped decode of its lines."""
    lines = [line for line in path.read_bytes().split(b"\n") if line]

    def ours() -> None:
        log = SessionLog.open(path)
        log.context()
        log.close()

    def floor() -> None:
        for line in lines:
            msgspec.json.decode(line)

    mine, least = in_turn(rounds, ours, floor)
    return mine / least, f"{milliseconds(mine)} over {milliseconds(least)}"


def append_ratio(long: Path, folder: Path) -> tuple[float, str]:
    """Return the time to append after 100,000 entries over that after a hundred, measured alternately."""
    old, new = SessionLog.open(long), SessionLog.new(folder, folder)
    spent: dict[int, list[float]] = {id(old): [], id(new): []}
    try:
        for log in (old, new):
            log.context()
        for number in range(BEFORE_APPENDS):
            new.append_message(UserMessage(f"question {number}", number))
        for number in range(APPENDS):
            for log in (old, new):
                message = AssistantMessage(
                    [TextContent("word " * 150)], "fake", "fake", "fake", Usage(), "stop", number
                )
                started = time.perf_counter()
                log.append_message(message)
                spent[id(log)].append((time.perf_counter() - started) * 1000)
    finally:
        old.close()
        new.close()
    late, early = median(spent[id(old)]), median(spent[id(new)])
    return late / early, f"{milliseconds(late)} over {milliseconds(early)}"


def in_turn(rounds: int, *works: Callable[[], None]) -> list[float]:
    """Return the median milliseconds of each, without the first round."""
    spent: list[list[float]] = [[] for _ in works]
    for number in range(rounds + 1):
        for work, samples in zip(works, spent, strict=True):
            gc.collect()
            started = time.perf_counter()
            work()
            if number:
                samples.append((time.perf_counter() - started) * 1000)
    return [median(samples) for samples in spent]


def print_mode(session: Path, folder: Path, rounds: int) -> tuple[float, float]:
    """Return the delay of the first request (ms) and the extra memory (MB)."""
    subjects = (None, session)
    first: dict[Path | None, list[float]] = {one: [] for one in subjects}
    held: dict[Path | None, list[float]] = {one: [] for one in subjects}
    with FakeServer() as server:
        subject = tau().settle(folder / "tau", server.url)
        for number in range(rounds + 1):
            for one in subjects:
                sample = one_prompt(subject, server, one, memory=False)
                watched = one_prompt(subject, server, one, memory=True)  # sampling slows it down
                if number:  # the first round warms up
                    first[one].append(sample["first_ms"])
                    held[one].append(watched["rss_mb"])
    return median(first[session]) - median(first[None]), median(held[session]) - median(held[None])


def one_prompt(
    subject: Subject, server: FakeServer, session: Path | None, *, memory: bool
) -> dict[str, float]:
    """Run a prompt with a copy of the session, so that it does not grow between rounds."""
    command = list(subject.command)
    if session is not None:
        copy = subject.home / "copy.jsonl"
        shutil.copy(session, copy)
        with copy.open("rb+") as file:
            os.fsync(file.fileno())  # otherwise the run would wait for our copy to be written
        command[1:1] = ["--resume", str(copy)]
    run = Subject(
        subject.name, command, subject.version_command, subject.env, home=subject.home, work=subject.work
    )
    return ask(run, server, memory=memory, scenario="hello")


def measured(entries: int, rounds: int, folder: Path) -> list[Figure]:
    compacted, plain = folder / "compacted.jsonl", folder / "plain.jsonl"
    Writer(compacted, folder).fill(entries, compacted=True)
    Writer(plain, folder).fill(entries, compacted=False)
    size = f"{compacted.stat().st_size / 1e6:.0f} MB, {entries:,} entries"
    load, load_detail = load_ratio(compacted, rounds)
    all_load, all_detail = load_ratio(plain, rounds)
    later, heavier = print_mode(compacted, folder, rounds)
    append, append_detail = append_ratio(compacted, folder / "new")
    return [
        Figure(Row("load", "opening, with its context", 1.5, times), load, f"{load_detail}; {size}"),
        Figure(Row("all", "the same, never compacted", None, times), all_load, all_detail),
        Figure(Row("append", "appending behind it", 1.5, times), append, append_detail),
        Figure(Row("later", "`tau -p`: later to the first request", 230, milliseconds), later, "than new"),
        Figure(Row("heavier", "`tau -p`: heavier", 90, lambda mb: f"{mb:.1f} MB"), heavier, "than new"),
    ]


def table(figures: list[Figure]) -> str:
    lines = ["| | figure | target | | how |", "|---|---|---|---|---|"]
    for one in figures:
        target = "" if one.row.target is None else f"<= {one.row.form(one.row.target)}"
        cells = (one.row.title, one.row.form(one.value), target, verdict(one.row, one.value), one.detail)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure long sessions.")
    parser.add_argument("--quick", action="store_true", help="a short session, to see that it works")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    arguments = parser.parse_args()
    entries, rounds = (QUICK_ENTRIES, QUICK_ROUNDS) if arguments.quick else (ENTRIES, ROUNDS)
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        print("The machine is busy: times will be longer than they are, ratios less so.", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="tau-bench-") as name:
        figures = measured(entries, rounds, Path(name).resolve())
    if arguments.json:
        print(json.dumps({one.row.key: one.value for one in figures}))
    else:
        print(f"Medians of {rounds} rounds, in turn.\n")
        print(table(figures))
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
