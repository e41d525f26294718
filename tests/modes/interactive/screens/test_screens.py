"""Every screen: as captured, at other sizes, in other looks, and for a screen reader."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.coding.session.compaction.estimate import text_tokens
from tau.modes import command_table as commands
from tau.modes.interactive import app as app_module
from tau.tui.render import frame_loop
from tau.tui.terminal.capabilities import detect
from tests.modes.interactive.screens import looks
from tests.modes.interactive.screens.golden import COLUMNS, FOLDER, capture, path_of
from tests.modes.interactive.screens.screen_rig import ROWS, Stage, a_home, masked, staged
from tests.modes.interactive.screens.table import NO_SCREEN, ONE_LINE, SCREENS
from tests.support.soak import part
from tests.support.terminal.virtual import VirtualTerminal

SOURCE = Path(app_module.__file__).parent
OPENERS = {"ask", "pick", "ask_line", "confirm", "select", "input", "editor", "show"}
OPENED_BY = {"context", "dialogs", "host", "ui"}
FAULT = "Internal error"
OTHER_LOOKS = 3
"""In every run, a screen is checked as captured and in one of these."""


@pytest.mark.parametrize("name", SCREENS)
def test_screen_matches_its_golden_file_and_stays_intact_at_other_sizes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change, run `make snapshots` and review the diff."""
    monkeypatch.setattr(frame_loop, "RESIZE_LAG_S", -1)  # the rows were there long before the resize
    screen = SCREENS[name]

    async def test() -> None:
        terminal = VirtualTerminal(COLUMNS, ROWS)
        async with staged(screen, terminal) as stage:
            looks.check_place(terminal)
            looks.check_boxes(terminal)
            looks.check_cursor(screen, terminal)
            looks.check_shown(stage.tape(), (*screen.shows, *screen.wide))
            assert FAULT not in stage.tape()
            assert set(screen.opens.split()) <= set(stage.opened), stage.opened
            if screen.golden:
                assert capture(screen, stage) == path_of(name).read_text(encoding="utf-8")
            before = last_rows(stage)
            for columns in (20, 200, COLUMNS):
                terminal.resize(columns, ROWS)
                await stage.settled()
                row, column = terminal.cursor
                assert row < ROWS and column <= columns
                assert (looks.cursor_place(terminal) is not None) == (screen.typed is not None)
                assert FAULT not in stage.tape()
            assert last_rows(stage) == before

    asyncio.run(test())


def test_token_estimate_depended_on_the_random_name_of_the_home() -> None:
    counts = set()
    for _ in range(20):
        with a_home() as home:
            counts.add(text_tokens(str(home)))
    assert len(counts) == 1


def last_rows(stage: Stage) -> list[str]:
    """The end of what is shown: what is above it depends on scrolling."""
    return [row for row in masked(stage.screen(), stage.home).splitlines() if row.strip()][-3:]


@pytest.mark.parametrize("name", part(SCREENS, 0, OTHER_LOOKS))
def test_narrow_screen_without_colors_is_complete(name: str) -> None:
    screen = SCREENS[name]
    capabilities = detect({"NO_COLOR": "1", "TERM": "xterm-kitty"}, "linux")
    assert capabilities.color_depth == "none"

    async def test() -> None:
        terminal = VirtualTerminal(40, ROWS, capabilities=capabilities)
        async with staged(screen, terminal) as stage:
            looks.check_place(terminal)
            looks.check_boxes(terminal)
            looks.check_cursor(screen, terminal)
            looks.check_no_color(terminal)
            looks.check_shown(stage.tape(), screen.shows)

    asyncio.run(test())


@pytest.mark.parametrize("name", part(SCREENS, 1, OTHER_LOOKS))
def test_wide_light_ascii_screen_is_legible(name: str) -> None:
    screen = SCREENS[name]

    async def test() -> None:
        terminal = VirtualTerminal(200, ROWS)
        look = {"theme.background": "light", "theme.symbols": "ascii"}
        async with staged(screen, terminal, look) as stage:
            looks.check_place(terminal)
            looks.check_cursor(screen, terminal)
            looks.check_contrast(terminal)
            looks.check_ascii(stage.tape(), screen)
            looks.check_shown(stage.tape(), (*screen.shows, *screen.wide))

    asyncio.run(test())


@pytest.mark.parametrize("name", part(SCREENS, 2, OTHER_LOOKS))
def test_screen_reader_gets_everything_as_text(name: str) -> None:
    screen = SCREENS[name]

    async def test() -> None:
        terminal = VirtualTerminal(COLUMNS, ROWS)
        async with staged(screen, terminal, {"display.screenReader": True}) as stage:
            looks.check_place(terminal)
            looks.check_shown(stage.tape(), screen.announced or screen.shows)
            assert not looks.BOXES.search(stage.tape()), stage.tape()
            looks.check_ascii(stage.tape(), screen)

    asyncio.run(test())


def test_every_dialog_and_every_command_has_a_screen() -> None:
    shown = {place for screen in SCREENS.values() for place in screen.opens.split()}
    missing = {place for path in SOURCE.rglob("*.py") for place in opening(path)} - shown - set(NO_SCREEN)
    assert not missing, f"no screen opens {sorted(missing)}"
    known = {screen.command for screen in SCREENS.values()} | ONE_LINE
    assert not set(commands.ROWS) - known


def opening(path: Path) -> Iterator[str]:
    """The functions of a module that open a dialog, as `module.function`."""
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    if module == "ui_controller":  # questions of tools and extensions
        yield from (
            f"ui_controller.ScreenUi.{name}"
            for name in ("select", "confirm", "input", "editor", "approve", "ask_questions")
        )
    yield from (f"{module}.{place}" for place in _opening(ast.parse(path.read_text(encoding="utf-8")), ""))


def _opening(node: ast.AST, place: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inside = place
        if isinstance(child, ast.ClassDef):
            inside = f"{place}{child.name}."
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{place}{child.name}.<locals>."
        elif isinstance(child, ast.Call) and _opens(child.func):
            yield place.removesuffix(".<locals>.")
        yield from _opening(child, inside)


def _opens(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in ("pick", "ask_line", "show_pager")
    if not isinstance(called, ast.Attribute) or called.attr not in OPENERS:
        return isinstance(called, ast.Attribute) and called.attr == "show_pager"
    owner = called.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name.removeprefix("_") in OPENED_BY


def test_every_golden_file_has_a_screen() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {n for n, s in SCREENS.items() if s.golden}
