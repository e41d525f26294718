"""Every selector at every size: nothing vanishes, and Escape changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say
from tau.modes.interactive.selectors.branch import choose_branch
from tau.modes.interactive.selectors.copy import choose_copy
from tau.modes.interactive.selectors.hotkeys import choose_hotkeys
from tau.modes.interactive.selectors.model_selector import choose_model
from tau.modes.interactive.selectors.session_selector import choose_session
from tau.modes.interactive.selectors.settings_selector import choose_settings
from tau.modes.interactive.selectors.theme_selector import choose_theme
from tau.modes.interactive.selectors.thinking_selector import choose_thinking
from tau.modes.interactive.selectors.tree_selector import choose_entry
from tests.modes.interactive.rig import Rig, run
from tests.modes.interactive.selectors.selector_rig import Chooser, closed, open_conversation, settled

CHOOSERS: list[tuple[Chooser, str, str]] = [
    (choose_model, "Model", "❯ Faux"),
    (choose_thinking, "Thinking", "❯ high"),
    (choose_hotkeys, "Keys", "❯ Esc"),
    (choose_copy, "Copy", "❯ Everything"),
    (choose_branch, "Branch", "❯ second"),
    (choose_entry, "Session tree", "❯ • assistant: Ans"),
    (choose_settings, "Settings", "❯ Dark"),
    (choose_session, "Sessions", "❯ first question"),
    (choose_theme, "Theme", "❯ dusk"),
]
SIZES = [(80, 24), (40, 10), (20, 9), (200, 50)]
QUIET: dict[str, Any] = {"local.discover": False}


def state(rig: Rig) -> tuple[object, ...]:
    session = rig.session
    # Not the draft or the index, which are saved whatever is chosen.
    files = sorted(
        path.name for path in rig.current.paths.home.rglob("*") if path.suffix in (".json", ".jsonl")
    )
    files = [name for name in files if name in ("settings.json", "auth.json") or name.endswith(".jsonl")]
    look = (rig.front.theme["accent"].open, rig.front.theme.symbols)
    place = (session.log.path, session.log.leaf, session.model.key, session.thinking)
    return (*place, files, look, rig.current.settings, rig.front.editor.text)


def below(rig: Rig, title: str) -> str:
    """The screen from the title on; empty if it is not visible."""
    shown = rig.screen()
    return shown[shown.index(title) :] if title in shown else ""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_selector_fits_and_escape_changes_nothing(tmp_path: Path, size: tuple[int, int]) -> None:
    async def test() -> None:
        texts = ("first question", "second question")
        async with open_conversation(tmp_path, *texts, columns=size[0], rows=size[1], settings=QUIET) as rig:
            await rig.type("a draft")
            before = state(rig)
            for choose, title, selected in CHOOSERS:
                task = rig.parts.tasks.start(choose(rig.context))
                await rig.until(lambda: selected in below(rig, f"── {title}"), selected)  # noqa: B023
                shown = below(rig, f"── {title}")
                assert "Esc close" in shown or "Esc cancel" in shown or size[0] < 40, (title, shown)
                await rig.press("escape")
                await closed(rig, task)
                assert state(rig) == before, title
            assert "a draft" in await settled(rig)

    run(test)


def test_selection_is_visible_without_colors(tmp_path: Path) -> None:
    async def test() -> None:
        settings = {**QUIET, "theme.dark": "mono", "theme.symbols": "ascii"}
        async with open_conversation(tmp_path, "first question", "second question", settings=settings) as rig:
            for choose, title, selected in CHOOSERS[:6]:
                task = rig.parts.tasks.start(choose(rig.context))
                wanted = selected.replace("❯", ">").replace("•", "*")
                await rig.until(lambda: wanted in below(rig, f"-- {title}"), wanted)  # noqa: B023
                await rig.press("escape")
                await closed(rig, task)

    run(test)


def test_screen_reader_hears_title_keys_and_choice(tmp_path: Path) -> None:
    async def test() -> None:
        settings = {**QUIET, "display.screenReader": True}
        texts = ("first question", "second question")
        async with open_conversation(tmp_path, *texts, settings=settings, rows=60) as rig:
            for choose, title, selected in CHOOSERS:
                before = len(rig.tape())
                task = rig.parts.tasks.start(choose(rig.context))
                word = selected.removeprefix("❯ ").removeprefix("• ").replace("dusk", "dusk (current, ")
                await rig.show(f"Selected: {word}")
                heard = rig.tape()[before:]
                assert title in heard and "Keys: " in heard and not set("─│❯├└•") & set(heard), heard
                await rig.press("escape")
                await closed(rig, task)

    run(test)


def test_selector_waits_for_a_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, answers=[[Say("x")]]) as rig:
            session, rig.current.session = rig.current.session, None
            try:
                for choose in (choose_model, choose_thinking, choose_branch, choose_entry):
                    await rig.parts.tasks.start(choose(rig.context))
                    assert not rig.parts.dialogs.open
                await rig.show("still opening")
            finally:
                rig.current.session = session

    run(test)
