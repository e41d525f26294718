"""tau itself: help, changelog, reload, exit."""

import json
import os
from pathlib import Path

import pytest

from tau.ai.faux import Say
from tau.modes import command_table as table
from tau.modes.interactive.commands import general
from tau.modes.interactive.commands.shared_text import columns
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import rigged, run


def home() -> Path:
    return Path(os.environ["TAU_HOME"])


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_help_names_every_command(tmp_path: Path) -> None:
    put(tmp_path / ".tau/commands/deploy.md", "---\ndescription: Ships it\n---\nDeploy.")

    async def test() -> None:
        async with rigged(tmp_path, rows=100) as rig:
            shown = await run_command(rig, "/help", "Prefixes and keys")
            assert [name for name in table.ROWS if f"/{name}" not in shown] == []
            assert "/deploy" in shown and "project: Ships it" in shown
            assert "also /quit" in shown and "Ctrl+O" in shown

    run(test)


def test_help_about_one_command(tmp_path: Path) -> None:
    put(tmp_path / ".tau/commands/deploy.md", "---\nargument-hint: WHERE\n---\nDeploy.")

    async def test() -> None:
        async with rigged(tmp_path, columns=160) as rig:
            shown = await run_command(rig, "/help compact", "/compact [FOCUS]")
            assert "Not available while the agent is working" in shown
            assert "From" in await run_command(rig, "/help /deploy", "/deploy WHERE")
            await run_command(rig, "/help compcat", "Did you mean /compact?")

    run(test)


def test_changelog_shows_the_latest_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "CHANGELOG.md"
    log.write_text("# Changelog\n\n## [2.0.0]\n\n### Added\n\n- `new` thing.\n\n## [1.0.0]\n\n- Old thing.\n")
    monkeypatch.setattr(general, "CHANGELOGS", (tmp_path / "none.md", log))

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            shown = await run_command(rig, "/changelog", "2.0.0")
            assert "- new thing." in shown and "Old thing." not in shown and "1 earlier version" in shown
            await run_command(rig, "/changelog full", "Old thing.")
            await run_command(rig, "/changelog all", "Usage: /changelog")

    run(test)


def test_changelog_is_found_beside_the_source(tmp_path: Path) -> None:
    assert any(place.is_file() for place in general.CHANGELOGS)


def test_installation_without_a_changelog_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "CHANGELOGS", ())

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            assert "no changelog" in await run_command(rig, "/changelog", "no changelog")

    run(test)


def test_reload_reports_changes_and_keeps_the_conversation(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")], [Say("Again.")]], columns=120, rows=40) as rig:
            await run_command(rig, "hello", "Hello.")
            await rig.idle()
            put(home() / "settings.json", json.dumps({"display": {"showTokenUsage": True}}))
            put(home() / "keybindings.json", json.dumps({"app.tools.expand": "ctrl+x", "no.such": "ctrl+y"}))
            put(home() / "commands/mine.md", "Mine.")
            put(tmp_path / "AGENTS.md", "Be kind.")
            before = rig.session.log.header.id
            rig.parts.names.files.all()
            put(home() / "commands/later.md", "Later.")
            shown = await run_command(rig, "/reload", "display.showTokenUsage is now true.")
            assert rig.session.log.header.id == before and "Hello." in shown
            assert "New command /later." in shown and "Unknown action 'no.such'" in shown
            assert "Open the transcript: full output, search, copy: Ctrl+X." in shown
            assert rig.current.settings.display.show_token_usage and not rig.current.settings.titles.enabled
            await run_command(rig, "again", "Again.")
            assert "Be kind." in rig.faux.requests[-1].system

    run(test)


def test_reload_reads_the_theme_again_and_reports_problems(tmp_path: Path) -> None:
    put(home() / "themes/mine.json", '{"name": "mine", "kind": "dark", "colors": {"accent": "#112233"}}')
    put(home() / "settings.json", '{"theme": {"dark": "mine"}}')

    async def test() -> None:
        async with rigged(tmp_path, columns=160) as rig:
            before = rig.front.theme["accent"]("x")
            put(
                home() / "themes/mine.json",
                '{"name": "mine", "kind": "dark", "colors": {"accent": "#aabbcc"}}',
            )
            await run_command(rig, "/reload", "No settings changed.")
            assert rig.front.theme["accent"]("x") != before
            put(home() / "themes/mine.json", '{"name": "mine", ')
            assert "mine.json" in await run_command(rig, "/reload", "Invalid JSON")

    run(test)


def test_reload_of_a_broken_file_says_where_and_changes_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160) as rig:
            await run_command(rig, "hello", "Hello.")
            await rig.idle()
            put(home() / "settings.json", '{"display": {"tabWidth": "wide"}}')
            before = rig.session
            assert "settings.json" in await run_command(rig, "/reload", "display.tabWidth")
            assert rig.session is before

    run(test)


def test_reload_reads_the_files_given_to_this_run(tmp_path: Path) -> None:
    file = tmp_path / "extra.json"
    put(file, '{"display": {"tabWidth": 3}}')

    async def test() -> None:
        async with rigged(tmp_path, columns=160, config_files=(file,)) as rig:
            await run_command(rig, "/reload", "No settings changed.")
            assert rig.current.settings.display.tab_width == 3
            put(file, '{"display": {"tabWidth": 5}}')
            await run_command(rig, "/reload", "display.tabWidth is now 5.")
            put(file, '{"display": {"tabWidth": "wide"}}')
            assert "extra.json" in await run_command(rig, "/reload", "display.tabWidth")
            assert rig.current.settings.display.tab_width == 5

    run(test)


def test_reload_before_the_first_message(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await run_command(rig, "/reload", "No settings changed.")
            assert rig.session.log.messages() == []

    run(test)


def test_reload_leaves_an_in_memory_session_alone(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], save=False) as rig:
            await run_command(rig, "hello", "Hello.")
            await rig.idle()
            before = rig.session
            await run_command(rig, "/reload", "this session is not saved")
            assert rig.session is before

    run(test)


def test_key_is_asked_for_and_stored(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=160) as rig:
            await rig.send("/login anthropic")
            await rig.until(lambda: rig.parts.dialogs.open, "a question")
            await rig.press("escape")
            await rig.until(lambda: not rig.parts.dialogs.open, "the end of it")
            assert "No keys are stored" in await run_command(rig, "/logout", "No keys are stored")

    run(test)


@pytest.mark.parametrize("command", ["/exit", "/quit"])
def test_exit_quits(tmp_path: Path, command: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send(command)
            await rig.until(lambda: rig.current.session is None, "the end")
            assert rig.current.session is None

    run(test)


def test_last_column_wraps_below_itself_unless_a_word_is_too_long(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=60) as rig:
            path = "/" + "x" * 70
            rows = [("ok", "bash", "many words " * 5 + "at the end"), ("ok", "file", path)]
            assert columns(rig.front, rows, cut=False) == [
                "ok  bash  many words many words many words many words many",
                "          words at the end",
                f"ok  file  {path}",
            ]

    run(test)
