"""Completions: when they are queried, which answers count, and what the keys do in the list."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest

from tau.tui.style import Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.autocomplete import (
    DEBOUNCE_S,
    Answer,
    Autocomplete,
    CompletionItem,
    Suggestions,
    popup_rows,
)
from tau.tui.widgets.editor.editor import Editor
from tests.support.fake_timer import FakeTimer
from tests.tui.widgets.editor.editor_rig import editor, paste, plain_rows, press, typed

COMMANDS = ("model", "mcp", "memory", "compact")


class Commands:
    """Completes /commands from their first letters."""

    def __init__(self, **options: Any) -> None:
        self.asked: list[tuple[str, int]] = []
        self.options = options

    def complete(self, text: str, cursor: int) -> Answer:
        self.asked.append((text, cursor))
        start = text.rfind("/", 0, cursor)
        if start < 0:
            return None
        word = text[start + 1 : cursor]
        items = [
            CompletionItem(name, f"/{name}", f"Runs {name}") for name in COMMANDS if name.startswith(word)
        ]
        return Suggestions(start, items, **self.options)


class SlowCommands(Commands):
    """The same, but each answer comes when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: list[asyncio.Event] = []

    def complete(self, text: str, cursor: int) -> Awaitable[Answer]:  # type: ignore[override]
        return self._slowly(text, cursor)

    async def _slowly(self, text: str, cursor: int) -> Answer:
        gate = asyncio.Event()
        self.gates.append(gate)
        await gate.wait()
        return super().complete(text, cursor)


def offered(edited: Editor) -> list[str]:
    found = edited.completing.list
    return [] if found is None else [item.label for item in found.items]


def test_list_opens_below_the_editor_while_typing() -> None:
    edited = editor(completions=Commands())
    typed(edited, "/m")
    assert plain_rows(edited, 30) == [
        "─" * 30,
        "/m|",
        "─" * 30,
        "❯ model   Runs model",
        "  mcp     Runs mcp",
        "  memory  Runs memory",
    ]
    typed(edited, "x")
    assert len(plain_rows(edited)) == 3


def test_queries_wait_for_a_pause_and_only_the_last_is_sent() -> None:
    timer, source = FakeTimer(), Commands()
    edited = editor(completions=source, timer=timer)
    typed(edited, "/mo")
    assert (source.asked, timer.pending) == ([], 1)
    timer.advance(DEBOUNCE_S)
    assert source.asked == [("/mo", 3)]
    assert offered(edited) == ["model"]
    assert timer.pending == 0


def test_tab_takes_the_item_that_matches_the_current_text() -> None:
    timer = FakeTimer()
    edited = editor(completions=Commands(), timer=timer)
    typed(edited, "/m")
    timer.advance(1)
    typed(edited, "e")
    press(edited, "tab")
    assert edited.text == "/memory"
    assert not edited.completing.is_open
    press(edited, "ctrl+-")
    assert edited.text == "/me"


def test_arrows_wrap_around_and_pages_stop_at_the_ends() -> None:
    edited = editor(completions=Commands())
    typed(edited, "/m")
    press(edited, "up")
    assert edited.completing.chosen == CompletionItem("memory", "/memory", "Runs memory")
    press(edited, "down", "down")
    assert edited.completing.at == 1
    press(edited, "pageDown")
    assert edited.completing.at == 2
    press(edited, "pageUp")
    assert edited.completing.at == 0
    assert edited.text == "/m"


def test_escape_closes_the_list_and_is_then_unhandled() -> None:
    edited = editor(completions=Commands())
    typed(edited, "/m")
    assert press(edited, "escape", "escape") == [True, False]
    assert edited.text == "/m"


@pytest.mark.parametrize(
    ("means", "text", "sent"),
    [("accept", "/model", []), ("accept+submit", "", ["/model"]), ("submit", "", ["/m"])],
)
def test_enter_in_the_list_does_what_is_configured(means: Any, text: str, sent: list[str]) -> None:
    got: list[str] = []
    edited = editor(completions=Commands(), enter_means=means, on_submit=got.append)
    typed(edited, "/m")
    press(edited, "enter")
    assert (edited.text, got) == (text, sent)
    by_answer = editor(completions=Commands(enter=means), on_submit=got.append)
    typed(by_answer, "/m")
    press(by_answer, "enter")
    assert (by_answer.text, got) == (text, sent * 2)


def test_enter_sends_fully_typed_text() -> None:
    sent: list[str] = []
    edited = editor(completions=Commands(), on_submit=sent.append)
    typed(edited, "/model")
    press(edited, "enter")
    assert sent == ["/model"]


def test_tab_without_a_list_queries_at_once_and_takes_a_single_answer() -> None:
    source = Commands()
    edited = editor("/m", completions=source, timer=FakeTimer())
    press(edited, "tab")
    assert offered(edited) == ["model", "mcp", "memory"]
    edited.set_text("/comp")
    press(edited, "escape", "tab")
    assert edited.text == "/compact"


def test_without_completions_tab_is_a_tab() -> None:
    edited = editor("a")
    press(edited, "tab")
    assert edited.text == "a\t"


def test_moves_pastes_and_undo_close_the_list_and_erasing_queries_again() -> None:
    source = Commands()
    for keys in (["left"], ["ctrl+-"], ["home"], ["shift+enter"], ["ctrl+w"]):
        edited = editor(completions=source)
        typed(edited, "/m")
        press(edited, *keys)
        assert not edited.completing.is_open, keys
    edited = editor(completions=source)
    typed(edited, "/mo")
    press(edited, "backspace")
    assert offered(edited) == ["model", "mcp", "memory"]
    paste(edited, "m")
    assert not edited.completing.is_open


def test_folded_paste_counts_as_one_character_for_completions() -> None:
    source = Commands()
    edited = editor(completions=source)
    paste(edited, "p" * 2_000)
    typed(edited, "/m")
    assert source.asked[-1] == ("\ufffc/m", 3)
    press(edited, "tab")
    assert edited.text == "p" * 2_000 + "/model"


def test_item_can_lead_to_more() -> None:
    class Folders:
        def complete(self, text: str, cursor: int) -> Answer:
            names = {"": "src/", "src/": "src/main.py"}
            found = names.get(text[:cursor])
            return Suggestions(0, [CompletionItem(found, found, more=found.endswith("/"))]) if found else None

    edited = editor(completions=Folders())
    press(edited, "tab")
    assert edited.text == "src/"
    assert offered(edited) == ["src/main.py"]


def test_foreign_values_are_cleaned_and_a_start_behind_the_cursor_inserts() -> None:
    class Bad:
        def complete(self, text: str, cursor: int) -> Answer:
            return Suggestions(99, [CompletionItem("\x1b[2J\n", "x\x1b[31my\x07", "\x9b1m", "\x1b]0;t\x07")])

    edited = editor(completions=Bad())
    typed(edited, "a")
    assert not any("\x1b[2J" in row or "\x07" in row or "\x9b" in row for row in edited.render(30))
    press(edited, "tab")
    assert edited.text == "axy"


def test_failing_source_is_reported_and_the_editor_works_on() -> None:
    class Failing:
        def complete(self, text: str, cursor: int) -> Answer:
            raise OSError("disk")

    errors: list[Exception] = []
    edited = editor(completions=Failing())
    edited.completing.on_error = errors.append
    typed(edited, "ab")
    assert edited.text == "ab"
    assert [str(error) for error in errors] == ["disk", "disk"]


def test_async_answers_appear_when_ready_and_stale_ones_are_dropped() -> None:
    async def main() -> None:
        source, drawn = SlowCommands(), list[object]()
        async with asyncio.TaskGroup() as group:
            edited = editor(completions=source, spawn=group.create_task, request_render=drawn.append)
            typed(edited, "/m")
            await asyncio.sleep(0)
            typed(edited, "c")
            await asyncio.sleep(0)
            assert edited.completing.is_waiting
            for gate in reversed(source.gates):
                gate.set()
            await asyncio.sleep(0.01)
            assert offered(edited) == ["mcp"]
            assert source.asked == [("/mc", 3)]
            assert drawn == [edited]
            typed(edited, "x")
            press(edited, "tab")
            assert edited.text == "/mcx"
            edited.completing.close()

    asyncio.run(main())


def test_late_answer_is_dropped_even_if_it_cannot_be_cancelled() -> None:
    async def main() -> None:
        source = SlowCommands()
        async with asyncio.TaskGroup() as group:

            def spawn(work: Coroutine[Any, Any, None]) -> None:
                group.create_task(work)

            edited = editor(completions=source, spawn=spawn)
            typed(edited, "/m")
            await asyncio.sleep(0)
            typed(edited, "c")
            await asyncio.sleep(0)
            for gate in reversed(source.gates):
                gate.set()
                await asyncio.sleep(0.01)
            assert source.asked == [("/mc", 3), ("/m", 2)]
            assert offered(edited) == ["mcp"]

    asyncio.run(main())


def test_query_abandoned_before_it_began_leaves_nothing_unawaited() -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            edited = editor(completions=SlowCommands(), spawn=group.create_task)
            typed(edited, "/mod")
            edited.completing.close()
            await asyncio.sleep(0)
            assert not edited.completing.is_waiting

    asyncio.run(main())


def test_failing_async_source_affects_nothing_else() -> None:
    class Failing:
        async def complete(self, text: str, cursor: int) -> Answer:
            raise OSError("disk")

    async def main() -> None:
        errors: list[Exception] = []
        async with asyncio.TaskGroup() as group:
            edited = editor(completions=Failing(), spawn=group.create_task)
            edited.completing.on_error = errors.append
            typed(edited, "a")
        assert [str(error) for error in errors] == ["disk"]
        assert not edited.completing.is_waiting

    asyncio.run(main())


def test_async_source_needs_a_runner() -> None:
    popup = Autocomplete(SlowCommands())
    with pytest.raises(TypeError, match="spawn"):
        popup.ask(lambda: ("/", 1))


def items(count: int, groups: int = 1) -> Suggestions:
    return Suggestions(
        0, [CompletionItem(f"i{n}", f"i{n}", group=f"g{n * groups // count}") for n in range(count)]
    )


def test_list_stays_within_its_rows_and_shows_the_position() -> None:
    theme = Theme({})
    rows = popup_rows(theme, items(100), 50, 20, 6)
    assert len(rows) == 6
    assert rows[0] == "g0" and rows[-1] == "  51/100"
    assert "❯ i50" in rows
    for height in range(1, 9):
        for at in range(10):
            rows = popup_rows(theme, items(10, 5), at, 20, height)
            assert len(rows) <= height
            assert f"❯ i{at}" in rows


def test_groups_have_headings() -> None:
    assert popup_rows(Theme({}), items(2, 2), 0, 20, 8) == ["g0", "❯ i0", "g1", "  i1"]


def test_linear_mode_uses_words() -> None:
    rows = popup_rows(
        Theme({}, linear=True),
        Suggestions(0, [CompletionItem("a", "a", "first"), CompletionItem("b", "b")]),
        0,
        30,
        8,
    )
    assert rows == ["Selected: a (1 of 2): first", "b"]


def test_list_rows_fit_every_width() -> None:
    wide = Suggestions(0, [CompletionItem("日本語" * 5, "x", "説明" * 20, "グループ" * 5)] * 12)
    for width in range(1, 40):
        assert all(visible_width(row) <= width for row in popup_rows(Theme({}), wide, 3, width, 5))
