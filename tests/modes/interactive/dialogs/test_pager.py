"""The transcript pager: what a user reads, finds and copies, and what the terminal keeps of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say, Use
from tau.modes.interactive.dialogs.paged_rows import PagedRows, PagerPlace
from tau.modes.interactive.dialogs.pager_search import find_in_rows
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run
from tests.support.terminal.virtual import VirtualTerminal

GATE = "until [ -e go ]; do sleep 0.02; done"
LONG = "for i in $(seq 1 60); do echo row-$i; done"


def conversation(turns: int = 3) -> list[Any]:
    script: list[Any] = []
    for turn in range(1, turns + 1):
        script += [[Use("bash", command=LONG)], [Say(f"Answer {turn} with a Needle in it.")]]
    return script


async def talk(rig: Rig, turns: int = 3) -> None:
    for turn in range(1, turns + 1):
        await rig.send(f"Question {turn}")
        await rig.show(f"Answer {turn}")
        await rig.idle()


async def opened(rig: Rig) -> str:
    await rig.press("ctrl+o")
    await rig.until(lambda: rig.terminal.alternate, "the pager")
    return await rig.show("Block ")


async def closed(rig: Rig) -> str:
    await rig.until(lambda: not rig.terminal.alternate, "the normal screen")
    return await rig.drawn()


def test_opening_and_closing_leaves_no_trace(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation()) as rig:
            await talk(rig)
            before, cursor = rig.terminal.tape(), rig.terminal.cursor
            for key in ("q", "escape", "ctrl+o", "ctrl+c"):
                await opened(rig)
                await rig.press(key)
                await closed(rig)
                assert rig.terminal.tape() == before
                assert rig.terminal.cursor == cursor and rig.terminal.cursor_visible
            await rig.type("still typing")
            await rig.show("still typing")

    run(test)


def test_everything_is_expanded_and_collapses_one_by_one_or_all(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation(2), rows=200) as rig:
            await talk(rig, 2)
            assert rig.screen().count("row-5\n") == 0
            shown = await opened(rig)
            assert shown.count("row-5\n") == 2
            await rig.type("E")
            await rig.until(lambda: rig.screen().count("row-5\n") == 0, "all collapsed")
            await rig.press("shift+tab", "e")
            await rig.until(lambda: rig.screen().count("row-5\n") == 1, "one expanded")
            await rig.press("e")
            await rig.until(lambda: rig.screen().count("row-5\n") == 0, "it collapsed")

    run(test)


def test_keys_scroll_and_jump_by_prompt(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation()) as rig:
            await talk(rig)
            assert "(end)" in await opened(rig)
            await rig.press("g", "]")
            await rig.show("Question 1")
            await rig.press("]")
            assert "Question 1" not in await rig.show("Question 2")
            await rig.press("}")
            await rig.show("Question 3")
            await rig.press("]")
            await rig.show("No later prompt.")
            await rig.press("[", "{", "[")
            await rig.show("No earlier prompt.")
            await rig.show("Question 1")
            top = rig.terminal.screen()[1][1:]
            await rig.press("j", "down")
            await rig.until(lambda: rig.terminal.screen()[1][1:] != top, "two rows further down")
            await rig.press("k", "up")
            await rig.until(lambda: rig.terminal.screen()[1][1:] == top, "back")
            await rig.press("space", "pageDown", "b", "pageUp")
            await rig.until(lambda: rig.terminal.screen()[1][1:] == top, "back by pages")
            await rig.press("end")
            assert "Answer 3" in await rig.show("(end)")
            await rig.press("home", "G")
            await rig.show("(end)")

    run(test)


def test_search_finds_forward_backward_and_around(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation()) as rig:
            await talk(rig)
            await opened(rig)
            await rig.press("n")
            await rig.show("Nothing to search for yet.")
            await rig.press("g")
            await rig.type("/needle\n")
            await rig.show("Answer 1 with a Needle")
            await rig.press("n")
            await rig.show("Answer 2 with a Needle")
            await rig.press("N")
            await rig.show("Answer 1 with a Needle")
            await rig.press("N")
            await rig.show("Continued from the end.")
            await rig.show("Answer 3 with a Needle")
            await rig.type("/NEEDLE\n")
            await rig.show('Not found: "NEEDLE".')
            await rig.type("/abc")
            await rig.show("/abc")
            await rig.press("escape")
            await rig.gone("/abc")
            assert rig.terminal.alternate
            await rig.press("escape")
            await closed(rig)

    run(test)


def test_selected_block_is_copied(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation(1)) as rig:
            await talk(rig, 1)
            await opened(rig)
            await rig.press("c")
            await rig.show("Copied")
            assert rig.terminal.clipboard[-1] == "Answer 1 with a Needle in it."
            await rig.press("shift+tab", "y")
            await rig.until(lambda: "row-60" in rig.terminal.clipboard[-1], "the output")

    run(test)


def test_output_that_arrives_meanwhile_is_in_both(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Say("Before."), Use("bash", command=GATE)], [Say("And after.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("Before.")
            await opened(rig)
            before = rig.terminal.tape()
            (tmp_path / "go").touch()
            await rig.show("And after.")
            await rig.until(lambda: not rig.session.busy, "the end")
            assert rig.terminal.tape() == before
            await rig.press("q")
            await closed(rig)
            assert rig.tape().count("And after.") == 1 and rig.tape().count("Before.") == 1

    run(test)


def test_approval_that_comes_up_is_announced_and_answered_below(tmp_path: Path) -> None:
    async def test() -> None:
        script = [[Use("bash", command=GATE)], [Use("write", path="/outside.txt", content="x")], [Say("No.")]]
        async with rigged(tmp_path, script) as rig:
            await rig.send("go")
            await rig.show("Running bash")
            await opened(rig)
            (tmp_path / "go").touch()
            await rig.show("A question is waiting. Press Q to answer.")
            await rig.press("j", "e", "space")
            assert "Allow" not in await rig.drawn()
            await rig.press("q")
            await closed(rig)
            await rig.show("Allow once")
            await rig.press("escape")
            await rig.idle()
            assert not Path("/outside.txt").exists()

    run(test)


def test_resizing_redraws_it_and_the_conversation_stays_complete(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation()) as rig:
            await talk(rig)
            await opened(rig)
            for columns, rows in ((40, 10), (120, 50), (20, 5), (5, 2), (80, 24)):
                rig.terminal.resize(columns, rows)
                rig.skip(1)
                await rig.drawn()
                assert all(visible_width(row) <= columns for row in rig.terminal.screen())
            await rig.show("Block ")
            await rig.press("q")
            await closed(rig)
            for turn in (1, 2, 3):
                assert f"Answer {turn} with" in rig.tape()

    run(test)


def test_pager_opens_in_the_users_pager_and_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "mypager"
    script.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/paged\n')
    script.chmod(0o700)

    async def test() -> None:
        async with rigged(tmp_path, conversation(1)) as rig:
            await talk(rig, 1)
            await opened(rig)
            monkeypatch.setenv("PAGER", str(script))
            await rig.press("v")
            await rig.until((tmp_path / "paged").exists, "the pager")
            await rig.until(lambda: rig.terminal.alternate, "our pager again")
            monkeypatch.setenv("PAGER", "/no/such/pager")
            await rig.press("v")
            await rig.show("/no/such/pager not found; set PAGER")
            await rig.press("q")
            await closed(rig)

    run(test)
    text = (tmp_path / "paged").read_text()
    assert "Question 1" in text and "row-5\n" in text and "\x1b" not in text


def test_screen_reader_gets_the_shortened_output_below(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation(1), settings={"display.screenReader": True}) as rig:
            await talk(rig, 1)
            assert "row-5\n" not in rig.tape()
            await rig.press("ctrl+o")
            await rig.until(lambda: rig.tape().count("row-5\n") == 1, "the whole output")
            assert not rig.terminal.alternate
            await rig.press("ctrl+o", "ctrl+o")
            await rig.until(lambda: "Nothing more to expand." in rig.tape(), "the end")

    run(test)


def test_quitting_while_it_is_open_restores_the_normal_screen(tmp_path: Path) -> None:
    terminal = VirtualTerminal(80, 24)

    async def test() -> None:
        async with rigged(tmp_path, conversation(1), terminal=terminal) as rig:
            await talk(rig, 1)
            await opened(rig)

    run(test)
    assert not terminal.alternate and terminal.cursor_visible
    assert "Answer 1" in "\n".join(terminal.tape())


class Numbered:
    """A block of numbered rows, which wrap below 10 columns."""

    is_prompt = can_expand = False
    expanded = True

    def __init__(self, count: int) -> None:
        self.count = count

    def expand(self, expanded: bool) -> None:
        self.expanded = expanded

    def rows(self, width: int) -> Sequence[str]:
        return [f"row {number}" for number in range(self.count)] * (1 if width >= 10 else 2)


def test_window_renders_only_what_it_shows_and_never_leaves_the_text() -> None:
    blocks = [Numbered(3), Numbered(0), Numbered(50), Numbered(1)]
    view = PagedRows(lambda: blocks)
    view.resize(80, 10)
    assert [block for block, _ in view.window()] == [2] * 8 + [3] * 2
    view.scroll_by(-1000)
    assert view.top == PagerPlace(0, 0) and len(view.window()) == 10
    view.scroll_by(5)
    assert view.top == PagerPlace(2, 2)
    view.resize(5, 10)
    assert view.top.block == 2 and len(view.window()) == 10
    view.scroll_by(1000)
    assert view.follows
    blocks.append(Numbered(4))
    assert view.window()[-1] == (4, "row 3")
    blocks.clear()
    assert view.window() == [] and view.chosen == 0


def test_wrapped_text_is_found_at_its_first_row() -> None:
    rows = ["  one two", "  three", "", "\x1b[31mtwo\x1b[0m"]
    assert find_in_rows(rows, "two three", folds=True) == [0]
    assert find_in_rows(rows, "two", folds=True) == [0, 3]
    assert find_in_rows(rows, "Two", folds=False) == []
    assert find_in_rows([], "x", folds=True) == []


def test_row_with_a_match_is_not_wider(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, conversation(1), columns=30) as rig:
            await talk(rig, 1)
            await opened(rig)
            await rig.type("/needle\n")
            await rig.drawn()
            assert all(visible_width(row) <= 30 for row in rig.terminal.screen())
            assert "Needle" in rig.screen()

    run(test)
