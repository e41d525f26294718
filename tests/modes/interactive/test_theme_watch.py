"""Editing a theme file: the screen follows it, and keeps its look while the file is broken."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tau.config.paths import user_paths
from tau.modes.interactive.themes.theme_controller import EVERY_S
from tests.modes.interactive.rig import Rig, rigged, run


def save(accent: str, name: str = "mine") -> Path:
    path = user_paths().themes / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"colors": {"accent": accent}}))
    return path


def accent(rig: Rig) -> str:
    return rig.front.theme._tokens["accent"].fg


@asynccontextmanager
async def in_mine(folder: Path, theme: str = "mine") -> AsyncIterator[Rig]:
    async with rigged(folder, settings={"theme.dark": theme}, columns=120) as rig:
        yield rig


async def becomes(rig: Rig, color: str) -> None:
    rig.skip(EVERY_S)
    await rig.until(lambda: accent(rig) == color, f"the accent {color}")


def test_saved_theme_is_applied_automatically(tmp_path: Path) -> None:
    async def test() -> None:
        save("#111111")
        async with in_mine(tmp_path) as rig:
            assert accent(rig) == "#111111"
            save("#2222aa")
            await becomes(rig, "#2222aa")
            save("#33bb33")
            await becomes(rig, "#33bb33")

    run(test)


def test_broken_file_keeps_the_theme_and_is_reported_once(tmp_path: Path) -> None:
    async def test() -> None:
        path = save("#111111")
        async with in_mine(tmp_path) as rig:
            path.write_text('{"colors": {"accent": "#22')
            rig.skip(EVERY_S)
            rig.skip(EVERY_S)
            await rig.show("Keeping the current theme.")
            path.write_text('{"colors": {"accent": "#22')  # saved again with the same mistake
            rig.skip(EVERY_S)
            assert rig.parts.themes.watch._suspect != ""
            rig.skip(EVERY_S)
            assert rig.parts.themes.watch._suspect == ""
            await rig.drawn()
            assert accent(rig) == "#111111"
            assert rig.tape().count("Keeping the current theme.") == 1
            save("#2222aa")
            await becomes(rig, "#2222aa")

    run(test)


def test_half_written_file_is_not_reported(tmp_path: Path) -> None:
    async def test() -> None:
        path = save("#111111")
        async with in_mine(tmp_path) as rig:
            watch = rig.parts.themes.watch
            path.write_text("{")
            watch.check_now()
            assert watch._suspect
            save("#2222aa")
            watch.check_now()
            assert accent(rig) == "#2222aa" and not watch._suspect
            await rig.idle()
            assert "Keeping the current theme" not in rig.tape()

    run(test)


def test_missing_or_empty_file_keeps_the_theme_until_it_returns(tmp_path: Path) -> None:
    async def test() -> None:
        path = save("#111111")
        async with in_mine(tmp_path) as rig:
            path.unlink()
            rig.terminal.focus(True)
            rig.parts.themes.watch.follow("mine")  # as after another setting was changed
            assert accent(rig) == "#111111"
            path.write_text("")
            rig.terminal.focus(True)
            assert accent(rig) == "#111111"
            save("#2222aa")
            await becomes(rig, "#2222aa")

    run(test)


def test_leaving_the_list_restores_a_theme_whose_file_is_gone(tmp_path: Path) -> None:
    async def test() -> None:
        path = save("#111111")
        async with in_mine(tmp_path) as rig:
            path.unlink()
            await rig.send("/theme")
            await rig.show("Theme for dark terminals")
            await rig.type("ocean")
            await rig.until(lambda: accent(rig) != "#111111", "another theme")
            await rig.press("escape")
            await becomes(rig, "#111111")

    run(test)


def test_theme_broken_at_startup_is_applied_once_fixed(tmp_path: Path) -> None:
    async def test() -> None:
        path = save("#111111")
        path.write_text("{")
        async with in_mine(tmp_path) as rig:
            save("#2222aa")
            await becomes(rig, "#2222aa")

    run(test)


def test_watch_follows_a_newly_chosen_theme(tmp_path: Path) -> None:
    async def test() -> None:
        save("#111111")
        save("#444444", "other")
        async with rigged(tmp_path) as rig:
            await rig.send("/theme mine")
            await becomes(rig, "#111111")
            save("#2222aa")
            await becomes(rig, "#2222aa")
            await rig.send("/theme other")
            await becomes(rig, "#444444")
            save("#33bb33")
            rig.parts.themes.watch.check_now()
            assert accent(rig) == "#444444"

    run(test)


def test_focusing_the_terminal_checks_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        save("#111111")
        async with in_mine(tmp_path) as rig:
            save("#2222aa")
            rig.terminal.focus(True)
            assert accent(rig) == "#2222aa"

    run(test)


def is_woken(rig: Rig) -> bool:
    return rig.parts.themes.watch._next is not None


def test_builtin_theme_needs_no_watch(tmp_path: Path) -> None:
    async def test() -> None:
        save("#111111")
        async with in_mine(tmp_path, "ember") as rig:
            assert not is_woken(rig)
            rig.parts.themes.use("mine")
            assert is_woken(rig)
            rig.parts.themes.use("ember")
            assert not is_woken(rig)
        async with in_mine(tmp_path) as rig:
            assert is_woken(rig)
        assert not is_woken(rig)  # no leftovers when it ends

    run(test)
