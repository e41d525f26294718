"""A session's usage is the sum over its whole tree: every branch, every failure, every summary."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai.apis.openai_completions import _tokens
from tau.ai.assembler import PER_TOKENS, compute_usage
from tau.ai.dialect import Request, Tokens
from tau.ai.faux import FAUX_MODEL, Say, Use
from tau.ai.model import Model, Price
from tau.ai.wire import (
    AssistantMessage,
    CacheMiss,
    Cost,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.coding.session import entries as s
from tau.coding.session.stats import (
    CostLedger,
    ModelUsage,
    UsageRecord,
    UsageStats,
    add_usage,
    cache_hit_rate,
    counts,
    record_costs,
)
from tau.coding.session.storage.fork import fork
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.rig import scripted

COUNTS = st.integers(0, 10**9)
PRICES = st.floats(0, 1000, allow_nan=False)
USAGES = st.builds(
    Usage,
    *(COUNTS,) * 4,
    st.builds(lambda a, b, c, d: Cost(a, b, c, d, a + b + c + d), *(st.floats(0, 100, allow_nan=False),) * 4),
)


def usage(number: int) -> Usage:
    return Usage(number, 10 * number, 100 * number, 1_000 * number, Cost(0.1, 0.2, 0.3, 0.4, number))


def answer(number: int, *, model: str = "m", stop: Any = "stop", calls: int = 0) -> AssistantMessage:
    parts = [TextContent("x"), *(ToolCall(f"c{number}.{call}", "bash", {}) for call in range(calls))]
    return AssistantMessage(parts, "faux", "p", model, usage(number), stop, 1)


def tree() -> SessionLog:
    """Two branches with everything billable on them."""
    log = SessionLog.new(None, Path("/"))
    log.append(s.ModelChange(provider="p", model_id="m"))
    first = log.append_message(UserMessage("one", 1))
    log.append_message(answer(1, stop="error"))
    log.append_message(answer(2, calls=2, stop="toolUse"))
    log.append_message(ToolResultMessage("c2.0", "bash", [], False, 1))
    log.append(s.UsageEntry(kind="title", provider="p", model="small", usage=usage(4)))
    log.append_message(UserMessage("two", 1))
    log.append_message(answer(8, model="other", stop="aborted"))
    log.append(s.CompactionEntry(summary="s", first_kept_entry_id=first, usage=usage(16)))
    log.move(first)
    log.append(s.BranchSummaryEntry(from_id=first, summary="s", usage=usage(32)))
    log.append_message(answer(64))
    return log


def test_displayed_total_is_the_sum_over_the_tree() -> None:
    stats = UsageStats(tree())
    assert stats.usage == Usage(127, 1_270, 12_700, 127_000, stats.usage.cost)
    assert stats.usage.cost.total == 127
    assert stats.summary().cost == 127
    assert stats.summary().tokens.total == 127 * 1_111


def test_failed_and_stopped_answers_count_as_failed() -> None:
    ledger, failed = CostLedger(), {}
    for stop in ("stop", "error", "toolUse", "aborted", "length"):
        said = {"role": "assistant", "usage": msgspec.to_builtins(usage(1)), "stopReason": stop}
        line = {"type": "message", "timestamp": "2026-07-13T13:41:00.000Z", "message": said}
        cost = ledger.add(msgspec.convert(line, UsageRecord))
        assert cost is not None
        failed[stop] = cost.failed
    assert failed == {"stop": False, "error": True, "toolUse": False, "aborted": True, "length": False}


def test_turns_and_models_each_add_up_to_the_total() -> None:
    stats = UsageStats(tree())
    assert [(turn.requests, turn.usage.input) for turn in stats.turns] == [
        (5, 1 + 2 + 4 + 32 + 64),
        (2, 8 + 16),
    ]
    assert sum(turn.usage.input for turn in stats.turns) == stats.usage.input
    found = {part.model: (part.requests, part.usage.input) for part in stats.models}
    # A compaction was written by the model of its branch, not by the last one in the file.
    assert found == {"m": (4, 1 + 2 + 32 + 64), "other": (2, 8 + 16), "small": (1, 4)}
    assert [part.model for part in stats.models] == ["m", "other", "small"]


def test_messages_of_all_branches_are_counted() -> None:
    summary = msgspec.to_builtins(UsageStats(tree()).summary())
    assert {
        name: summary[name] for name in ("userMessages", "assistantMessages", "toolCalls", "toolResults")
    } == {
        "userMessages": 2,
        "assistantMessages": 4,
        "toolCalls": 2,
        "toolResults": 1,
    }
    assert summary["totalMessages"] == 7
    assert set(summary["tokens"]) == {"input", "output", "cacheRead", "cacheWrite", "total"}
    assert "sessionFile" not in summary  # kept in memory only


def test_later_entries_are_counted_once() -> None:
    log = tree()
    stats = UsageStats(log)
    before = stats.usage
    assert stats.usage == before
    log.append_message(answer(128))
    assert stats.usage.input == before.input + 128
    assert stats.usage == UsageStats(log).usage


def test_child_sessions_are_part_of_the_sum() -> None:
    stats = UsageStats(
        tree(), lambda: [ModelUsage("p", "m", 3, usage(1_000)), ModelUsage("p", "sub", 1, usage(2_000))]
    )
    assert stats.usage.input == 127 + 3_000
    assert stats.summary().cost == 127 + 3_000
    assert sum(part.usage.cost.total for part in stats.models) == stats.usage.cost.total
    assert sum(turn.usage.input for turn in stats.turns) == 127


def test_fork_shows_the_usage_of_its_tree(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/"))
    log.append_message(UserMessage("one", 1))
    log.append_message(answer(1))
    copy = fork(log, tmp_path, Path("/"))
    assert UsageStats(copy).usage == UsageStats(log).usage
    copy.close()
    log.close()


def test_unreadable_lines_are_skipped(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/"))
    log.append_message(UserMessage("one", 1))
    log.append_message(answer(1))
    log.close()
    assert log.path is not None
    with log.path.open("ab") as file:
        file.write(b'{"type":"message","id":"a","message":{"role":"assistant","usage":{"input":"many"}}}\n')
        file.write(b'{"type":"usage","id":"b","usage":7}\n{"type":"alien","id":"c","usage":{"input":9}}\n')
        file.write(
            b'{"type":"message","id":"d","message":{"role":"assistant","usage":{"input":5},"new":1}}\n'
        )
    again = SessionLog.open(log.path, read_only=True)
    assert UsageStats(again).usage.input == 1 + 5
    again.close()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), USAGES), max_size=30))
def test_any_tree_adds_up(steps: list[tuple[int, int, Usage]]) -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("go", 1))
    expected = Usage()
    for kind, back, used in steps:
        nodes = list(log.nodes())
        log.move(nodes[back % len(nodes)].id)
        match kind:
            case 0:
                log.append_message(UserMessage("more", 1))
                continue
            case 1:
                log.append_message(AssistantMessage([], "a", "p", "m", used, "error", 1))
            case 2:
                log.append(s.UsageEntry(kind="title", provider="p", model="n", usage=used))
            case 3:
                log.append(s.CompactionEntry(summary="s", first_kept_entry_id="x", usage=used))
            case _:
                log.append(s.BranchSummaryEntry(from_id="x", summary="s", usage=used))
        expected = add_usage(expected, used)
    stats = UsageStats(log)
    assert stats.usage == expected
    for parts in (stats.turns, stats.models):
        assert sum(part.usage.input for part in parts) == expected.input
        assert sum(part.usage.cache_read for part in parts) == expected.cache_read
        assert sum(part.usage.cost.total for part in parts) == pytest.approx(expected.cost.total)


@given(COUNTS, COUNTS, COUNTS, COUNTS, PRICES, PRICES, PRICES, PRICES)
def test_a_cache_hit_is_never_priced_as_input(
    input: int, output: int, read: int, write: int, i: float, o: float, r: float, w: float
) -> None:
    used = compute_usage(Tokens(input, output, read, write), Price(i, o, r, w))
    assert used.cost.input == pytest.approx(input * i / PER_TOKENS)
    assert used.cost.cache_read == pytest.approx(read * r / PER_TOKENS)
    without = compute_usage(Tokens(input, output, 0, write), Price(i, o, r, w))
    assert used.cost.total - without.cost.total == pytest.approx(read * r / PER_TOKENS, abs=1e-6)


@given(COUNTS, st.integers(0, 10**9), st.floats(0.1, 100))
def test_cache_hits_reported_as_input_are_subtracted(prompt: int, cached: int, price: float) -> None:
    """They report everything sent, and how much of it came from the cache."""
    cached = min(cached, prompt)
    tokens = _tokens({"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached}})
    used = compute_usage(tokens, Price(price, 0, 0, 0))
    assert used.input + used.cache_read == prompt
    assert used.cost.total == pytest.approx((prompt - cached) * price / PER_TOKENS)


def test_cache_misses_are_counted_by_reason() -> None:
    log = SessionLog.new(None, Path("/"))
    for tokens in (10, 5):
        missed = msgspec.structs.replace(usage(1), cache_miss=CacheMiss("tools_changed", tokens))
        log.append_message(msgspec.structs.replace(answer(1), usage=missed))
    log.append_message(answer(1))
    assert UsageStats(log).cache_misses == {"tools_changed": (2, 15)}


def test_cache_share_is_of_everything_sent() -> None:
    assert cache_hit_rate(Usage()) == 0
    assert cache_hit_rate(Usage(input=100, output=999, cache_read=800, cache_write=100)) == 0.8
    assert counts(Usage(1, 2, 3, 4)).total == 10


def test_real_session_with_a_tool_call_shows_its_cost(tmp_path: Path) -> None:
    async def main() -> None:
        make, _ = scripted([[Use("bash", command="true")], [Say("done")]], tmp_path)
        async with make as session:
            await session.prompt("go")
            answers = [
                entry.message.usage
                for _, entry in session.log.entries()
                if isinstance(entry, s.MessageEntry) and isinstance(entry.message, AssistantMessage)
            ]
            total = Usage()
            for used in answers:
                total = add_usage(total, used)
            assert len(answers) == 2
            assert session.stats.usage == total
            assert session.stats.summary().tool_calls == 1

    asyncio.run(main())


def test_side_requests_of_tools_are_counted(tmp_path: Path) -> None:
    log = SessionLog.new(None, tmp_path)

    async def complete(model: Model, request: Request) -> AssistantMessage:
        return AssistantMessage([], "a", "p", "m", Usage(input=7, output=2), "stop", 1)

    asyncio.run(
        record_costs(complete, log, "handoff")(
            FAUX_MODEL, Request(system="", messages=[], tools=[], max_tokens=1)
        )
    )
    assert (UsageStats(log).usage.input, UsageStats(log).usage.output) == (7, 2)
