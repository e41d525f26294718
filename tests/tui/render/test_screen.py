"""The screen on a terminal: what it writes, and what is on the tape."""

import asyncio
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tau.tui.component import Component
from tau.tui.render.screen import Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities
from tau.tui.text.sgr import strip_escapes
from tests.support.soak import seeds
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.render.render_rig import Field, Growing, Lines, RenderRig, Wrapped, numbered

_CLEARS = re.compile(r"\x1b\[(?:[123]|22)J|\x1b\[[0-9;]*[Hf]|\x1bc|\x1b\[\?1049")


def test_first_frame_starts_at_the_cursor_and_keeps_the_shell_output() -> None:
    rig = RenderRig(shell="$ ls\r\nfile\r\n$ tau\r\n").start()
    assert rig.tape == ["$ ls", "file", "$ tau", "=" * 30, ">", "=" * 30]
    assert not _CLEARS.search(rig.written)
    rig.say(1, 20)
    assert rig.record == ["$ ls", "file", "$ tau", *numbered(1, 20)]


def test_long_session_shown_at_once_is_in_the_scrollback_in_order() -> None:
    rig = RenderRig(shell="$ tau\r\n")
    rig.transcript.add(Lines(*numbered(1, 200)))
    rig.start()
    assert rig.record == ["$ tau", *numbered(1, 200)]


def test_ordinary_frames_never_clear_or_address_the_screen() -> None:
    rig = RenderRig().start()
    live = Growing()
    rig.transcript.add(live)
    for number in range(1, 60):
        live.add(f"line {number}")
        if number % 7 == 0:
            live.rows = live.rows[:-2]
        rig.terminal.type("x")
        rig.draw()
    assert not any(_CLEARS.search(text) for text in rig.terminal.writes)


def test_no_change_writes_nothing_and_leaves_no_timer() -> None:
    rig = RenderRig().start()
    rig.say(1, 30)
    before = rig.terminal.bytes_written
    rig.draw()
    assert rig.terminal.bytes_written == before
    assert rig.screen.stats.emitter == "none"
    assert rig.timer.pending == 0


def test_new_theme_redraws_the_window_and_leaves_the_scrollback() -> None:
    rig = RenderRig(30, 8).start()
    block = Lines(*numbered(1, 30))
    rig.transcript.add(block)
    rig.draw()
    block.rows = [f"\x1b[31m{row}\x1b[39m" for row in block.rows]
    rig.screen.invalidate()
    rig.pass_time()
    assert rig.record == numbered(1, 30)
    assert rig.terminal.cell(0, 0).fg != ""
    assert not _CLEARS.search(rig.written)


def test_cursor_move_writes_only_the_move() -> None:
    class Cursor(Component):
        at = 0

        def render(self, width: int) -> list[str]:
            return [f"{'abcdef'[: self.at]}\x1b_tau:cursor\x1b\\{'abcdef'[self.at :]}"]

    rig = RenderRig(capabilities=Capabilities())
    field = Cursor()
    rig.screen.root.add(field)
    rig.start()
    field.at = 4
    rig.draw()
    assert rig.written == "\x1b[5G"
    assert rig.screen.stats.emitter == "cursor"


def test_every_frame_is_one_synchronized_write() -> None:
    rig = RenderRig().start()
    writes = len(rig.terminal.writes)
    rig.say(1, 30)
    assert len(rig.terminal.writes) == writes + 1
    assert rig.written.startswith("\x1b[?2026h\x1b[?7l")
    assert rig.written.endswith("\x1b[?2026l")
    assert rig.written.index("\x1b[?7h") < rig.written.rindex("\x1b[3G")


def test_without_synchronized_output_only_autowrap_is_toggled() -> None:
    rig = RenderRig(capabilities=Capabilities()).start()
    rig.say(1, 3)
    assert rig.written.startswith("\x1b[?7l")
    assert "2026" not in rig.written


def test_cursor_is_at_the_edit_point_or_hidden_at_the_end_of_the_content() -> None:
    rig = RenderRig().start()
    rig.terminal.type("abc")
    rig.pass_time()
    assert (rig.terminal.cursor, rig.terminal.cursor_visible) == ((1, 5), True)
    rig.screen.focus(None)
    rig.pass_time()
    assert (rig.terminal.cursor[0], rig.terminal.cursor_visible) == (2, False)


def test_without_a_hardware_cursor_it_is_placed_for_input_methods_but_hidden() -> None:
    rig = RenderRig(hardware_cursor=False).start()
    rig.terminal.type("abc")
    rig.pass_time()
    assert (rig.terminal.cursor, rig.terminal.cursor_visible) == ((1, 5), False)


def test_key_is_drawn_in_the_next_turn_even_while_text_streams() -> None:
    rig = RenderRig().start()
    rig.screen.request_render()
    rig.timer.advance(0.001)
    frames = rig.screen.stats.composed
    rig.terminal.type("x")
    rig.timer.advance(0)
    assert rig.screen.stats.composed == frames + 1
    assert "> x" in rig.terminal.screen()


def test_text_below_a_growing_block_is_moved_not_rewritten() -> None:
    rig = RenderRig(60, 12).start()
    live = Growing("first")
    rig.transcript.add(live)
    rig.draw()
    for number in range(40):
        live.add(f"line {number}")
        rig.draw()
        assert "====" not in rig.written
    assert rig.screen.stats.emitter == "scroll"
    assert rig.record == ["first", *[f"line {number}" for number in range(40)]]


def test_changing_block_is_not_committed_before_it_is_final() -> None:
    rig = RenderRig(30, 8).start()
    live = Growing(*numbered(1, 30))
    rig.transcript.add(live)
    rig.draw()
    assert rig.terminal.scrollback() == []
    assert rig.screen.stats.ledger.committed == 0
    live.rows = [f"other {number}" for number in range(30)]
    live.finish()
    rig.draw()
    assert rig.record == [f"other {number}" for number in range(30)]
    assert rig.screen.stats.emitter == "rewrite"


def test_rows_moved_above_the_window_are_written_again_and_none_is_lost() -> None:
    rig = RenderRig(30, 8)
    rig.screen.root.clear()
    free = Lines(*numbered(1, 40))
    rig.screen.root.add(free)
    rig.start()
    free.rows = [*numbered(1, 20), "between", *numbered(21, 45)]
    rig.draw()
    assert rig.tape[:32] == numbered(1, 32)
    assert rig.tape[32:] == ["between", *numbered(21, 45)]


def test_single_row_edited_above_the_window_is_not_redrawn() -> None:
    rig = RenderRig(30, 8)
    rig.screen.root.clear()
    free = Lines(*numbered(1, 40))
    rig.screen.root.add(free)
    rig.start()
    free.rows = [*numbered(1, 20), "edited", *numbered(22, 41)]
    rig.draw()
    assert rig.tape == numbered(1, 41)


def test_frame_that_shrinks_into_its_history_is_shown_from_its_end() -> None:
    rig = RenderRig(30, 8)
    rig.screen.root.clear()
    free = Lines(*numbered(1, 40))
    rig.screen.root.add(free)
    rig.start()
    free.rows = numbered(1, 20)
    rig.draw()
    assert rig.terminal.screen() == numbered(13, 20)
    assert rig.terminal.scrollback() == numbered(1, 32)


def test_shorter_new_transcript_is_not_mistaken_for_the_old_one() -> None:
    rig = RenderRig(30, 8).start()
    rig.say(1, 60)
    rig.transcript.clear()
    rig.transcript.add(Lines(*[f"new {number}" for number in range(30)]))
    rig.draw()
    assert [row for row in rig.tape if row.startswith("new")] == [f"new {number}" for number in range(30)]


def test_full_redraw_appears_below_the_scrollback() -> None:
    rig = RenderRig(30, 8).start()
    rig.say(1, 60)
    history = rig.terminal.scrollback()
    rig.screen.request_render(full=True)
    rig.pass_time()
    assert rig.record == [*history, *numbered(1, 60)]


@pytest.mark.parametrize("multiplexer", (False, True))
def test_scrollback_keeps_the_previous_session_to_its_end(multiplexer: bool) -> None:
    rig = RenderRig(30, 8, multiplexer=multiplexer, shell="$ tau\r\n").start()
    rig.say(1, 20)
    old = rig.record
    rig.screen.flush_record()
    rig.transcript.clear()
    rig.transcript.add(Lines(*[f"new {number}" for number in range(30)]))
    rig.screen.request_render(full=True)
    rig.pass_time()
    assert rig.tape[:-3] == [*old, *[f"new {number}" for number in range(30)]]
    rig.screen.stop()
    assert not any("\x1b[3J" in text or "\x1b[2J" in text for text in rig.terminal.writes)


def test_forced_frame_repairs_foreign_output() -> None:
    rig = RenderRig(30, 8).start()
    rig.say(1, 30)
    row, column = rig.terminal.cursor
    rig.terminal.feed(f"\x1b[1;1HGARBAGE\x1b[{row + 1};{column + 1}H")
    rig.screen.request_render(force=True)
    rig.pass_time()
    assert rig.record == numbered(1, 30)
    assert not _CLEARS.search(rig.written)


def test_reset_redraws_the_window_wherever_the_cursor_was_left() -> None:
    rig = RenderRig(30, 8, shell="$ tau\r\n").start()
    rig.say(1, 30)
    rig.terminal.feed("\x1b[5;5HGARBAGE")
    rig.screen.reset_display()
    rig.pass_time()
    assert rig.record == ["$ tau", *numbered(1, 30)]
    assert not _CLEARS.search(rig.written)


def test_expanded_blocks_are_written_again_from_the_first_difference() -> None:
    rig = RenderRig(30, 8, shell="$ tau\r\n").start()
    rig.say(1, 10)
    more = Growing("short")
    more.finish()
    rig.transcript.add(more)
    rig.say(11, 30)
    history = rig.terminal.scrollback()
    more.rows = ["long 1", "long 2"]
    rig.transcript.invalidate()
    rig.screen.request_render(force=True)
    rig.pass_time()
    assert rig.record == [*history, "long 1", "long 2", *numbered(11, 30)]


def resized(seed: int, **habits: Any) -> RenderRig:
    """Lines stream in while the window is resized."""
    random = Random(seed)
    rig = RenderRig(40, 10, shell="".join(f"$ {number}\r\n" for number in range(30)), **habits).start()
    live = Growing()
    rig.transcript.add(live)
    for number in range(1, 301):
        live.add(f"<{number}>")
        rig.screen.request_render()
        if number % 6 == 0:
            for _ in range(random.randint(1, 3)):
                rig.terminal.resize(random.randint(12, 90), random.randint(3, 30))
                rig.pass_time(random.choice((0, 0.01, 0.2)))
        rig.pass_time(0.02)
        if number % 40 == 0:
            live.finish()
            live = Growing()
            rig.transcript.add(live)
    return rig


@pytest.mark.parametrize("takes_back", ("always", "at the bottom", "never"))
@pytest.mark.parametrize("reflow", (True, False))
@pytest.mark.parametrize("known", (True, False))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_no_line_is_lost_in_many_resizes_while_streaming(
    seed: int, takes_back: str, reflow: bool, known: bool
) -> None:
    rig = resized(
        seed,
        reflow=reflow,
        takes_back=takes_back,
        capabilities=Capabilities(synchronized_output=True, reflows=reflow and known),
    )
    rig.pass_time()
    rig.screen.stop()
    tape = rig.tape
    assert tape[:30] == [f"$ {number}" for number in range(30)]
    last = {row: at for at, row in enumerate(tape)}
    places = [last[f"<{number}>"] for number in range(1, 301)]
    assert places == sorted(places)
    assert not any(_CLEARS.search(text) for text in rig.terminal.writes)


@pytest.mark.parametrize("reflow", (True, False))
@pytest.mark.parametrize("known", (True, False))
def test_shell_lines_above_the_window_survive_any_width(reflow: bool, known: bool) -> None:
    shell = [f"$ {number}" for number in range(4)]
    rig = RenderRig(
        40,
        20,
        shell="".join(f"{line}\r\n" for line in shell),
        reflow=reflow,
        capabilities=Capabilities(reflows=reflow and known),
    ).start()
    rig.transcript.add(Wrapped("abcdefgh" * 15))
    rig.draw()
    for columns in (20, 31, 14, 40):
        rig.terminal.resize(columns, 20)
        rig.pass_time()
        assert rig.tape[:4] == shell
        record = "".join(rig.record[4:])
        assert record == "abcdefgh" * 15 if known and reflow else record.endswith("abcdefgh" * 15)


def test_known_shorter_terminal_repeats_nothing_when_idle() -> None:
    for takes_back in ("always", "at the bottom", "never"):
        rig = RenderRig(30, 14, takes_back=takes_back, shell="$ tau\r\n").start()
        rig.say(1, 40)
        for rows in (9, 6, 14, 4, 11):
            rig.terminal.resize(30, rows)
            rig.pass_time()
            assert rig.record == ["$ tau", *numbered(1, 40)]


def test_taller_terminal_repeats_nothing_whether_it_takes_rows_back_or_not() -> None:
    for takes_back in ("always", "at the bottom", "never"):
        rig = RenderRig(30, 8, takes_back=takes_back, shell="$ tau\r\n").start()
        rig.say(1, 20)
        for rows in (12, 17, 40):
            rig.terminal.resize(30, rows)
            rig.pass_time()
            assert rig.record == ["$ tau", *numbered(1, 20)]
        rig.say(21, 60)
        assert rig.record == ["$ tau", *numbered(1, 60)]


def test_resize_waits_until_the_size_settles() -> None:
    rig = RenderRig(40, 10).start()
    frames = rig.screen.stats.frames
    for columns in range(41, 60):
        rig.terminal.resize(columns, 10)
        rig.screen.request_render()
        rig.pass_time(0.01)
    assert rig.screen.stats.frames == frames
    rig.pass_time()
    assert rig.screen.stats.frames == frames + 1
    assert rig.screen.stats.intent == "resize"


def test_restored_size_is_redrawn_too() -> None:
    rig = RenderRig(40, 10).start()
    rig.transcript.add(Wrapped("abc" * 100))
    rig.draw()
    before = rig.tape
    rig.terminal.resize(17, 4)
    rig.terminal.resize(40, 10)
    rig.pass_time()
    assert rig.tape == before


def test_in_a_multiplexer_a_resize_clears_nothing_and_loses_nothing() -> None:
    random = Random(5)
    rig = RenderRig(40, 10, multiplexer=True, shell="$ tau\r\n").start()
    for number in range(1, 121):
        rig.transcript.add(Wrapped(f"<{number}>" + " word" * random.randint(0, 12)))
        rig.draw()
        if number % 5 == 0:
            for _ in range(random.randint(1, 3)):
                rig.terminal.resize(random.randint(20, 70), random.randint(4, 20))
            rig.pass_time()
            assert rig.screen.stats.intent in ("resize", "update")
    rig.screen.stop()
    found = re.findall(r"<\d+>", "\n".join(rig.tape))
    assert set(found) == {f"<{number}>" for number in range(1, 121)}
    assert not any("\x1b[3J" in text or "\x1b[2J" in text for text in rig.terminal.writes)


def test_stopping_keeps_the_transcript_and_puts_the_prompt_below_it() -> None:
    rig = RenderRig(30, 8, shell="$ tau\r\n").start()
    rig.say(1, 20)
    rig.screen.stop()
    rig.terminal.feed("$ ")
    assert rig.tape == ["$ tau", *numbered(1, 20), "$"]
    assert rig.terminal.cursor_visible
    assert rig.terminal.watcher is None


def test_stopping_writes_out_hidden_rows() -> None:
    rig = RenderRig(30, 8).start()
    rig.transcript.add(Growing(*numbered(1, 50)))
    rig.draw()
    rig.screen.stop()
    assert rig.tape == numbered(1, 50)


def test_stopping_can_keep_every_row() -> None:
    rig = RenderRig(30, 8).start()
    rig.say(1, 3)
    rig.screen.stop("all")
    assert rig.tape == [*numbered(1, 3), "=" * 30, ">", "=" * 30]


def test_every_row_occurs_once_after_a_suspend() -> None:
    rig = RenderRig(30, 8).start()
    rig.say(1, 20)
    live = Growing("begun")
    rig.transcript.add(live)
    rig.draw()
    rig.screen.suspend()
    rig.terminal.feed("[1]+ Stopped\r\n$ fg\r\n")
    rig.screen.resume()
    rig.pass_time()
    live.add("done")
    live.finish()
    rig.say(21, 40)
    assert rig.record == [*numbered(1, 20), "[1]+ Stopped", "$ fg", "begun", "done", *numbered(21, 40)]


def test_width_change_while_suspended_loses_nothing() -> None:
    rig = RenderRig(30, 8).start()
    rig.transcript.add(Wrapped("a" * 100 + "END"))
    rig.draw()
    rig.screen.suspend()
    rig.terminal.resize(50, 8)
    rig.screen.resume()
    rig.say(1, 30)
    text = "".join(rig.record)
    assert text.count("END") == 1
    assert text.endswith("".join(numbered(1, 30)))


def test_only_the_requesting_component_is_rendered() -> None:
    class Counted(Lines):
        renders = 0

        def render(self, width: int) -> Sequence[str]:
            self.renders += 1
            return super().render(width)

    rig = RenderRig()
    other, spinner = Counted("other"), Lines("|")
    rig.screen.root.add(other, spinner)
    rig.start()
    renders = other.renders
    spinner.rows = ["/"]
    rig.screen.render_component(spinner)
    rig.pass_time()
    assert "/" in rig.terminal.screen()
    assert other.renders == renders
    rig.screen.render_component(spinner)
    rig.screen.request_render()
    rig.pass_time()
    assert other.renders == renders + 1


def test_screen_runs_on_the_program_loop() -> None:
    async def main() -> list[str]:
        terminal = VirtualTerminal(20, 5)
        screen = Screen(terminal, theme=Theme({}))
        field = Field()
        screen.root.add(field)
        screen.focus(field)
        screen.start()
        terminal.type("hi")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        screen.stop("all")
        return terminal.tape()

    assert asyncio.run(main()) == ["=" * 20, "> hi", "=" * 20]


def test_one_cell_terminal_works() -> None:
    rig = RenderRig(1, 1).start()
    rig.say(1, 5)
    rig.terminal.type("abc")
    rig.terminal.resize(2, 1)
    rig.pass_time()
    rig.screen.stop()
    assert rig.terminal.cursor_visible


def test_transcript_that_lost_rows_while_suspended_still_shows_what_is_below() -> None:
    rig = RenderRig(30, 8).start()
    rig.say(1, 20)
    rig.transcript.add(Lines("x", "y", "z"))
    rig.draw()
    rig.screen.suspend()
    rig.terminal.feed("$ fg\r\n")
    rig.screen.resume()
    rig.transcript.remove_last()
    rig.draw()
    assert rig.terminal.screen() == [*numbered(16, 20), "=" * 30, ">", "=" * 30]
    assert rig.terminal.scrollback() == [*numbered(1, 20), "x", "y", "z", "$ fg"]


def test_after_a_suspend_final_rows_reappear_only_when_there_are_more() -> None:
    rig = RenderRig(30, 8)
    rig.screen.root.clear()
    rows = Lines(*numbered(1, 3))
    rig.screen.root.add(rows)
    rig.start()
    rig.screen.suspend()
    rig.terminal.feed("$ fg\r\n")
    rig.screen.resume()
    rig.draw()
    assert rig.tape == [*numbered(1, 3), "$ fg"]
    rows.rows = ["others", "of the", "same length"]
    rig.draw()
    assert rig.tape == [*numbered(1, 3), "$ fg", *rows.rows]


@pytest.mark.parametrize("gap_s", [0.1, 1.0])
def test_narrower_terminal_shows_the_status_row_once_although_the_user_has_just_typed(gap_s: float) -> None:
    rig = RenderRig(60, 10, takes_back="never")
    rig.say(1, 3)
    rig.start()
    rig.terminal.type("hello")
    rig.pass_time(gap_s)
    rig.terminal.resize(30, 10)
    rig.pass_time()
    assert rig.tape == ["line 1", "line 2", "line 3", "=" * 30, "> hello", "=" * 30]


@pytest.mark.parametrize(
    "tabs",
    [
        "tabs of thirty letters, really   ",
        "\x1b[2m tabs\x1b[22m of thirty\x1b[1m letters, really   \x1b[22m ",
    ],
)
def test_narrower_terminal_leaves_no_title_behind_although_the_tabs_end_in_blanks(tabs: str) -> None:
    rig = RenderRig(60, 10, takes_back="never")
    rig.screen.root.clear()
    rig.screen.root.add(rig.transcript, Lines("title", tabs), rig.field)
    rig.say(1, 3)
    rig.start()
    rig.terminal.resize(31, 10)
    rig.pass_time()
    shown = strip_escapes(tabs)[:31].rstrip()
    assert rig.tape == ["line 1", "line 2", "line 3", "title", shown, "=" * 31, ">", "=" * 31]


def test_narrower_terminal_leaves_no_title_behind_although_the_selected_row_is_colored_to_the_edge() -> None:
    rig = RenderRig(60, 10, takes_back="never")
    rig.screen.root.clear()
    rig.screen.root.add(rig.transcript, Lines("title", f"\x1b[44m{'selected':60}\x1b[49m"), rig.field)
    rig.say(1, 3)
    rig.start()
    rig.terminal.resize(30, 10)
    rig.pass_time()
    assert rig.tape == ["line 1", "line 2", "line 3", "title", "selected", "=" * 30, ">", "=" * 30]
