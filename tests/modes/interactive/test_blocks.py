"""Transcript blocks on their own: collapsed and expanded content, and that they fit."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec import UNSET

from tau.agent.call_runner import NOT_STARTED, STOPPED
from tau.agent.events import ToolResult
from tau.ai.apis.error_response import ANOTHER_KEY, ANOTHER_MODEL
from tau.ai.wire import (
    BashExecutionMessage,
    ImageContent,
    PythonExecutionMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
)
from tau.coding.approval.refusals import RefusedCall, declined
from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.modes.interactive.transcript.assistant import TAIL_ROWS, TextBlock, ThinkingBlock
from tau.modes.interactive.transcript.block import KEPT_CHARS, BlockContext, cut_middle, first_lines
from tau.modes.interactive.transcript.notice import NoticeBlock, TurnEndBlock, UsageLine
from tau.modes.interactive.transcript.summary import CustomBlock, SummaryBlock, compaction_title
from tau.modes.interactive.transcript.tool import ToolBlock, draw_plainly
from tau.modes.interactive.transcript.tool_call import ToolCallState
from tau.modes.interactive.transcript.user import FOLDED_LINES, UserBlock
from tau.modes.interactive.transcript.user_execution import UserExecutionBlock
from tau.tui.input.bindings import Keymap
from tau.tui.style import ASCII, Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.transcript import Block
from tests.support.fake_timer import FakeTimer
from tests.support.palettes import DARK_TOKENS, PLAIN

ENDLESS = "\x1b[2J\x1b]0;title\x07 a 漢字 wide line with 👩‍👩‍👧 in it, " * 20 + "\nand\tmore\r\nlines\n"


class Stage:
    """A block context with a clock that only tests advance."""

    def __init__(self, theme: Theme | None = None) -> None:
        self.timer = FakeTimer()
        self.context = BlockContext(
            theme or Theme(PLAIN, depth="none"),
            Keymap({}, extra=APP_BINDINGS),
            cwd=lambda: Path("/project"),
            now=self.timer.time,
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


def shown(block: Block, width: int = 60) -> list[str]:
    return [strip_escapes(row).rstrip() for row in block.render(width)]


def result(text: str, *, is_error: bool = False, name: str = "bash") -> ToolResultMessage:
    return ToolResultMessage("c1", name, [TextContent(text)], is_error, 0)


def ran(command: str = "ls", output: str = "out", code: int | None = 0, **more: bool) -> BashExecutionMessage:
    return BashExecutionMessage(command, output, code, more.get("cancelled", False), False, 0)


def running(context: BlockContext, name: str = "other_tool") -> tuple[ToolCallState, ToolBlock]:
    call = ToolCallState(context, "c1", name, {"command": "make all"})
    block = ToolBlock(context, call)
    call.start({"command": "make all"})
    return call, block


def test_user_message_has_a_pointer_and_a_bar(stage: Stage) -> None:
    assert shown(UserBlock(stage.context, "one\n\ntwo")) == ["❯ one", "│", "│ two"]


def test_user_message_is_marked_without_colors_and_in_ascii() -> None:
    stage = Stage(Theme(PLAIN, depth="none", symbols=ASCII))
    assert shown(UserBlock(stage.context, "one\ntwo")) == ["> one", "| two"]


def test_long_paste_is_folded_and_says_how_to_see_it(stage: Stage) -> None:
    block = UserBlock(stage.context, "\n".join(f"line {number}" for number in range(5000)))
    rows = shown(block)
    assert len(rows) == FOLDED_LINES + 1
    assert rows[-1] == "│ … 4,984 more lines (Ctrl+O shows all)"
    assert block.can_expand
    stage.context.expanded = True
    block.invalidate()
    assert shown(block)[4999] == "│ line 4999"


def test_pictures_in_a_message_are_described(stage: Stage) -> None:
    block = UserBlock(stage.context, [TextContent("look"), ImageContent("aGk=", "image/png")])
    assert shown(block) == ["❯ look", "│ [Image: image/png]"]


def test_picture_named_in_the_text_is_not_described_twice(stage: Stage) -> None:
    content = [TextContent("look at [Image #1: x.png]"), ImageContent("aGk=", "image/png")]
    assert shown(UserBlock(stage.context, content)) == ["❯ look at [Image #1: x.png]"]


def test_model_text_is_markdown_while_streaming_and_final_afterwards(stage: Stage) -> None:
    block = TextBlock(stage.context)
    block.append("some **bo")
    block.append("ld** words")
    assert not block.is_final()
    assert shown(block) == ["some bold words"]
    block.finish("some **bold** words")
    assert block.is_final()
    assert shown(block) == ["some bold words"]
    block.invalidate()
    assert shown(block) == ["some bold words"]


def test_unchanged_text_block_returns_the_same_rows(stage: Stage) -> None:
    block = TextBlock(stage.context, "some words")
    assert block.render(40) is block.render(40)


def test_thinking_shows_its_last_rows_while_streaming_and_one_row_afterwards(stage: Stage) -> None:
    block = ThinkingBlock(stage.context)
    for number in range(40):
        block.append(f"thought {number}\n")
    assert shown(block)[-1] == "  thought 39"
    assert len(shown(block)) == TAIL_ROWS
    stage.timer.advance(12)
    block.finish("First **I** look.\n\nThen I think.")
    assert block.is_final()
    assert shown(block) == ["▸ Thought for 12 s: First I look. Then I think."]
    stage.context.expanded = True
    block.invalidate()
    assert shown(block) == ["▾ Thought for 12 s", "  First I look.", "", "  Then I think."]


def test_hidden_thinking_takes_no_row(stage: Stage) -> None:
    stage.context.hide_thinking = True
    block = ThinkingBlock(stage.context, "secret")
    assert shown(block) == []
    assert not block.can_expand
    assert shown(block.copy_for(Stage().context)) == ["▸ Thought: secret"]  # as in the pager


def test_redacted_thinking_is_mentioned(stage: Stage) -> None:
    assert shown(ThinkingBlock(stage.context, "", redacted=True)) == [
        "  Thought: text withheld by the provider"
    ]
    assert shown(ThinkingBlock(stage.context, "")) == []


def test_arguments_appear_while_streaming_and_are_parsed_only_when_viewed(stage: Stage) -> None:
    call = ToolCallState(stage.context, "c1", "other_tool")
    block = ToolBlock(stage.context, call)
    call.feed('{"path": "src/ta')
    assert "src/ta" in shown(block)[0]
    call.feed('u/app.py", "more": 1')
    assert "src/tau/app.py" in shown(block)[0]
    assert not block.is_final()
    call.complete(ToolCall("c1", "other_tool", {"path": "src/tau/app.py"}))
    assert call.state == "pending"


def test_a_screen_reader_hears_that_a_call_is_being_written() -> None:
    spoken = Stage(Theme(PLAIN, depth="none", linear=True))
    block = ToolBlock(spoken.context, ToolCallState(spoken.context, "c1", "other_tool"))
    assert shown(block)[0].startswith("Call: ")


def test_long_arguments_are_not_parsed_again_for_every_delta(stage: Stage) -> None:
    call = ToolCallState(stage.context, "c1", "write")
    call.feed('{"content": "' + "x" * 100_000)
    read = call.view(expanded=False).args["content"]
    before = call.changed
    call.feed("y" * 100)
    assert call.changed == before
    assert call.view(expanded=False).args["content"] is read
    call.feed("z" * 20_000)
    assert call.changed > before
    assert call.view(expanded=False).args["content"].endswith("z")


def test_broken_arguments_show_nothing_and_break_nothing(stage: Stage) -> None:
    call = ToolCallState(stage.context, "c1", "other_tool")
    call.feed("[1, nonsense")
    assert call.view(expanded=False).args == {}


def test_running_call_shows_its_output_so_far(stage: Stage) -> None:
    call, block = running(stage.context)
    call.update(ToolResult([TextContent("compiling a.c")]))
    assert any("compiling a.c" in row for row in shown(block))
    assert not block.is_final()


def test_finished_call_is_final_and_knows_its_duration(stage: Stage) -> None:
    call, block = running(stage.context)
    stage.timer.advance(3.2)
    call.finish(result("fine"))
    assert block.is_final()
    assert call.view(expanded=False).elapsed_ms == 3200
    assert shown(block)[0].startswith("✓ ")
    stage.timer.advance(60)
    rows = block.render(60)
    block.invalidate()
    assert block.render(60) == rows


def test_unfinished_blocks_share_the_window_and_show_their_end(stage: Stage) -> None:
    stage.context._room = lambda width: 12
    call, block = running(stage.context)
    _, other = running(stage.context)
    call.update(ToolResult([TextContent("\n".join(f"line {number}" for number in range(30)))]))
    rows = shown(block)
    assert len(rows) == 5
    assert "make all" in rows[0] and rows[-1] == "  line 29"
    call.finish(result("\n".join(f"line {number}" for number in range(30))))
    assert len(shown(block)) == 5
    assert block.is_final() and not other.is_final()
    assert len(shown(block)) > 10
    assert stage.context.unfinished == 1


def test_failed_call_says_so_in_words(stage: Stage) -> None:
    call, block = running(stage.context)
    call.finish(result("No such file.", is_error=True))
    rows = shown(block)
    assert rows[0].startswith("✗ ") and "failed" in rows[0]
    assert any("No such file." in row for row in rows)


def test_stopped_call_keeps_its_output(stage: Stage) -> None:
    call, block = running(stage.context, "bash")
    call.update(ToolResult([TextContent("half of it")]))
    call.finish(result(STOPPED, is_error=True))
    assert call.state == "aborted"
    rows = shown(block)
    assert "stopped" in rows[0]
    assert any("half of it" in row for row in rows)


def test_call_that_never_ran_has_no_duration(stage: Stage) -> None:
    call, _ = running(stage.context)
    stage.timer.advance(5)
    call.finish(result(NOT_STARTED, is_error=True))
    assert call.state == "aborted"
    assert call.view(expanded=False).elapsed_ms is None


def test_consecutive_reads_share_a_block(stage: Stage) -> None:
    first = ToolCallState(stage.context, "r1", "read", {"path": "a.py"})
    block = ToolBlock(stage.context, first)
    second = ToolCallState(stage.context, "r2", "read", {"path": "b.py"})
    block.add(second)
    for call in (first, second):
        call.start(call.args)
        call.finish(ToolResultMessage(call.id, "read", [TextContent("1:text")], False, 0))
    rows = shown(block)
    assert "a.py" in "\n".join(rows) and "b.py" in "\n".join(rows)
    assert not block.is_final()
    block.close()
    assert block.is_final()


def test_group_with_a_failed_read_is_not_shown_as_done(stage: Stage) -> None:
    first = ToolCallState(stage.context, "r1", "read", {"path": "a.py"})
    block = ToolBlock(stage.context, first)
    block.add(ToolCallState(stage.context, "r2", "read", {"path": "b.py"}))
    first.finish(ToolResultMessage("r1", "read", [TextContent("No.")], True, 0))
    block._calls[1].finish(ToolResultMessage("r2", "read", [TextContent("1:x")], False, 0))
    assert shown(block)[0].startswith("✗ ")


def test_huge_output_is_cut_with_a_note_before_it_is_stored(stage: Stage) -> None:
    call, _ = running(stage.context)
    call.finish(result("x" * (KEPT_CHARS * 3)))
    text = call.view(expanded=True).text
    assert len(text) < KEPT_CHARS + 200
    assert "not shown" in text


def test_oversized_details_are_dropped(stage: Stage) -> None:
    call, _ = running(stage.context)
    message = ToolResultMessage("c1", "x", [TextContent("t")], False, 0, {"blob": "x" * (3 * KEPT_CHARS)})
    call.finish(message)
    assert call.view(expanded=True).details is None


def test_dropped_pictures_become_text(stage: Stage) -> None:
    call, _ = running(stage.context)
    call.finish(ToolResultMessage("c1", "x", [ImageContent("aGk=", "image/png")], False, 0))
    assert call.pictures == 1
    call.drop_pictures()
    assert call.pictures == 0
    assert call.view(expanded=False).text == "[Image: image/png]"


def test_failing_renderer_falls_back_to_plain_text(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("tau.modes.interactive.tool_views.registry.draw", broken)
    call, block = running(stage.context)
    call.finish(result("\n".join(f"line {number}" for number in range(30))))
    rows = shown(block)
    assert rows[0].startswith("✓ other_tool make all")
    assert rows[-1] == "  line 29"


def test_plain_text_shows_the_last_lines_or_all() -> None:
    theme = Theme(PLAIN, depth="none")
    text = "\n".join(f"line {number}" for number in range(30))
    view = ToolCallView("x", {"a": 1, "b": [2]}, "done", Path("/"), [TextContent(text)])
    assert len(draw_plainly(view, theme).body[0].render(40)) == 6
    assert len(draw_plainly(view._replace(expanded=True), theme).body[0].render(40)) == 30
    assert '{"a":1,"b":[2]}' in strip_escapes(draw_plainly(view, theme).title)


def test_shell_command_shows_the_end_of_its_output_and_its_exit(stage: Stage) -> None:
    changes: list[int] = []
    line = UserExecutionBlock(stage.context, "bash", "make test", on_change=lambda: changes.append(1))
    line.write("".join(f"line {number}\n" for number in range(30)))
    rows = shown(line)
    assert rows[0] == "! make test"
    assert rows[1] == "  … 10 more lines (Ctrl+O shows all)"
    assert rows[-1] == "  line 29"
    assert not line.is_final()
    stage.timer.advance(5)
    line.finish(ran("make test", "".join(f"line {number}\n" for number in range(30)), 2))
    assert shown(line)[-1] == "  exit 2, 5.0 s"
    assert line.is_final()
    assert len(changes) == 2
    line.finish(ran("make test", "other", 0))
    assert shown(line)[-1] == "  exit 2, 5.0 s"


def test_shell_command_shows_what_is_only_in_the_file(stage: Stage) -> None:
    head, tail = ("\n".join(map(str, numbers)) for numbers in (range(1, 1501), range(998_501, 1_000_001)))
    message = BashExecutionMessage(
        command="seq 1000000",
        output=f"{head}\n[… 997000 lines not shown …]\n{tail}\n",
        exit_code=0,
        cancelled=False,
        truncated=True,
        timestamp=1,
        full_output_path="/tmp/0.bash.log",
    )
    rows = shown(UserExecutionBlock.of(stage.context, message))
    assert rows[1] == "  … 999,980 more lines (Ctrl+O shows 2,980 of them)"
    assert rows[-1] == "  full output: /tmp/0.bash.log"


def test_shell_command_with_truncated_output_says_so_while_running(stage: Stage) -> None:
    line = UserExecutionBlock(stage.context, "bash", "yes")
    for _ in range(600):
        line.write("y\n" * 500)
    assert shown(line)[1].startswith("  … 299,980 more lines (Ctrl+O shows ")


def test_shell_output_keeps_colors_but_no_other_control_sequences() -> None:
    stage = Stage(Theme(DARK_TOKENS, depth="256"))
    line = UserExecutionBlock(stage.context, "bash", "x")
    line.write("\x1b[31mred\x1b[0m\x1b[2J\n10%\r100%\n")
    rows = list(line.render(40))
    assert "\x1b[31m" in "".join(rows) and "\x1b[2J" not in "".join(rows)
    assert shown(line)[-1] == "  100%"


def test_finished_shell_output_keeps_the_colors_it_had_while_running() -> None:
    stage = Stage(Theme(DARK_TOKENS, depth="256"))
    line = UserExecutionBlock(stage.context, "bash", "x")
    line.write("\x1b[31mred\x1b[0m\x1b[2J\nplain\n")
    line.finish(ran("x", "red\nplain\n", 0))
    rows = "".join(line.render(40))
    assert "\x1b[31mred" in rows and "\x1b[2J" not in rows


def test_stopped_or_refused_shell_command_says_so(stage: Stage) -> None:
    stopped = UserExecutionBlock.of(stage.context, ran("sleep 9", "", None, cancelled=True))
    assert shown(stopped) == ["! sleep 9", "  stopped"]
    refused = UserExecutionBlock(stage.context, "bash", "rm -rf /")
    refused.fail("It was refused.")
    assert shown(refused) == ["! rm -rf /", "  It was refused."]
    assert refused.is_final()
    left = UserExecutionBlock(stage.context, "python", "1 + 1")
    left.finish()
    assert shown(left) == ["$ 1 + 1", "  Stopped."]


def test_excluded_python_command_says_so(stage: Stage) -> None:
    message = PythonExecutionMessage("1 + 1", "2\n", 0, False, False, 0, exclude_from_context=True)
    rows = shown(UserExecutionBlock.of(stage.context, message))
    assert rows == ["$ 1 + 1", "  2", "  not in the model's context"]


def test_endless_output_is_bounded_while_streaming(stage: Stage) -> None:
    line = UserExecutionBlock(stage.context, "bash", "yes")
    for _ in range(40):
        line.write("y\n" * 20_000)
    assert len(line._output) <= 2 * KEPT_CHARS
    assert len(shown(line)) < 30


def test_notices_show_their_level_as_a_sign_or_a_word_for_screen_readers(stage: Stage) -> None:
    assert shown(NoticeBlock(stage.context, "Careful.", "warning")) == ["! Careful."]
    assert shown(NoticeBlock(stage.context, "Broken.", "error")) == ["✗ Broken."]
    spoken = Stage(Theme(PLAIN, depth="none", linear=True))
    assert shown(NoticeBlock(spoken.context, "Careful.", "warning")) == ["Warning: Careful."]


def test_each_stop_reason_looks_different_and_says_what_to_do(stage: Stage) -> None:
    context = stage.context
    assert shown(TurnEndBlock(context, "stopped")) == ["! Stopped. Type to continue, or /retry."]
    assert shown(TurnEndBlock(context, "cut off", "It is cut off.")) == [
        '! It is cut off. Type "continue" for the rest.'
    ]
    failed = TurnEndBlock(context, "failed", "It broke", is_open=True)
    assert shown(failed) == ["✗ Failed: It broke."]
    assert not failed.is_final()
    failed.settle()
    assert shown(failed) == ["✗ Failed: It broke.", "  Type to continue, or /retry."]
    assert failed.is_final()
    refused = TurnEndBlock(context, "failed", f"Example rejected the API key (401): wrong. {ANOTHER_KEY}")
    assert shown(refused, 99)[0].endswith("the API key (401): wrong. Add another one with /login.")
    lacking = TurnEndBlock(context, "failed", f"Example answered 404: there is no model x. {ANOTHER_MODEL}")
    assert shown(lacking) == [
        "✗ Failed: Example answered 404: there is no model x.",
        "  Choose another one with /model, then /retry.",
    ]
    retried = TurnEndBlock(context, "failed", "It broke", is_open=True)
    retried.mark_retried()
    assert shown(retried) == ["! It broke. Retried."]
    assert not retried.is_final() and not retried.again("It broke elsewhere")
    assert retried.again("It broke")
    assert shown(retried) == ["✗ Failed 2 times: It broke."]
    retried.mark_retried()
    retried.settle()
    assert shown(retried) == ["! It broke. Retried 2 times."]
    assert retried.is_final() and not retried.again("It broke")


def test_token_usage_of_an_answer_is_one_line(stage: Stage) -> None:
    line = UsageLine(stage.context, Usage(input=1200, output=34, cache_read=5000))
    assert shown(line) == ["  1,200 tokens in, 34 out, 5,000 from cache"]


def test_summary_is_one_line_that_expands(stage: Stage) -> None:
    block = SummaryBlock(stage.context, compaction_title(150_000, 12_000), "# Goal\n\nTo *finish*.")
    assert shown(block, 90) == ["▸ Summarized earlier messages: from 150,000 to 12,000 tokens"]
    stage.context.expanded = True
    block.invalidate()
    assert shown(block, 90)[0].startswith("▾ ")
    assert "  To finish." in shown(block, 90)


def test_custom_messages_are_folded_to_a_few_lines(stage: Stage) -> None:
    block = CustomBlock(stage.context, "job", "\n".join(f"line {number}" for number in range(9)))
    assert shown(block) == [
        "• job",
        "  line 0",
        "  line 1",
        "  line 2",
        "  line 3",
        "  … 5 more lines (Ctrl+O shows all)",
    ]


MAKERS: Sequence[Callable[[BlockContext], Block]] = (
    lambda context: UserBlock(context, ENDLESS),
    lambda context: TextBlock(context, ENDLESS),
    lambda context: ThinkingBlock(context, ENDLESS),
    lambda context: NoticeBlock(context, ENDLESS, "error"),
    lambda context: TurnEndBlock(context, "failed", ENDLESS),
    lambda context: UsageLine(context, Usage(input=123456, output=3, cache_read=4, cache_write=5)),
    lambda context: SummaryBlock(context, ENDLESS, ENDLESS),
    lambda context: CustomBlock(context, ENDLESS, ENDLESS),
    lambda context: UserExecutionBlock.of(context, ran(ENDLESS, ENDLESS, 1)),
    lambda context: _finished_call(context, "unknown_tool"),
    lambda context: _finished_call(context, "bash"),
    lambda context: _finished_call(context, "read"),
)


def _finished_call(context: BlockContext, name: str) -> Block:
    call = ToolCallState(context, "c1", name, {"command": ENDLESS, "path": ENDLESS})
    block = ToolBlock(context, call)
    call.finish(result(ENDLESS, name=name, is_error=True))
    return block


@pytest.mark.parametrize("theme", ["dark", "ascii", "linear"])
@pytest.mark.parametrize("make", MAKERS)
def test_no_row_is_wider_than_the_screen_for_any_content(
    make: Callable[[BlockContext], Block], theme: str
) -> None:
    themes = {
        "dark": Theme(DARK_TOKENS, depth="256"),
        "ascii": Theme(PLAIN, depth="none", symbols=ASCII),
        "linear": Theme(PLAIN, depth="none", linear=True),
    }
    for expanded in (False, True):
        context = Stage(themes[theme]).context
        context.expanded = expanded
        block = make(context)
        for width in (1, 2, 5, 11, 12, 20, 40, 80, 200):
            for row in block.render(width):
                assert visible_width(row) <= width
                assert "\x1b[2J" not in row and "\x07" not in row and "\n" not in row


def test_stored_text_is_bounded_with_a_note() -> None:
    assert cut_middle("short") == "short"
    long = cut_middle("a" * KEPT_CHARS + "the end")
    assert long.endswith("the end") and "see /export" in long


def test_first_lines_of_a_text_and_how_many_are_missing() -> None:
    assert first_lines("a\nb", 2) == ("a\nb", 0)
    assert first_lines("a\nb\n", 2) == ("a\nb", 0)
    assert first_lines("a\nb\nc\nd", 2) == ("a\nb", 2)
    assert first_lines("x" * 100, 2, max_chars=10) == ("x" * 10, 1)


def test_declined_call_is_recognized_by_its_type_and_not_by_its_words(stage: Stage) -> None:
    words = declined("delete it", "not now").text
    for details, state in ((UNSET, "failed"), (RefusedCall(refusal="declined"), "declined")):
        call = ToolCallState(stage.context, "c1", "bash", {"command": "rm x"})
        call.start({"command": "rm x"})
        call.finish(ToolResultMessage("c1", "bash", [TextContent(words)], True, 0, details))
        assert call.state == state
    other = ToolCallState(stage.context, "c1", "bash", {"command": "rm x"})
    other.finish(
        ToolResultMessage(
            "c1", "bash", [TextContent("Anything else.")], True, 0, {"refusal": "declined", "comment": ""}
        )
    )
    assert other.state == "declined"
