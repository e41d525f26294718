"""What the screen offers when no session can be opened."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tau.ai.faux import Faux, Say
from tau.ai.local import discovery, weights
from tau.ai.local.discovery import DiscoveredServer
from tau.ai.model import Model
from tau.base.errors import ConfigError, SessionError, TauError, UsageError
from tau.coding.session.session import Session
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.modes.interactive.app import App
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.dialogs import startup_recovery
from tau.modes.interactive.early_screen import EarlyScreen
from tau.modes.interactive.themes.appearance import appearance_of
from tau.modes.interactive.ui_controller import ScreenUi
from tau.sdk import SessionOptions, create_session
from tests.modes.interactive.clock import ScreenClock
from tests.modes.interactive.rig import Rig, run
from tests.support.terminal.virtual import VirtualTerminal

NO_KEY = ConfigError("No API key for Anthropic: set ANTHROPIC_API_KEY.")


@asynccontextmanager
async def refused(folder: Path, *errors: TauError) -> AsyncIterator[tuple[Rig, list[SessionSwitch]]]:
    """The screen when the first attempts to open a session fail and a later one succeeds."""
    terminal, clock = VirtualTerminal(90, 30), ScreenClock()
    paths = user_paths(os.environ)
    settings = load_settings(paths, folder).settings
    look = appearance_of(settings, terminal.capabilities, os.environ)
    front = EarlyScreen(terminal, look, timer=clock, cwd=folder)
    faux = Faux([[Say("Here I am.")]])
    waiting = list(errors)
    tried: list[SessionSwitch] = []

    @asynccontextmanager
    async def opening(change: SessionSwitch, ui: ScreenUi) -> AsyncIterator[Session]:
        tried.append(change)
        if waiting:
            raise waiting.pop(0)
        options = SessionOptions(
            cwd=folder, stream=faux.stream, settings={"titles.enabled": False}, ui=ui, dialogs=ui
        )
        async with create_session(options) as session:
            yield session

    front.open()
    try:
        async with asyncio.TaskGroup() as tasks:
            app = App(front, settings, paths, tasks)
            running = tasks.create_task(app.run(opening, []))
            try:
                yield Rig(app, front, terminal, faux, clock), tried
            finally:
                app.parts.dialogs.cancel()
                app.quit()
                await running
    finally:
        front.close()


def test_without_a_model_there_is_a_way_to_get_one_and_no_traceback(tmp_path: Path) -> None:
    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, _):
            shown = await rig.show("Welcome to tau: choose a model")
            assert "No API key for Anthropic." in shown
            assert "Paste an API key" in shown and "Quit" in shown and "demo model" in shown
            assert "Traceback" not in shown
            await rig.press("escape")
            await rig.gone("Welcome to tau")

    run(test)


def test_pasted_key_is_stored_and_the_session_opens(tmp_path: Path) -> None:
    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, tried):
            shown = await rig.show("Paste an API key")
            await rig.type(_number_of(shown, "Paste an API key"))
            await rig.show("Which provider is the key for?")
            await rig.press("enter")
            await rig.show("Anthropic key")
            await rig.press("escape")
            await rig.show("Welcome to tau")
            await rig.type(_number_of(shown, "Paste an API key"))
            await rig.show("Which provider is the key for?")
            await rig.press("enter")
            await rig.show("Anthropic key")
            rig.terminal.paste("sk-ant-abcdefghijkl")
            await rig.press("enter")
            assert "(cheaper)" in await rig.show("per million tokens")
            await rig.press("enter")
            await rig.until(lambda: rig.current.session is not None, "a session")
            assert [change.kind for change in tried] == ["first", "first"]
            assert tried[-1].model.startswith("anthropic/")
            assert "sk-ant-abcdefghijkl" in rig.current.paths.auth.read_text()
            assert "sk-ant-abcdefghijkl" not in rig.tape()
            await rig.send("hello")
            await rig.show("Here I am.")

    run(test)


def test_local_server_is_offered_and_replaces_the_configured_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model(id="qwen", name="Qwen 3", api="x", provider="ollama", base_url="http://127.0.0.1")

    async def found(*_: object) -> list[DiscoveredServer]:
        return [DiscoveredServer(provider="ollama", name="Ollama", base_url="", models=[model])]

    monkeypatch.setattr(discovery, "discover", found)
    paths = user_paths(os.environ)
    paths.home.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text(json.dumps({"defaultModel": "claude", "display": {"tabWidth": 2}}))

    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, _):
            shown = await rig.show("Use Ollama on this machine")
            assert "Qwen 3" in shown
            await rig.type(_number_of(shown, "Use Ollama"))
            await rig.until(lambda: rig.current.session is not None, "a session")
            assert json.loads(paths.settings.read_text()) == {"display": {"tabWidth": 2}}

    run(test)


def test_chosen_server_of_several_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(*_: object) -> list[DiscoveredServer]:
        models = {
            provider: [
                Model(id="qwen", name="Qwen 3", api="x", provider=provider, base_url="http://127.0.0.1")
            ]
            for provider in ("ollama", "vllm")
        }
        return [
            DiscoveredServer(provider="ollama", name="Ollama", base_url="", models=models["ollama"]),
            DiscoveredServer(provider="vllm", name="vLLM", base_url="", models=models["vllm"]),
        ]

    monkeypatch.setattr(discovery, "discover", found)

    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, tried):
            shown = await rig.show("Use vLLM on this machine")
            await rig.type(_number_of(shown, "Use vLLM"))
            await rig.until(lambda: rig.current.session is not None, "a session")
            assert [change.model for change in tried] == ["", "vllm/qwen"]

    run(test)


def test_demo_model_is_downloaded_and_the_download_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Path] = []
    stopped = asyncio.Event()
    outcomes: list[object] = [None, TauError("The network is down."), "done"]

    async def fetch(target: Path, python: str, run: object, say: object) -> Path:
        outcome = outcomes.pop(0)
        if outcome is None:
            try:
                await asyncio.sleep(600)
            finally:
                stopped.set()
        if isinstance(outcome, TauError):
            raise outcome
        fetched.append(target)
        return target

    monkeypatch.setattr(weights, "fetch_weights", fetch)
    monkeypatch.setattr(weights, "weights_path", lambda cache: tmp_path / "missing.gguf")
    monkeypatch.setattr(startup_recovery, "find_spec", lambda name: object())

    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, _):
            shown = await rig.show("Download the offline demo model")
            number = _number_of(shown, "Download the offline demo model")
            await rig.type(number)
            await rig.show("Downloading 93 MB")
            await rig.press("escape")
            await rig.show("Download the offline demo model")
            assert stopped.is_set()
            await rig.type(number)
            await rig.show("The network is down.")
            await rig.type(number)
            await rig.until(lambda: rig.current.session is not None, "a session")
            assert fetched == [tmp_path / "missing.gguf"]

    run(test)


def test_missing_extra_shows_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup_recovery, "find_spec", lambda name: None)

    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, _):
            shown = await rig.show("The offline demo model")
            await rig.type(_number_of(shown, "The offline demo model"))
            await rig.show("restart tau")
            await rig.press("escape")

    run(test)


def test_help_returns_to_the_first_page(tmp_path: Path) -> None:
    async def test() -> None:
        async with refused(tmp_path, NO_KEY) as (rig, _):
            shown = await rig.show("How this works")
            await rig.type(_number_of(shown, "How this works"))
            await rig.show("Models and keys")
            await rig.press("enter")
            await rig.show("Welcome to tau")
            await rig.press("escape")

    run(test)


def test_damaged_settings_file_is_repaired_in_an_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.json"
    script = tmp_path / "mend.sh"
    script.write_text('#!/bin/sh\necho "{}" > "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))

    async def test() -> None:
        broken = ConfigError("Invalid JSON.", path=file, line=3)
        async with refused(tmp_path, broken) as (rig, tried):
            shown = await rig.show("tau could not open a session")
            assert f"{file}:3" in shown.replace("\n", "")
            await rig.type(_number_of(shown, "Open the file in your editor"))
            await rig.until(lambda: rig.current.session is not None, "a session")
            assert file.read_text() == "{}\n"
            assert tried[-1].kind == "first"

    run(test)


@pytest.mark.parametrize(
    "error", [SessionError("The session file is damaged."), UsageError("No session has that id.")]
)
def test_unopenable_session_is_replaced_by_a_new_one(tmp_path: Path, error: TauError) -> None:
    async def test() -> None:
        async with refused(tmp_path, error) as (rig, tried):
            shown = await rig.show(str(error))
            assert "Try again" in shown
            await rig.type(_number_of(shown, "Start a new session instead"))
            await rig.until(lambda: rig.current.session is not None, "a session")
            assert tried[-1].kind == "new"

    run(test)


def _number_of(shown: str, label: str) -> str:
    row = next(row for row in shown.split("\n") if label in row)
    return row.strip(" ❯")[0]
