"""Model, thinking and display: by name at once, or from a list."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from tau.ai.faux import Say, Use
from tau.config.paths import user_paths
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import rigged, run

HERE_ONLY = {"local.discover": False}


def test_model_is_chosen_by_a_part_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")

    async def test() -> None:
        async with rigged(tmp_path, settings=HERE_ONLY) as rig:
            await run_command(rig, "/model sonnet:low", "starting with the next")
            assert rig.session.model.provider == "anthropic" and "sonnet" in rig.session.model.id
            assert rig.session.thinking == "low"

    run(test)


def test_model_without_a_key_says_where_to_put_one(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings=HERE_ONLY) as rig:
            await run_command(rig, "/model sonnet", "No API key for Anthropic")
            await run_command(rig, "/model nosuchmodelatall", "No model matches")
            rig.front.editor.clear()
            await run_command(rig, "/model demo", "tau --provider demo")
            assert rig.session.model.key == "faux/faux"

    run(test)


def test_thinking_is_set_by_name(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await run_command(rig, "/thinking LOW", "Thinking: low, starting with the next request.")
            assert rig.session.thinking == "low"
            await run_command(rig, "/thinking much", "use one of off, minimal")
            assert rig.session.thinking == "low"

    run(test)


def test_fast_asks_for_the_priority_tier_from_the_next_request_on(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            usual = rig.session.models.default
            assert rig.session.setup().service_tier is None
            rig.session.models.default = replace(usual, api="anthropic-messages")
            await run_command(rig, "/fast on", "Fast mode has no effect with this model")
            rig.session.models.default = replace(usual, api="openai-responses")
            await run_command(rig, "/fast on", "requests use the priority tier")
            assert rig.session.setup().service_tier == "priority"
            await run_command(rig, "/fast status", "usually at a higher price")
            await run_command(rig, "/fast off", "the usual one")
            assert rig.session.setup().service_tier is None
            await run_command(rig, "/fast much", "takes on, off or status")

    run(test)


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("/model", "Model"),
        ("/thinking", "Thinking"),
        ("/resume", "Sessions"),
        ("/tree", "Session tree"),
        ("/branch", "Branch: start a new session"),
        ("/rewind", "Rewind to before a message"),
        ("/settings", "Settings"),
        ("/hotkeys", "Keys"),
        ("/theme", "Theme for dark terminals"),
        ("/copy", "Copy"),
        ("/login", "Anthropic"),
    ],
)
def test_without_a_name_a_list_opens(tmp_path: Path, command: str, title: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], settings=HERE_ONLY) as rig:
            await run_command(rig, "hello", "Hello.")
            await rig.idle()
            await rig.send(command)
            await rig.until(lambda: rig.parts.dialogs.open, "a list")
            shown = await rig.show(title)
            assert title in shown
            await rig.press("escape")
            await rig.until(lambda: not rig.parts.dialogs.open, "the end of it")

    run(test)


def test_theme_is_chosen_by_name_and_saved(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await run_command(rig, "/theme ocean", "Theme set to ocean.")
            assert rig.current.settings.theme.dark == "ocean"
            assert json.loads(user_paths(os.environ).settings.read_text())["theme"]["dark"] == "ocean"
            assert not rig.current.settings.titles.enabled  # flags keep their effect
            await run_command(rig, "/theme oceen", "Did you mean ocean?")
            rig.front.editor.clear()
            await run_command(rig, "/theme zzz", "/theme lists them all.")
            assert rig.current.settings.theme.dark == "ocean"
            found = rig.parts.commands.complete("/theme oc", 9)
            assert found is not None and found.items[0].value == "ocean"

    run(test)


def test_branch_lists_messages_and_escape_does_not_open_the_tree(tmp_path: Path) -> None:
    async def test() -> None:
        settings = {"interaction.doubleEscape": "branch"}
        async with rigged(tmp_path, [[Say("Hello.")]], settings=settings) as rig:
            await run_command(rig, "hello there", "Hello.")
            await rig.idle()
            assert "hello there" in await run_command(rig, "/branch", "one of your messages")
            await rig.press("escape")

    run(test)


def test_last_answer_is_copied(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("The **answer**.")]]) as rig:
            await run_command(rig, "/copy last", "There is nothing to copy.")
            await run_command(rig, "hello", "The answer.")
            await rig.idle()
            await run_command(rig, "/copy last", "Copied")
            assert rig.terminal.clipboard[-1] == "The **answer**."
            await run_command(rig, "/copy first", "Usage: /copy")

    run(test)


def test_transcript_shows_all_output(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(60)))

    async def test() -> None:
        async with rigged(tmp_path, [[Use("read", path="a.txt")], [Say("Read.")]], rows=100) as rig:
            await run_command(rig, "read it", "Read.")
            await rig.idle()
            assert "line 41" not in rig.screen()
            assert "line 41" in await run_command(rig, "/transcript", "line 41")
            await rig.press("q")
            assert "line 41" not in await rig.gone("line 41")

    run(test)
