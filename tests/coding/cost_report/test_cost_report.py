"""Usage over time: read from all session files, counting each request once despite forks and damage."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tau.ai.wire import AssistantMessage, Cost, Usage, UserMessage
from tau.base.clock import iso
from tau.coding.cost_report.chart import MAX_BARS, Stack, _grouped, _ticks, chart_page
from tau.coding.cost_report.request_costs import UsageRow, child_usage, iter_usage
from tau.coding.cost_report.summary import as_json, local_day, start_of_day, summarize
from tau.coding.cost_report.table import usage_lines
from tau.coding.session.stats import UsageStats
from tau.coding.session.storage.fork import fork
from tau.coding.session.storage.log import SessionLog

NOW = 1_790_000_000_000
DAY = 86_400_000


@pytest.fixture(autouse=True)
def known_zone() -> Iterator[None]:
    """A time zone with daylight saving, so that days of 23 and 25 hours occur."""
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    del os.environ["TZ"]
    time.tzset()


def usage(number: int) -> Usage:
    return Usage(number, number, 8 * number, number, Cost(total=number / 100))


def session(root: Path, *amounts: int, cwd: str = "/a", model: str = "m") -> SessionLog:
    log = SessionLog.new(root / cwd.strip("/"), Path(cwd))
    log.append_message(UserMessage("go", 1))
    for amount in amounts:
        log.append_message(AssistantMessage([], "api", "p", model, usage(amount), "stop", 1))
    return log


def total(root: Path) -> int:
    return sum(row.usage.input for row in iter_usage(root))


def row(day: int, amount: int, model: str = "m", folder: str = "/a", kind: str = "answer") -> UsageRow:
    return UsageRow(NOW - day * DAY, f"s{day}", folder, "p", model, kind, usage(amount))


def test_every_request_of_every_session_is_one_row(tmp_path: Path) -> None:
    one, two = session(tmp_path, 1, 2), session(tmp_path, 4, cwd="/b", model="n")
    rows = list(iter_usage(tmp_path))
    assert sorted((row.folder, row.model, row.session, row.usage.input) for row in rows) == [
        ("/a", "m", one.header.id, 1),
        ("/a", "m", one.header.id, 2),
        ("/b", "n", two.header.id, 4),
    ]
    assert sum(row.usage.cost.total for row in rows) == pytest.approx(
        UsageStats(one).usage.cost.total + UsageStats(two).usage.cost.total
    )
    one.close()
    two.close()


def test_entries_copied_by_a_fork_are_counted_once(tmp_path: Path) -> None:
    log = session(tmp_path, 1, 2)
    first, second = fork(log, tmp_path / "x", Path("/x")), fork(log, tmp_path / "y", Path("/y"))
    for copy, amount in ((first, 4), (second, 8)):
        copy.append_message(AssistantMessage([], "api", "p", "m", usage(amount), "stop", 1))
    grandchild = fork(first, tmp_path / "z", Path("/z"))
    grandchild.append_message(AssistantMessage([], "api", "p", "m", usage(16), "stop", 1))
    for each in (log, first, second, grandchild):
        each.close()
    assert total(tmp_path) == 31
    assert log.path is not None
    log.path.unlink()  # its entries also exist in its forks
    assert total(tmp_path) == 31


def test_child_sessions_are_counted_in_their_own_folder(tmp_path: Path) -> None:
    log = session(tmp_path, 1)
    assert log.path is not None
    child = SessionLog.new(log.path.with_suffix(""), Path("/a"), parent=log.path)
    child.append_message(UserMessage("go", 1))
    child.append_message(AssistantMessage([], "api", "p", "sub", usage(2), "stop", 1))
    (log.path.with_suffix("") / "output.jsonl").write_text('{"no": "session"}\n')
    path = log.path
    assert [(part.model, part.usage.input) for part in child_usage(path)] == [("sub", 2)]
    assert UsageStats(log, lambda: child_usage(path)).usage.input == 3
    copy = fork(log, tmp_path / "x", Path("/x"))  # with its folder
    for each in (log, child, copy):
        each.close()
    assert total(tmp_path) == 3


def test_damaged_and_foreign_lines_are_skipped_alone(tmp_path: Path) -> None:
    log = session(tmp_path, 1)
    log.close()
    assert log.path is not None
    with log.path.open("ab") as file:
        file.write(b'nonsense\n{"type":"custom","id":"q","message":"text","usage":[]}\n')
        line = {
            "type": "usage",
            "id": "u",
            "timestamp": iso(NOW),
            "kind": "title",
            "provider": "p",
            "model": "t",
        }
        file.write(msgspec.json.encode({**line, "usage": msgspec.to_builtins(usage(2))}) + b"\n")
        file.write(b'{"type":"message","id":"torn","message":{"role":"assist')
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "list.jsonl").write_bytes(b"[1]\n")
    (tmp_path / "binary.jsonl").write_bytes(os.urandom(5_000))
    (tmp_path / "folder.jsonl").mkdir()
    assert sorted(row.usage.input for row in iter_usage(tmp_path)) == [1, 2]
    assert total(tmp_path / "missing") == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    log = session(tmp_path, 1)
    log.close()
    assert log.path is not None
    log.path.chmod(0)
    reported: list[Path] = []
    assert list(iter_usage(tmp_path, unreadable=reported.append)) == []
    assert reported == [log.path]


def test_entry_without_timestamp_uses_the_file_time(tmp_path: Path) -> None:
    log = session(tmp_path)
    log.close()
    assert log.path is not None
    with log.path.open("ab") as file:
        for stamp in ("", "never", "1970-01-01T00:00:00Z", "9999-01-01T00:00:00Z"):
            line = {"type": "usage", "id": f"u{stamp}", "timestamp": stamp, "usage": {"input": 1}}
            file.write(msgspec.json.encode(line) + b"\n")
    os.utime(log.path, (NOW / 1000, NOW / 1000))
    assert {row.time_ms for row in iter_usage(tmp_path)} == {NOW}


def test_old_files_are_not_read_when_the_period_is_limited(tmp_path: Path) -> None:
    log = session(tmp_path, 1)
    log.close()
    assert log.path is not None
    os.utime(log.path, (1_700_000_000, 1_700_000_000))
    assert list(iter_usage(tmp_path, since_ms=1_750_000_000_000)) == []


def test_days_models_and_folders_each_add_up_to_the_total() -> None:
    rows = [row(0, 1), row(0, 2, "n"), row(1, 4, folder="/b"), row(40, 8, kind="title"), row(3, 16)]
    everything = summarize(rows, NOW)
    for shares in (everything.days, everything.models, everything.folders, everything.kinds):
        assert sum(share.usage.input for share in shares) == everything.total.usage.input == 31
        assert sum(share.requests for share in shares) == everything.total.requests == 5
    assert len(everything.days) == 41
    month = summarize(rows, NOW, 30)
    assert month.total.usage.input == 23
    assert len(month.days) == 30
    assert [share.name for share in month.folders] == ["/a", "/b"]
    assert month.sessions == 3


def test_days_follow_the_local_clock_even_when_it_changes() -> None:
    october = 1_793_000_000_000  # 2026-10-26, the day after the clock was set back
    days = [day.name for day in summarize([], october, 5).days]
    assert days == ["2026-10-22", "2026-10-23", "2026-10-24", "2026-10-25", "2026-10-26"]
    begin = start_of_day(october, 2)
    assert (local_day(begin), local_day(begin - 1)) == ("2026-10-25", "2026-10-24")


def test_table_shows_days_models_folders_and_total() -> None:
    text = "\n".join(
        usage_lines(summarize([row(0, 100), row(1, 300, "n"), row(1, 100, folder="/b\x1b[31m")], NOW, 7))
    )
    assert re.search(r"2026-09-21 +1 +200 +800 +100 +80% +\$1\.00  █████\n", text)
    assert re.search(r"p/n +1 +600 +2\.4k +300 +80% +\$3\.00\n", text)
    assert "/b" in text and "\x1b" not in text
    assert "2026-09-15 to 2026-09-21: 2 sessions, 3 requests." in text
    assert "5,500 tokens: 500 input, 4,000 from the cache, 500 into the cache, 500 output." in text
    assert "80% of the input came from the cache. Cost: $5.00." in text
    assert list(usage_lines(summarize([], NOW, 2))) == ["No usage between 2026-09-20 and 2026-09-21."]


def test_json_output() -> None:
    document = msgspec.json.decode(msgspec.json.encode(as_json(summarize([row(0, 100), row(2, 1)], NOW, 7))))
    assert document["total"] == {
        "requests": 2,
        "tokens": {"input": 101, "output": 101, "cacheRead": 808, "cacheWrite": 101, "total": 1_111},
        "cacheHitRate": 0.8,
        "cost": 1.01,
    }
    assert [day["day"] for day in document["days"]] == ["2026-09-19", "2026-09-21"]


def test_chart_page_draws_every_day_without_external_requests() -> None:
    rows = [row(day, 10 + day, f"m{day % 8}", folder="/<script>alert(1)</script>") for day in range(20)]
    text = "".join(chart_page(summarize(rows, NOW, 30)))
    assert text.count('<g class="day">') == 60  # money and tokens
    assert "<script" not in text
    assert not re.findall(r"(?:src|href)=\"(?!data:)", text)
    assert "others" in text
    heights = [float(found) for found in re.findall(r'<rect class="p\d"[^>]*height="([\d.]+)"', text)]
    assert heights and max(heights) <= 200 and min(heights) > 0


@pytest.mark.parametrize("highest", [0, 1e-9, 0.004, 0.5, 1, 7, 99, 100, 12_345, 8.1e11])
def test_axes_have_few_round_numbers(highest: float) -> None:
    ticks = _ticks(highest)
    assert ticks[0] == 0 and ticks[-1] >= highest
    assert 2 <= len(ticks) <= 6


def test_many_days_are_drawn_in_groups() -> None:
    stacks = [Stack(f"2026-01-{number:03d}", [1.0, 2.0]) for number in range(1_000)]
    groups = _grouped(stacks)
    assert len(groups) <= MAX_BARS
    assert sum(sum(group.parts) for group in groups) == 3_000
