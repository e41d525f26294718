"""The blocks of a transcript by themselves: what they show folded and in full, and that they fit."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tau.agent.calls import NOT_STARTED, STOPPED
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
from tau.modes.interactive.key_bindings import APP_BINDINGS
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.modes.interactive.transcript.assistant import TextBlock
from tau.modes.interactive.transcript.block import KEPT_CHARS, first_lines, kept
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.modes.interactive.transcript.notice import NoticeBlock
from tau.modes.interactive.transcript.summary import CustomBlock, SummaryBlock, compaction_title
from tau.modes.interactive.transcript.thinking import TAIL_ROWS, ThinkingBlock
from tau.modes.interactive.transcript.tool import ToolBlock, plainly_drawn
from tau.modes.interactive.transcript.tool_call import ToolCallState
from tau.modes.interactive.transcript.turn_end import TurnEndBlock, UsageLine
from tau.modes.interactive.transcript.user import FOLDED_LINES, UserBlock
from tau.modes.interactive.transcript.user_execution import UserExecutionBlock
from tau.tui.input.bindings import Keymap
from tau.tui.style import ASCII, DARK_TOKENS, PLAIN, Theme
from tau.tui.text.clean import strip_styles
from tau.tui.text.width import visible_width
from tau.tui.timer import FakeTimer
from tau.tui.widgets.transcript import Block

ENDLESS = "\x1b[2J\x1b]0;title\x07 a 漢字 wide line with 👩‍👩‍👧 in it, " * 20 + "\nand\tmore\r\nlines\n"


class Stage:
    """A scene whose clock stands still until it is moved."""

    def __init__(self, theme: Theme | None = None) -> None:
        self.timer = FakeTimer()
        self.scene = BlockContext(
            theme or Theme(PLAIN, depth="none"),
            Keymap({}, extra=APP_BINDINGS),
            cwd=lambda: Path("/project"),
            now=self.timer.time,
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


def shown(block: Block, width: int = 60) -> list[str]:
    return [strip_styles(row).rstrip() for row in block.render(width)]


def result(text: str, *, is_error: bool = False, name: str = "bash") -> ToolResultMessage:
    return ToolResultMessage("c1", name, [TextContent(text)], is_error, 0)


def ran(command: str = "ls", output: str = "out", code: int | None = 0, **more: bool) -> BashExecutionMessage:
    return BashExecutionMessage(command, output, code, more.get("cancelled", False), False, 0)


def running(scene: BlockContext, name: str = "other_tool") -> tuple[ToolCallState, ToolBlock]:
    call = ToolCallState(scene, "c1", name, {"command": "make all"})
    block = ToolBlock(scene, call)
    call.start({"command": "make all"})
    return call, block


def test_a_message_of_the_person_stands_behind_a_pointer(stage: Stage) -> None:
    assert shown(UserBlock(stage.scene, "one\ntwo")) == ["❯ one", "  two"]


def test_a_long_paste_is_folded_and_says_how_to_see_it(stage: Stage) -> None:
    block = UserBlock(stage.scene, "\n".join(f"line {number}" for number in range(5000)))
    rows = shown(block)
    assert len(rows) == FOLDED_LINES + 1
    assert rows[-1] == "  … 4,984 more lines (Ctrl+O shows all)"
    assert block.can_expand
    block.alone = True
    block.invalidate()
    assert shown(block)[4999] == "  line 4999"


def test_pictures_in_a_message_are_told_in_words(stage: Stage) -> None:
    block = UserBlock(stage.scene, [TextContent("look"), ImageContent("aGk=", "image/png")])
    assert shown(block) == ["❯ look", "  [Image: image/png]"]


def test_a_picture_that_the_text_names_is_not_told_twice(stage: Stage) -> None:
    content = [TextContent("look at [Image #1: x.png]"), ImageContent("aGk=", "image/png")]
    assert shown(UserBlock(stage.scene, content)) == ["❯ look at [Image #1: x.png]"]


def test_words_of_the_model_are_markdown_while_they_arrive_and_final_afterwards(stage: Stage) -> None:
    block = TextBlock(stage.scene)
    block.append("some **bo")
    block.append("ld** words")
    assert not block.is_final()
    assert shown(block) == ["some bold words"]
    block.finish("some **bold** words")
    assert block.is_final()
    assert shown(block) == ["some bold words"]
    block.invalidate()
    assert shown(block) == ["some bold words"]


def test_a_text_block_that_did_not_change_returns_the_same_rows(stage: Stage) -> None:
    block = TextBlock(stage.scene, "some words")
    assert block.render(40) is block.render(40)


def test_thoughts_show_their_last_rows_while_they_arrive_and_one_row_afterwards(stage: Stage) -> None:
    block = ThinkingBlock(stage.scene)
    for number in range(40):
        block.append(f"thought {number}\n")
    assert shown(block)[-1] == "  thought 39"
    assert len(shown(block)) == TAIL_ROWS
    stage.timer.advance(12)
    block.finish("First **I** look.\n\nThen I think.")
    assert block.is_final()
    assert shown(block) == ["▸ Thought for 12 s: First I look. Then I think."]
    block.alone = True
    block.invalidate()
    assert shown(block) == ["▾ Thought for 12 s", "  First I look.", "", "  Then I think."]


def test_hidden_thoughts_take_no_row(stage: Stage) -> None:
    stage.scene.hide_thinking = True
    block = ThinkingBlock(stage.scene, "secret")
    assert shown(block) == []
    assert not block.can_expand


def test_thoughts_that_the_provider_withholds_are_told_of(stage: Stage) -> None:
    assert shown(ThinkingBlock(stage.scene, "", redacted=True)) == [
        "  Thought: text withheld by the provider"
    ]
    assert shown(ThinkingBlock(stage.scene, "")) == []


def test_arguments_appear_while_they_stream_and_are_read_only_when_looked_at(stage: Stage) -> None:
    call = ToolCallState(stage.scene, "c1", "other_tool")
    block = ToolBlock(stage.scene, call)
    call.feed('{"path": "src/ta')
    assert "src/ta" in shown(block)[0]
    call.feed('u/app.py", "more": 1')
    assert "src/tau/app.py" in shown(block)[0]
    assert not block.is_final()
    call.complete(ToolCall("c1", "other_tool", {"path": "src/tau/app.py"}))
    assert call.state == "pending"


def test_long_arguments_are_not_read_again_for_every_piece(stage: Stage) -> None:
    call = ToolCallState(stage.scene, "c1", "write")
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
    call = ToolCallState(stage.scene, "c1", "other_tool")
    call.feed("[1, nonsense")
    assert call.view(expanded=False).args == {}


def test_a_running_call_shows_its_output_so_far(stage: Stage) -> None:
    call, block = running(stage.scene)
    call.update(ToolResult([TextContent("compiling a.c")]))
    assert any("compiling a.c" in row for row in shown(block))
    assert not block.is_final()


def test_a_call_that_is_done_is_final_and_knows_how_long_it_took(stage: Stage) -> None:
    call, block = running(stage.scene)
    stage.timer.advance(3.2)
    call.finish(result("fine"))
    assert block.is_final()
    assert call.view(expanded=False).elapsed_ms == 3200
    assert shown(block)[0].startswith("✓ ")
    stage.timer.advance(60)
    rows = block.render(60)
    block.invalidate()
    assert block.render(60) == rows


def test_what_is_not_finished_shares_the_window_and_shows_its_end(stage: Stage) -> None:
    stage.scene._room = lambda width: 12
    call, block = running(stage.scene)
    _, other = running(stage.scene)
    call.update(ToolResult([TextContent("\n".join(f"line {number}" for number in range(30)))]))
    rows = shown(block)
    assert len(rows) == 5
    assert "make all" in rows[0] and rows[-1] == "  line 29"
    call.finish(result("\n".join(f"line {number}" for number in range(30))))
    assert len(shown(block)) == 5
    assert block.is_final() and not other.is_final()
    assert len(shown(block)) > 10
    assert stage.scene.unfinished == 1


def test_a_failed_call_says_so_in_words(stage: Stage) -> None:
    call, block = running(stage.scene)
    call.finish(result("No such file.", is_error=True))
    rows = shown(block)
    assert rows[0].startswith("✗ ") and "failed" in rows[0]
    assert any("No such file." in row for row in rows)


def test_a_stopped_call_keeps_what_it_had_shown(stage: Stage) -> None:
    call, block = running(stage.scene, "bash")
    call.update(ToolResult([TextContent("half of it")]))
    call.finish(result(STOPPED, is_error=True))
    assert call.state == "aborted"
    rows = shown(block)
    assert "stopped" in rows[0]
    assert any("half of it" in row for row in rows)


def test_a_call_that_never_ran_took_no_time(stage: Stage) -> None:
    call, _ = running(stage.scene)
    stage.timer.advance(5)
    call.finish(result(NOT_STARTED, is_error=True))
    assert call.state == "aborted"
    assert call.view(expanded=False).elapsed_ms is None


def test_reads_that_follow_each_other_share_a_block(stage: Stage) -> None:
    first = ToolCallState(stage.scene, "r1", "read", {"path": "a.py"})
    block = ToolBlock(stage.scene, first)
    second = ToolCallState(stage.scene, "r2", "read", {"path": "b.py"})
    block.add(second)
    for call in (first, second):
        call.start(call.args)
        call.finish(ToolResultMessage(call.id, "read", [TextContent("1:text")], False, 0))
    rows = shown(block)
    assert "a.py" in "\n".join(rows) and "b.py" in "\n".join(rows)
    assert not block.is_final()
    block.close()
    assert block.is_final()


def test_a_list_with_a_failed_read_is_not_shown_as_done(stage: Stage) -> None:
    first = ToolCallState(stage.scene, "r1", "read", {"path": "a.py"})
    block = ToolBlock(stage.scene, first)
    block.add(ToolCallState(stage.scene, "r2", "read", {"path": "b.py"}))
    first.finish(ToolResultMessage("r1", "read", [TextContent("No.")], True, 0))
    block._calls[1].finish(ToolResultMessage("r2", "read", [TextContent("1:x")], False, 0))
    assert shown(block)[0].startswith("✗ ")


def test_huge_output_is_cut_with_a_note_before_it_is_kept(stage: Stage) -> None:
    call, _ = running(stage.scene)
    call.finish(result("x" * (KEPT_CHARS * 3)))
    text = call.view(expanded=True).text
    assert len(text) < KEPT_CHARS + 200
    assert "not shown" in text


def test_details_that_are_too_large_are_not_kept(stage: Stage) -> None:
    call, _ = running(stage.scene)
    message = ToolResultMessage("c1", "x", [TextContent("t")], False, 0, {"blob": "x" * (3 * KEPT_CHARS)})
    call.finish(message)
    assert call.view(expanded=True).details is None


def test_pictures_that_make_room_become_words(stage: Stage) -> None:
    call, _ = running(stage.scene)
    call.finish(ToolResultMessage("c1", "x", [ImageContent("aGk=", "image/png")], False, 0))
    assert call.pictures == 1
    call.drop_pictures()
    assert call.pictures == 0
    assert call.view(expanded=False).text == "[Image: image/png]"


def test_a_renderer_that_fails_leaves_a_plain_form(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("tau.modes.interactive.tool_views.registry.draw", broken)
    call, block = running(stage.scene)
    call.finish(result("\n".join(f"line {number}" for number in range(30))))
    rows = shown(block)
    assert rows[0].startswith("✓ other_tool make all")
    assert rows[-1] == "  line 29"


def test_the_plain_form_shows_the_last_lines_or_all() -> None:
    theme = Theme(PLAIN, depth="none")
    text = "\n".join(f"line {number}" for number in range(30))
    view = ToolCallView("x", {"a": 1, "b": [2]}, "done", Path("/"), [TextContent(text)])
    assert len(plainly_drawn(view, theme).body[0].render(40)) == 6
    assert len(plainly_drawn(view._replace(expanded=True), theme).body[0].render(40)) == 30
    assert '{"a":1,"b":[2]}' in strip_styles(plainly_drawn(view, theme).title)


def test_a_shell_line_shows_the_end_of_its_output_and_how_it_ended(stage: Stage) -> None:
    changes: list[int] = []
    line = UserExecutionBlock(stage.scene, "bash", "make test", on_change=lambda: changes.append(1))
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


def test_a_shell_line_tells_what_is_only_in_the_file(stage: Stage) -> None:
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
    rows = shown(UserExecutionBlock.of(stage.scene, message))
    assert rows[1] == "  … 999,980 more lines (Ctrl+O shows 2,980 of them)"
    assert rows[-1] == "  full output: /tmp/0.bash.log"


def test_a_shell_line_that_says_more_than_is_kept_tells_so_while_it_runs(stage: Stage) -> None:
    line = UserExecutionBlock(stage.scene, "bash", "yes")
    for _ in range(600):
        line.write("y\n" * 500)
    assert shown(line)[1].startswith("  … 299,980 more lines (Ctrl+O shows ")


def test_a_shell_line_keeps_colours_and_nothing_else_of_what_a_program_writes() -> None:
    stage = Stage(Theme(DARK_TOKENS, depth="256"))
    line = UserExecutionBlock(stage.scene, "bash", "x")
    line.write("\x1b[31mred\x1b[0m\x1b[2J\n10%\r100%\n")
    rows = list(line.render(40))
    assert "\x1b[31m" in "".join(rows) and "\x1b[2J" not in "".join(rows)
    assert shown(line)[-1] == "  100%"


def test_a_shell_line_that_is_stopped_or_refused_says_so(stage: Stage) -> None:
    stopped = UserExecutionBlock.of(stage.scene, ran("sleep 9", "", None, cancelled=True))
    assert shown(stopped) == ["! sleep 9", "  stopped"]
    refused = UserExecutionBlock(stage.scene, "bash", "rm -rf /")
    refused.fail("It was refused.")
    assert shown(refused) == ["! rm -rf /", "  It was refused."]
    assert refused.is_final()
    left = UserExecutionBlock(stage.scene, "python", "1 + 1")
    left.finish()
    assert shown(left) == ["$ 1 + 1", "  Stopped."]


def test_an_excluded_python_line_says_so(stage: Stage) -> None:
    message = PythonExecutionMessage("1 + 1", "2\n", 0, False, False, 0, exclude_from_context=True)
    rows = shown(UserExecutionBlock.of(stage.scene, message))
    assert rows == ["$ 1 + 1", "  2", "  not in the model's context"]


def test_output_without_end_is_bounded_while_it_comes(stage: Stage) -> None:
    line = UserExecutionBlock(stage.scene, "bash", "yes")
    for _ in range(40):
        line.write("y\n" * 20_000)
    assert len(line._output) <= 2 * KEPT_CHARS
    assert len(shown(line)) < 30


def test_notices_tell_their_level_by_sign_and_in_words_for_a_screen_reader(stage: Stage) -> None:
    assert shown(NoticeBlock(stage.scene, "Careful.", "warning")) == ["! Careful."]
    assert shown(NoticeBlock(stage.scene, "Broken.", "error")) == ["✗ Broken."]
    spoken = Stage(Theme(PLAIN, depth="none", linear=True))
    assert shown(NoticeBlock(spoken.scene, "Careful.", "warning")) == ["Warning: Careful."]


def test_each_way_to_end_looks_different_and_says_what_to_do(stage: Stage) -> None:
    scene = stage.scene
    assert shown(TurnEndBlock(scene, "stopped")) == ["! Stopped. Type to continue, or /retry."]
    assert shown(TurnEndBlock(scene, "cut off", "It is cut off.")) == [
        '! It is cut off. Type "continue" for the rest.'
    ]
    failed = TurnEndBlock(scene, "failed", "It broke", is_open=True)
    assert shown(failed) == ["✗ Failed: It broke."]
    assert not failed.is_final()
    failed.settle()
    assert shown(failed) == ["✗ Failed: It broke.", "  Type to continue, or /retry."]
    assert failed.is_final()
    refused = TurnEndBlock(scene, "failed", f"Example rejected the API key (401): wrong. {ANOTHER_KEY}")
    assert shown(refused, 99)[0].endswith("the API key (401): wrong. Add another one with /login.")
    lacking = TurnEndBlock(scene, "failed", f"Example answered 404: there is no model x. {ANOTHER_MODEL}")
    assert shown(lacking) == [
        "✗ Failed: Example answered 404: there is no model x.",
        "  Choose another one with /model, then /retry.",
    ]
    retried = TurnEndBlock(scene, "failed", "It broke", is_open=True)
    retried.retried()
    assert shown(retried) == ["! It broke. Retried."]
    assert not retried.is_final() and not retried.again("It broke elsewhere")
    assert retried.again("It broke")
    assert shown(retried) == ["✗ Failed 2 times: It broke."]
    retried.retried()
    retried.settle()
    assert shown(retried) == ["! It broke. Retried 2 times."]
    assert retried.is_final() and not retried.again("It broke")


def test_the_tokens_of_an_answer_are_one_line(stage: Stage) -> None:
    line = UsageLine(stage.scene, Usage(input=1200, output=34, cache_read=5000))
    assert shown(line) == ["  1,200 tokens in, 34 out, 5,000 from cache"]


def test_a_summary_is_one_line_that_opens(stage: Stage) -> None:
    block = SummaryBlock(stage.scene, compaction_title(150_000, 12_000), "# Goal\n\nTo *finish*.")
    assert shown(block, 90) == ["▸ Summarized earlier messages: 150,000 tokens became 12,000"]
    block.alone = True
    block.invalidate()
    assert shown(block, 90)[0].startswith("▾ ")
    assert "  To finish." in shown(block, 90)


def test_words_of_others_are_folded_to_a_few_lines(stage: Stage) -> None:
    block = CustomBlock(stage.scene, "job", "\n".join(f"line {number}" for number in range(9)))
    assert shown(block) == [
        "• job",
        "  line 0",
        "  line 1",
        "  line 2",
        "  line 3",
        "  … 5 more lines (Ctrl+O shows all)",
    ]


MAKERS: Sequence[Callable[[BlockContext], Block]] = (
    lambda scene: UserBlock(scene, ENDLESS),
    lambda scene: TextBlock(scene, ENDLESS),
    lambda scene: ThinkingBlock(scene, ENDLESS),
    lambda scene: NoticeBlock(scene, ENDLESS, "error"),
    lambda scene: TurnEndBlock(scene, "failed", ENDLESS),
    lambda scene: UsageLine(scene, Usage(input=123456, output=3, cache_read=4, cache_write=5)),
    lambda scene: SummaryBlock(scene, ENDLESS, ENDLESS),
    lambda scene: CustomBlock(scene, ENDLESS, ENDLESS),
    lambda scene: UserExecutionBlock.of(scene, ran(ENDLESS, ENDLESS, 1)),
    lambda scene: _finished_call(scene, "unknown_tool"),
    lambda scene: _finished_call(scene, "bash"),
    lambda scene: _finished_call(scene, "read"),
)


def _finished_call(scene: BlockContext, name: str) -> Block:
    call = ToolCallState(scene, "c1", name, {"command": ENDLESS, "path": ENDLESS})
    block = ToolBlock(scene, call)
    call.finish(result(ENDLESS, name=name, is_error=True))
    return block


@pytest.mark.parametrize("theme", ["dark", "ascii", "linear"])
@pytest.mark.parametrize("make", MAKERS)
def test_no_row_is_wider_than_the_screen_whatever_is_in_it(
    make: Callable[[BlockContext], Block], theme: str
) -> None:
    themes = {
        "dark": Theme(DARK_TOKENS, depth="256"),
        "ascii": Theme(PLAIN, depth="none", symbols=ASCII),
        "linear": Theme(PLAIN, depth="none", linear=True),
    }
    for expanded in (False, True):
        scene = Stage(themes[theme]).scene
        scene.expanded = expanded
        block = make(scene)
        for width in (1, 2, 5, 11, 12, 20, 40, 80, 200):
            for row in block.render(width):
                assert visible_width(row) <= width
                assert "\x1b[2J" not in row and "\x07" not in row and "\n" not in row


def test_what_is_kept_of_a_text_is_bounded_and_says_so() -> None:
    assert kept("short") == "short"
    long = kept("a" * KEPT_CHARS + "the end")
    assert long.endswith("the end") and "see /export" in long


def test_the_first_lines_of_a_text_and_how_many_are_missing() -> None:
    assert first_lines("a\nb", 2) == ("a\nb", 0)
    assert first_lines("a\nb\n", 2) == ("a\nb", 0)
    assert first_lines("a\nb\nc\nd", 2) == ("a\nb", 2)
    assert first_lines("x" * 100, 2, max_chars=10) == ("x" * 10, 1)
