"""A resumed session looks as before."""

import re
from pathlib import Path

import pytest

from tau.agent.call_runner import STOPPED
from tau.ai.faux import Count, Fail, FauxStep, Say, Stop, Think, Use, Wait
from tau.ai.wire import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.base.errors import ProviderError
from tau.coding.session.entries import BranchSummaryEntry, CompactionEntry, CustomMessageEntry
from tau.coding.session.storage.log import SessionLog
from tau.modes.interactive.transcript import replay
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.tool_call import LOST
from tau.modes.interactive.transcript.user import UserBlock
from tau.tui.text.sgr import strip_escapes
from tau.tui.widgets.transcript import Transcript
from tests.modes.interactive.rig import Rig, rigged, run
from tests.modes.interactive.test_blocks import Stage


def blocks(rig: Rig) -> list[list[str]]:
    """The rows of all blocks from the first message on, without durations, which are not recorded."""
    all_of_them = list(rig.front.layout.transcript.blocks)
    first = next(place for place, block in enumerate(all_of_them) if isinstance(block, UserBlock))
    found = [[_timeless(strip_escapes(row)) for row in block.render(80)] for block in all_of_them[first:]]
    return [rows for rows in found if rows]


def _timeless(row: str) -> str:
    return re.sub(r"(, |  )[\d.]+ m?s$", "", row)


SCRIPT: list[list[FauxStep]] = [
    [
        Think("I look first.\n\nThen I act."),
        Say("Let me **look**.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"),
        Use("read", path="a.txt"),
        Use("read", path="missing.txt"),
    ],
    [Use("bash", command="echo one; echo two; exit 3")],
    [Use("write", path="new.txt", content="hello\n"), Use("nonsense", what=1)],
    [Say("All done.")],
    [Fail(ProviderError("Overloaded.", retryable=True))],
    [Count(10, 8192), Say("cut o"), Stop("length")],
    [Fail(ProviderError("The key is wrong."))],
    [Say("Half of it"), Wait(None)],
    [Use("bash", command="sleep 600")],
]


def test_resumed_session_shows_the_same_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")

    async def test() -> None:
        settings = {"retry.baseDelayMs": 1}
        async with rigged(tmp_path, SCRIPT, rows=60, settings=settings) as rig:
            await rig.send("first")
            await rig.show("All done.")
            await rig.idle()
            line = rig.parts.transcript.add_execution("bash", "echo mine", exclude=False)
            line.finish(await rig.session.bash("echo mine", show=line.write))
            await rig.send("second")
            await rig.show("cut o")
            await rig.idle()
            await rig.send("third")
            await rig.show("The key is wrong.")
            await rig.idle()
            await rig.send("fourth")
            await rig.show("Half of it")
            rig.session.abort()
            await rig.idle()
            await rig.send("fifth")
            await rig.show("Running bash")
            rig.session.abort()
            await rig.idle()
            live = blocks(rig)
            path = str(rig.session.log.path)
        async with rigged(tmp_path, SCRIPT, rows=60, resume=path) as rig:
            again = blocks(rig)
        assert again == live
        assert any("Retried." in row for rows in again for row in rows)
        assert sum("Stopped. Type to continue" in row for rows in again for row in rows) == 2

    run(test)


def test_moving_in_the_tree_shows_that_branch(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")], [Say("Two.")]]) as rig:
            await rig.send("first")
            await rig.show("One.")
            await rig.idle()
            leaf = rig.session.log.leaf
            assert leaf is not None
            await rig.send("second")
            await rig.show("Two.")
            await rig.idle()
            await rig.session.goto(leaf)
            rig.parts.transcript.rebuild()
            shown = await rig.gone("Two.")
            assert "❯ first" in shown and "❯ second" not in rig.tape()

    run(test)


def answered(text: str, *calls: ToolCall) -> AssistantMessage:
    stop = "toolUse" if calls else "stop"
    return AssistantMessage([TextContent(text), *calls], "a", "p", "m", Usage(), stop, 0)  # type: ignore[arg-type]


def replayed_rows(log: SessionLog, **options: int) -> list[str]:
    transcript = Transcript()
    replay.show_branch(TranscriptBuilder(Stage().context, transcript), log, **options)
    assert all(block.is_final() for block in transcript.blocks)  # type: ignore[attr-defined]
    return [strip_escapes(row) for row in transcript.render(80)]


@pytest.fixture
def log(tmp_path: Path) -> SessionLog:
    return SessionLog.new(None, tmp_path)


def test_long_session_shows_its_last_messages_and_counts_the_earlier_ones(log: SessionLog) -> None:
    for number in range(300):
        log.append_message(UserMessage(f"question {number}", 0))
        log.append_message(answered(f"answer {number}"))
    rows = replayed_rows(log, max_messages=20)
    assert rows[0] == "• 580 earlier messages are not shown; see /tree or /export."
    assert "❯ question 290" in rows and "❯ question 289" not in rows
    assert rows[-1] == "answer 299"


def test_cut_never_starts_with_results_whose_calls_are_hidden(log: SessionLog) -> None:
    log.append_message(UserMessage("go", 0))
    log.append_message(answered("x", ToolCall("c1", "bash", {}), ToolCall("c2", "bash", {})))
    for id in ("c1", "c2"):
        log.append_message(ToolResultMessage(id, "bash", [TextContent("out")], False, 0))
    log.append_message(answered("the end"))
    rows = replayed_rows(log, max_messages=3)
    assert rows == ["• 4 earlier messages are not shown; see /tree or /export.", "", "the end"]


def test_compacted_session_starts_with_the_kept_messages(log: SessionLog) -> None:
    log.append_message(UserMessage("old question", 0))
    log.append_message(answered("old answer"))
    kept = log.append_message(UserMessage("kept question", 0))
    log.append_message(answered("kept answer"))
    log.append(CompactionEntry(summary="# Goal", first_kept_entry_id=kept, tokens_before=90_000))
    log.append_message(UserMessage("new question", 0))
    rows = replayed_rows(log)
    assert rows[0] == "• 2 earlier messages are not shown; see /tree or /export."
    assert "❯ old question" not in rows
    shown = [row for row in rows if row]
    assert shown[1:] == [
        "❯ kept question",
        "kept answer",
        "▸ Summarized earlier messages (90,000 tokens)",
        "❯ new question",
    ]


def test_branch_summaries_and_custom_messages_are_shown_too(log: SessionLog) -> None:
    log.append(BranchSummaryEntry(from_id="x", summary="We tried."))
    log.append(CustomMessageEntry(custom_type="job", content="Job 1 is done."))
    log.append(CustomMessageEntry(custom_type="secret", content="not shown", display=False))
    rows = replayed_rows(log)
    assert rows[0].startswith("▸ Summary of the abandoned branch")
    assert "  Job 1 is done." in rows
    assert "  not shown" not in rows


def test_call_without_a_result_counts_as_stopped(log: SessionLog) -> None:
    log.append_message(UserMessage("go", 0))
    log.append_message(answered("", ToolCall("c1", "bash", {"command": "make"})))
    rows = replayed_rows(log)
    assert any("make" in row and "stopped" in row for row in rows)
    assert f"  {LOST}" in rows


def test_result_without_a_call_is_still_shown(log: SessionLog) -> None:
    log.append_message(UserMessage("go", 0))
    log.append_message(ToolResultMessage("zz", "bash", [TextContent("orphan output")], False, 0))
    assert any("orphan output" in row for row in replayed_rows(log))


def test_run_stopped_in_a_call_says_so_at_its_end(log: SessionLog) -> None:
    log.append_message(UserMessage("go", 0))
    log.append_message(answered("", ToolCall("c1", "bash", {"command": "make"})))
    log.append_message(ToolResultMessage("c1", "bash", [TextContent(STOPPED)], True, 0))
    assert replayed_rows(log)[-1] == "! Stopped. Type to continue, or /retry."
    log.append_message(UserMessage("again", 0))
    assert [row for row in replayed_rows(log) if row][-2:] == [
        "! Stopped. Type to continue, or /retry.",
        "❯ again",
    ]


def test_unanswered_message_is_pointed_out_on_resume(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            await rig.send("first")
            await rig.show("Yes.")
            await rig.idle()
            path = rig.session.log.path
            assert path is not None
        log = SessionLog.open(path)
        assert not replay.is_unanswered(log)
        log.append_message(UserMessage("second", 0))  # then tau was killed
        log.close()
        async with rigged(tmp_path, [[Say("Here it is.")]], resume=str(path)) as rig:
            await rig.show("The last message has no answer yet; send it again with /retry.")
            await rig.send("/retry")
            await rig.show("Here it is.")

    run(test)


def test_only_the_last_pictures_are_loaded(log: SessionLog) -> None:
    for number in range(12):
        id = f"c{number}"
        log.append_message(answered("", ToolCall(id, "camera", {})))
        picture = ImageContent("aGk=", "image/png")
        log.append_message(ToolResultMessage(id, "camera", [picture], False, 0))
    transcript = Transcript()
    builder = TranscriptBuilder(Stage().context, transcript)
    builder.max_pictures = 3
    replay.show_branch(builder, log)
    rows = [strip_escapes(row) for row in transcript.render(80)]
    assert sum("[Image: image/png]" in row for row in rows) == 9


def test_number_of_blocks_on_screen_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.modes.interactive.event_controller.MAX_BLOCKS", 10)
    monkeypatch.setattr("tau.modes.interactive.event_controller.KEPT_BLOCKS", 5)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]]) as rig:
            for number in range(24):
                await rig.send(f"question {number}.")
                await rig.until(lambda: len(rig.faux.requests) == number + 1 and not rig.session.busy)  # noqa: B023
            await rig.idle()
            assert len(rig.front.layout.transcript.blocks) <= 20
            asked = [row for row in rig.terminal.tape() if row.startswith("❯ question")]
            assert asked == [f"❯ question {number}." for number in range(24)]

    run(test)
