"""Measures exports of a long session, and usage over many sessions: `bench/history_export.py [--quick]`.

How long a session of 10 MB takes to become a page, Markdown and JSON, how large the page is, and how fast the
usage of many sessions is read, against reading the bytes of their files and nothing else.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from report import Row, milliseconds, times

from tau.ai.wire import AssistantMessage, Cost, TextContent, ToolCall, ToolResultMessage, Usage, UserMessage
from tau.base.secrets import SecretMask
from tau.coding.cost_report.request_costs import iter_usage
from tau.coding.cost_report.summary import summarize
from tau.coding.export.files import ExportFormat, exported
from tau.coding.session.storage.log import SessionLog

BYTES = 10_000_000
SESSIONS = 1_000
ANSWERS = 40  # of each
ROUNDS = 5
QUICK_ROUNDS = 2
QUICK_SHARE = 10
CODE = Path(__file__).read_text(encoding="utf-8")
PROSE = (
    "The **total** ignored `count`. Both are fixed now:\n\n```python\n"
    f"{CODE[:1_500]}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\n"
)
DIFF = "".join(f"+    new line {n} = {n}\n-    old line {n}\n     kept\n" for n in range(30))
USAGE = Usage(1_200, 600, 18_000, 400, Cost(0.003, 0.009, 0.005, 0.001, 0.018))


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    share = QUICK_SHARE if quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = _exports(folder, BYTES // share, rounds)
        return figures + _usage(folder / "many", SESSIONS // share, rounds)


def _exports(folder: Path, size: int, rounds: int) -> list[tuple[Row, float]]:
    log = _long_session(folder, size)
    megabytes = size / 1_000_000
    found: list[tuple[Row, float]] = []
    formats: tuple[tuple[ExportFormat, bool], ...] = (
        ("html", True),
        ("html", False),
        ("markdown", True),
        ("json", False),
    )
    for format, mask in formats:
        took = _timed(lambda: sum(map(len, exported(log, format, SecretMask() if mask else None))), rounds)  # noqa: B023
        title = f"{megabytes:g} MB as {format}{', masked' if mask else ''}"
        found.append((Row(f"{format}_{'masked_' if mask else ''}ms", title, None, milliseconds), took))
    page = sum(map(len, exported(log, "html", None)))
    found.append((Row("html_size", "... size of the page, over the session's", None, times), page / size))
    log.close()
    return found


def _usage(folder: Path, count: int, rounds: int) -> list[tuple[Row, float]]:
    for number in range(count):
        log = SessionLog.new(folder / f"--{number % 20}--", Path(f"/p/{number % 20}"))
        log.append_message(UserMessage("go", 1))
        for _ in range(ANSWERS):
            log.append_message(AssistantMessage([TextContent(PROSE)], "a", "p", "m", USAGE, "stop", 1))
        log.close()
    files = list(folder.rglob("*.jsonl"))
    reading = _timed(lambda: sum(len(file.read_bytes()) for file in files), rounds)
    now = time.time_ns() // 1_000_000
    took = _timed(lambda: summarize(iter_usage(folder), now), rounds)
    if summarize(iter_usage(folder), now).total.requests != count * ANSWERS:
        raise AssertionError("requests are missing")
    return [
        (Row("usage_ms", f"usage of {count:,} sessions, {ANSWERS} answers each", None, milliseconds), took),
        (Row("usage_ratio", "... over reading their bytes", None, times), took / reading),
    ]


def _long_session(folder: Path, size: int) -> SessionLog:
    log = SessionLog.new(folder, Path("/home/me/project"))
    number = written = 0
    while written < size:
        number += 1
        call = f"c{number}"
        tool, arguments, details = (
            (
                "edit",
                {"path": "a.py", "input": DIFF},
                {"path": "a.py", "diff": DIFF, "added": 30, "removed": 30},
            )
            if number % 3 == 0
            else ("read", {"path": "src/a.py"}, None)
            if number % 3 == 1
            else ("bash", {"command": "make test"}, None)
        )
        output = "\n".join(f"{n}:{line}" for n, line in enumerate(CODE.splitlines()[:120], 1))
        for message in (
            UserMessage(f"Please do step {number}, then tell me.", 1),
            AssistantMessage(
                [TextContent(PROSE), ToolCall(call, tool, arguments)], "a", "p", "m", USAGE, "toolUse", 1
            ),
            ToolResultMessage(call, tool, [TextContent(output)], False, 1, details),
        ):
            node = log.node(log.append_message(message))
            assert node is not None
            written += node.size
    return log


def _timed(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return median(taken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    for row, value in measure(parser.parse_args().quick):
        print(f"{row.title}: {row.form(value)}")
