"""The screen on a terminal: what it writes, and what stands on the tape."""

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
from tests.support.soak import seeds
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.render.stagehand import Field, Growing, Lines, Stagehand, Wrapped, numbered

_CLEARS = re.compile(r"\x1b\[(?:[123]|22)J|\x1b\[[0-9;]*[Hf]|\x1bc|\x1b\[\?1049")


def test_the_first_frame_begins_at_the_cursor_and_leaves_the_shell_its_screen() -> None:
    hand = Stagehand(shell="$ ls\r\nfile\r\n$ tau\r\n").start()
    assert hand.tape == ["$ ls", "file", "$ tau", "=" * 30, ">", "=" * 30]
    assert not _CLEARS.search(hand.written)
    hand.say(1, 20)
    assert hand.record == ["$ ls", "file", "$ tau", *numbered(1, 20)]


def test_a_long_session_shown_at_once_is_in_the_history_in_order() -> None:
    hand = Stagehand(shell="$ tau\r\n")
    hand.transcript.add(Lines(*numbered(1, 200)))
    hand.start()
    assert hand.record == ["$ tau", *numbered(1, 200)]


def test_ordinary_frames_never_clear_nor_address_the_screen() -> None:
    hand = Stagehand().start()
    live = Growing()
    hand.transcript.add(live)
    for number in range(1, 60):
        live.add(f"line {number}")
        if number % 7 == 0:
            live.rows = live.rows[:-2]
        hand.terminal.type("x")
        hand.draw()
    assert not any(_CLEARS.search(text) for text in hand.terminal.writes)


def test_nothing_changed_writes_nothing_and_leaves_no_timer() -> None:
    hand = Stagehand().start()
    hand.say(1, 30)
    before = hand.terminal.bytes_written
    hand.draw()
    assert hand.terminal.bytes_written == before
    assert hand.screen.stats.emitter == "none"
    assert hand.timer.pending == 0


def test_another_theme_draws_the_window_anew_and_leaves_the_history() -> None:
    hand = Stagehand(30, 8).start()
    block = Lines(*numbered(1, 30))
    hand.transcript.add(block)
    hand.draw()
    block.rows = [f"\x1b[31m{row}\x1b[39m" for row in block.rows]
    hand.screen.invalidate()
    hand.pass_time()
    assert hand.record == numbered(1, 30)
    assert hand.terminal.cell(0, 0).fg != ""
    assert not _CLEARS.search(hand.written)


def test_a_cursor_that_only_moves_writes_only_the_move() -> None:
    class Cursor(Component):
        at = 0

        def render(self, width: int) -> list[str]:
            return [f"{'abcdef'[: self.at]}\x1b_tau:cursor\x1b\\{'abcdef'[self.at :]}"]

    hand = Stagehand(capabilities=Capabilities())
    field = Cursor()
    hand.screen.root.add(field)
    hand.start()
    field.at = 4
    hand.draw()
    assert hand.written == "\x1b[5G"
    assert hand.screen.stats.emitter == "cursor"


def test_every_frame_is_one_write_in_brackets() -> None:
    hand = Stagehand().start()
    writes = len(hand.terminal.writes)
    hand.say(1, 30)
    assert len(hand.terminal.writes) == writes + 1
    assert hand.written.startswith("\x1b[?2026h\x1b[?7l")
    assert hand.written.endswith("\x1b[?2026l")
    assert hand.written.index("\x1b[?7h") < hand.written.rindex("\x1b[3G")


def test_without_synchronized_output_only_the_autowrap_brackets_are_written() -> None:
    hand = Stagehand(capabilities=Capabilities()).start()
    hand.say(1, 3)
    assert hand.written.startswith("\x1b[?7l")
    assert "2026" not in hand.written


def test_the_cursor_is_at_the_edit_point_or_hidden_at_the_end_of_the_content() -> None:
    hand = Stagehand().start()
    hand.terminal.type("abc")
    hand.pass_time()
    assert (hand.terminal.cursor, hand.terminal.cursor_visible) == ((1, 5), True)
    hand.screen.focus(None)
    hand.pass_time()
    assert (hand.terminal.cursor[0], hand.terminal.cursor_visible) == (2, False)


def test_without_a_hardware_cursor_it_is_placed_for_input_methods_but_not_shown() -> None:
    hand = Stagehand(hardware_cursor=False).start()
    hand.terminal.type("abc")
    hand.pass_time()
    assert (hand.terminal.cursor, hand.terminal.cursor_visible) == ((1, 5), False)


def test_a_key_is_drawn_at_the_next_turn_even_while_text_streams() -> None:
    hand = Stagehand().start()
    hand.screen.request_render()
    hand.timer.advance(0.001)
    frames = hand.screen.stats.composed
    hand.terminal.type("x")
    hand.timer.advance(0)
    assert hand.screen.stats.composed == frames + 1
    assert "> x" in hand.terminal.screen()


def test_text_below_a_growing_block_is_moved_and_not_written_again() -> None:
    hand = Stagehand(60, 12).start()
    live = Growing("first")
    hand.transcript.add(live)
    hand.draw()
    for number in range(40):
        live.add(f"line {number}")
        hand.draw()
        assert "====" not in hand.written
    assert hand.screen.stats.emitter == "scroll"
    assert hand.record == ["first", *[f"line {number}" for number in range(40)]]


def test_a_block_that_changes_is_not_committed_before_it_is_final() -> None:
    hand = Stagehand(30, 8).start()
    live = Growing(*numbered(1, 30))
    hand.transcript.add(live)
    hand.draw()
    assert hand.terminal.scrollback() == []
    assert hand.screen.stats.ledger.committed == 0
    live.rows = [f"other {number}" for number in range(30)]
    live.finish()
    hand.draw()
    assert hand.record == [f"other {number}" for number in range(30)]
    assert hand.screen.stats.emitter == "rewrite"


def test_rows_that_move_above_the_window_are_written_again_and_none_is_lost() -> None:
    hand = Stagehand(30, 8)
    hand.screen.root.clear()
    free = Lines(*numbered(1, 40))
    hand.screen.root.add(free)
    hand.start()
    free.rows = [*numbered(1, 20), "between", *numbered(21, 45)]
    hand.draw()
    assert hand.tape[:32] == numbered(1, 32)
    assert hand.tape[32:] == ["between", *numbered(21, 45)]


def test_one_row_edited_above_the_window_stays_as_it_was() -> None:
    hand = Stagehand(30, 8)
    hand.screen.root.clear()
    free = Lines(*numbered(1, 40))
    hand.screen.root.add(free)
    hand.start()
    free.rows = [*numbered(1, 20), "edited", *numbered(22, 41)]
    hand.draw()
    assert hand.tape == numbered(1, 41)


def test_a_frame_that_shrinks_into_its_history_is_shown_from_its_end() -> None:
    hand = Stagehand(30, 8)
    hand.screen.root.clear()
    free = Lines(*numbered(1, 40))
    hand.screen.root.add(free)
    hand.start()
    free.rows = numbered(1, 20)
    hand.draw()
    assert hand.terminal.screen() == numbered(13, 20)
    assert hand.terminal.scrollback() == numbered(1, 32)


def test_another_record_that_is_shorter_is_not_taken_for_the_old_one() -> None:
    hand = Stagehand(30, 8).start()
    hand.say(1, 60)
    hand.transcript.clear()
    hand.transcript.add(Lines(*[f"new {number}" for number in range(30)]))
    hand.draw()
    assert [row for row in hand.tape if row.startswith("new")] == [f"new {number}" for number in range(30)]


def test_a_record_that_is_written_anew_is_below_what_the_history_holds() -> None:
    hand = Stagehand(30, 8).start()
    hand.say(1, 60)
    history = hand.terminal.scrollback()
    hand.screen.request_render(full=True)
    hand.pass_time()
    assert hand.record == [*history, *numbered(1, 60)]


@pytest.mark.parametrize("multiplexer", (False, True))
def test_the_history_keeps_the_other_session_to_its_end(multiplexer: bool) -> None:
    hand = Stagehand(30, 8, multiplexer=multiplexer, shell="$ tau\r\n").start()
    hand.say(1, 20)
    old = hand.record
    hand.screen.flush_record()
    hand.transcript.clear()
    hand.transcript.add(Lines(*[f"new {number}" for number in range(30)]))
    hand.screen.request_render(full=True)
    hand.pass_time()
    assert hand.tape[:-3] == [*old, *[f"new {number}" for number in range(30)]]
    hand.screen.stop()
    assert not any("\x1b[3J" in text or "\x1b[2J" in text for text in hand.terminal.writes)


def test_a_forced_frame_repairs_what_others_have_written() -> None:
    hand = Stagehand(30, 8).start()
    hand.say(1, 30)
    row, column = hand.terminal.cursor
    hand.terminal.feed(f"\x1b[1;1HGARBAGE\x1b[{row + 1};{column + 1}H")
    hand.screen.request_render(force=True)
    hand.pass_time()
    assert hand.record == numbered(1, 30)
    assert not _CLEARS.search(hand.written)


def test_reset_writes_the_window_anew_wherever_others_left_the_cursor() -> None:
    hand = Stagehand(30, 8, shell="$ tau\r\n").start()
    hand.say(1, 30)
    hand.terminal.feed("\x1b[5;5HGARBAGE")
    hand.screen.reset_display()
    hand.pass_time()
    assert hand.record == ["$ tau", *numbered(1, 30)]
    assert not _CLEARS.search(hand.written)


def test_blocks_that_show_more_are_written_again_from_the_first_that_differs() -> None:
    hand = Stagehand(30, 8, shell="$ tau\r\n").start()
    hand.say(1, 10)
    more = Growing("short")
    more.finish()
    hand.transcript.add(more)
    hand.say(11, 30)
    history = hand.terminal.scrollback()
    more.rows = ["long 1", "long 2"]
    hand.transcript.invalidate()
    hand.screen.request_render(force=True)
    hand.pass_time()
    assert hand.record == [*history, "long 1", "long 2", *numbered(11, 30)]


def resized(seed: int, **habits: Any) -> Stagehand:
    """Lines stream in while the window is dragged about."""
    random = Random(seed)
    hand = Stagehand(40, 10, shell="".join(f"$ {number}\r\n" for number in range(30)), **habits).start()
    live = Growing()
    hand.transcript.add(live)
    for number in range(1, 301):
        live.add(f"<{number}>")
        hand.screen.request_render()
        if number % 6 == 0:
            for _ in range(random.randint(1, 3)):
                hand.terminal.resize(random.randint(12, 90), random.randint(3, 30))
                hand.pass_time(random.choice((0, 0.01, 0.2)))
        hand.pass_time(0.02)
        if number % 40 == 0:
            live.finish()
            live = Growing()
            hand.transcript.add(live)
    return hand


@pytest.mark.parametrize("takes_back", ("always", "at the bottom", "never"))
@pytest.mark.parametrize("reflow", (True, False))
@pytest.mark.parametrize("known", (True, False))
@pytest.mark.parametrize("seed", seeds(1, 10))
def test_no_line_is_lost_in_many_resizes_while_streaming(
    seed: int, takes_back: str, reflow: bool, known: bool
) -> None:
    hand = resized(
        seed,
        reflow=reflow,
        takes_back=takes_back,
        capabilities=Capabilities(synchronized_output=True, reflows=reflow and known),
    )
    hand.pass_time()
    hand.screen.stop()
    tape = hand.tape
    assert tape[:30] == [f"$ {number}" for number in range(30)]
    last = {row: at for at, row in enumerate(tape)}
    places = [last[f"<{number}>"] for number in range(1, 301)]
    assert places == sorted(places)
    assert not any(_CLEARS.search(text) for text in hand.terminal.writes)


@pytest.mark.parametrize("reflow", (True, False))
@pytest.mark.parametrize("known", (True, False))
def test_the_lines_of_the_shell_above_the_window_survive_any_width(reflow: bool, known: bool) -> None:
    shell = [f"$ {number}" for number in range(4)]
    hand = Stagehand(
        40,
        20,
        shell="".join(f"{line}\r\n" for line in shell),
        reflow=reflow,
        capabilities=Capabilities(reflows=reflow and known),
    ).start()
    hand.transcript.add(Wrapped("abcdefgh" * 15))
    hand.draw()
    for columns in (20, 31, 14, 40):
        hand.terminal.resize(columns, 20)
        hand.pass_time()
        assert hand.tape[:4] == shell
        record = "".join(hand.record[4:])
        assert record == "abcdefgh" * 15 if known or not reflow else record.endswith("abcdefgh" * 15)


def test_a_lower_terminal_that_is_known_repeats_nothing_when_nothing_streams() -> None:
    for takes_back in ("always", "at the bottom", "never"):
        hand = Stagehand(30, 14, takes_back=takes_back, shell="$ tau\r\n").start()
        hand.say(1, 40)
        for rows in (9, 6, 14, 4, 11):
            hand.terminal.resize(30, rows)
            hand.pass_time()
            assert hand.record == ["$ tau", *numbered(1, 40)]


def test_a_higher_terminal_repeats_nothing_whether_it_takes_rows_back_or_not() -> None:
    for takes_back in ("always", "at the bottom", "never"):
        hand = Stagehand(30, 8, takes_back=takes_back, shell="$ tau\r\n").start()
        hand.say(1, 20)
        for rows in (12, 17, 40):
            hand.terminal.resize(30, rows)
            hand.pass_time()
            assert hand.record == ["$ tau", *numbered(1, 20)]
        hand.say(21, 60)
        assert hand.record == ["$ tau", *numbered(1, 60)]


def test_a_resize_waits_until_the_size_rests() -> None:
    hand = Stagehand(40, 10).start()
    frames = hand.screen.stats.frames
    for columns in range(41, 60):
        hand.terminal.resize(columns, 10)
        hand.screen.request_render()
        hand.pass_time(0.01)
    assert hand.screen.stats.frames == frames
    hand.pass_time()
    assert hand.screen.stats.frames == frames + 1
    assert hand.screen.stats.intent == "resize"


def test_a_size_that_comes_back_is_drawn_anew_too() -> None:
    hand = Stagehand(40, 10).start()
    hand.transcript.add(Wrapped("abc" * 100))
    hand.draw()
    before = hand.tape
    hand.terminal.resize(17, 4)
    hand.terminal.resize(40, 10)
    hand.pass_time()
    assert hand.tape == before


def test_in_a_multiplexer_a_resize_clears_nothing_and_loses_nothing() -> None:
    random = Random(5)
    hand = Stagehand(40, 10, multiplexer=True, shell="$ tau\r\n").start()
    for number in range(1, 121):
        hand.transcript.add(Wrapped(f"<{number}>" + " word" * random.randint(0, 12)))
        hand.draw()
        if number % 5 == 0:
            for _ in range(random.randint(1, 3)):
                hand.terminal.resize(random.randint(20, 70), random.randint(4, 20))
            hand.pass_time()
            assert hand.screen.stats.intent in ("resize", "update")
    hand.screen.stop()
    found = re.findall(r"<\d+>", "\n".join(hand.tape))
    assert set(found) == {f"<{number}>" for number in range(1, 121)}
    assert not any("\x1b[3J" in text or "\x1b[2J" in text for text in hand.terminal.writes)


def test_stopping_leaves_the_record_and_puts_the_prompt_below_it() -> None:
    hand = Stagehand(30, 8, shell="$ tau\r\n").start()
    hand.say(1, 20)
    hand.screen.stop()
    hand.terminal.feed("$ ")
    assert hand.tape == ["$ tau", *numbered(1, 20), "$"]
    assert hand.terminal.cursor_visible
    assert hand.terminal.watcher is None


def test_stopping_writes_out_rows_that_were_hidden() -> None:
    hand = Stagehand(30, 8).start()
    hand.transcript.add(Growing(*numbered(1, 50)))
    hand.draw()
    hand.screen.stop()
    assert hand.tape == numbered(1, 50)


def test_stopping_can_keep_every_row() -> None:
    hand = Stagehand(30, 8).start()
    hand.say(1, 3)
    hand.screen.stop("all")
    assert hand.tape == [*numbered(1, 3), "=" * 30, ">", "=" * 30]


def test_after_a_pause_in_the_shell_every_row_still_stands_once() -> None:
    hand = Stagehand(30, 8).start()
    hand.say(1, 20)
    live = Growing("begun")
    hand.transcript.add(live)
    hand.draw()
    hand.screen.suspend()
    hand.terminal.feed("[1]+ Stopped\r\n$ fg\r\n")
    hand.screen.resume()
    hand.pass_time()
    live.add("done")
    live.finish()
    hand.say(21, 40)
    assert hand.record == [*numbered(1, 20), "[1]+ Stopped", "$ fg", "begun", "done", *numbered(21, 40)]


def test_a_pause_during_which_the_width_changed_loses_nothing() -> None:
    hand = Stagehand(30, 8).start()
    hand.transcript.add(Wrapped("a" * 100 + "END"))
    hand.draw()
    hand.screen.suspend()
    hand.terminal.resize(50, 8)
    hand.screen.resume()
    hand.say(1, 30)
    text = "".join(hand.record)
    assert text.count("END") == 1
    assert text.endswith("".join(numbered(1, 30)))


def test_only_the_component_that_asked_is_rendered() -> None:
    class Counted(Lines):
        renders = 0

        def render(self, width: int) -> Sequence[str]:
            self.renders += 1
            return super().render(width)

    hand = Stagehand()
    other, spinner = Counted("other"), Lines("|")
    hand.screen.root.add(other, spinner)
    hand.start()
    renders = other.renders
    spinner.rows = ["/"]
    hand.screen.render_component(spinner)
    hand.pass_time()
    assert "/" in hand.terminal.screen()
    assert other.renders == renders
    hand.screen.render_component(spinner)
    hand.screen.request_render()
    hand.pass_time()
    assert other.renders == renders + 1


def test_it_runs_on_the_loop_of_the_program() -> None:
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


def test_a_terminal_of_one_cell_is_drawn_on_without_a_complaint() -> None:
    hand = Stagehand(1, 1).start()
    hand.say(1, 5)
    hand.terminal.type("abc")
    hand.terminal.resize(2, 1)
    hand.pass_time()
    hand.screen.stop()
    assert hand.terminal.cursor_visible


def test_a_record_that_lost_rows_after_a_pause_still_shows_what_stands_below_it() -> None:
    hand = Stagehand(30, 8).start()
    hand.say(1, 20)
    hand.transcript.add(Lines("x", "y", "z"))
    hand.draw()
    hand.screen.suspend()
    hand.terminal.feed("$ fg\r\n")
    hand.screen.resume()
    hand.transcript.remove_last()
    hand.draw()
    assert hand.terminal.screen() == [*numbered(16, 20), "=" * 30, ">", "=" * 30]
    assert hand.terminal.scrollback() == [*numbered(1, 20), "x", "y", "z", "$ fg"]


def test_nothing_is_shown_below_final_rows_after_a_pause_until_there_are_more() -> None:
    hand = Stagehand(30, 8)
    hand.screen.root.clear()
    rows = Lines(*numbered(1, 3))
    hand.screen.root.add(rows)
    hand.start()
    hand.screen.suspend()
    hand.terminal.feed("$ fg\r\n")
    hand.screen.resume()
    hand.draw()
    assert hand.tape == [*numbered(1, 3), "$ fg"]
    rows.rows = ["others", "of the", "same length"]
    hand.draw()
    assert hand.tape == [*numbered(1, 3), "$ fg", *rows.rows]
