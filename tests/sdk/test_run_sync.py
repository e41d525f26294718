"""One prompt from a script: the answer, or one error; and the options only programs have."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import tau
from tau.ai.faux import Act, Fail, Faux, FauxStep, Say, Use, Wait

QUICK = {"retry.maxRetries": 0}


def options(script: list[list[FauxStep]], folder: Path, **more: Any) -> tau.SessionOptions:
    stream = Faux(script).stream
    return tau.SessionOptions(cwd=folder, stream=stream, session_dir=folder / "talks", settings=QUICK, **more)


class NoParams(Struct):
    pass


class Bell(tau.Tool[NoParams]):
    name, label, description = "bell", "Bell", "Rings."

    async def run(self, params: NoParams, ctx: tau.ToolContext) -> tau.ToolOutput:
        return tau.ToolOutput.text(f"ding in {ctx.cwd.name}")


def test_run_sync_returns_the_last_answer_and_saves_the_session(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [[Use("bell")], [Say("It rang.")]]
    answer = tau.run_sync("Ring.", options(script, tmp_path, add_tools=(Bell(),)))
    assert answer.text == "It rang."
    (file,) = (tmp_path / "talks").glob("*.jsonl")
    assert f"ding in {tmp_path.name}" in file.read_text()
    again = tau.run_sync("And?", options([[Say("Still.")]], tmp_path, continue_recent=True))
    assert again.text == "Still." and len(list((tmp_path / "talks").glob("*.jsonl"))) == 1


def test_run_sync_raises_the_error_of_the_run(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [[Fail(tau.ProviderError("No such model.", status=404))]]
    with pytest.raises(tau.ProviderError, match="No such model") as caught:
        tau.run_sync("Hello", options(script, tmp_path))
    assert caught.value.status == 404


def test_run_sync_says_so_when_a_hook_blocks_the_prompt(tmp_path: Path) -> None:
    class Silence(tau.Hooks):
        async def input(self, message: tau.UserMessage) -> tau.UserMessage | None:
            return None

    with pytest.raises(tau.TauError, match="a hook blocked the prompt"):
        tau.run_sync("Hello", options([[Say("no")]], tmp_path, hooks=(Silence(),)))


def test_run_sync_inside_an_event_loop_says_what_to_do_instead(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(tau.TauError, match="async with create_session"):
            tau.run_sync("Hello", options([[Say("no")]], tmp_path))

    asyncio.run(main())


def test_ctrl_c_in_a_script_ends_it_and_keeps_the_conversation(tmp_path: Path) -> None:
    interrupt = Act(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        tau.run_sync("Hello", options([[Say("Half a"), interrupt, Wait()]], tmp_path))
    (file,) = (tmp_path / "talks").glob("*.jsonl")
    log = tau.SessionLog.open(file)
    last = log.messages()[-1]
    log.close()
    assert isinstance(last, tau.AssistantMessage) and (last.text, last.stop_reason) == ("Half a", "aborted")


def test_relative_folder_stays_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    assert tau.SessionOptions().cwd == tmp_path.resolve()
    wanted = tau.SessionOptions(cwd=Path("sub"))
    monkeypatch.chdir("/")
    assert wanted.cwd == (tmp_path / "sub").resolve()


def test_two_tools_with_one_name_are_refused(tmp_path: Path) -> None:
    class Read(Bell):
        name = "read"

    with pytest.raises(tau.UsageError, match="Two tools are named read"):
        tau.run_sync("Hello", options([[Say("no")]], tmp_path, add_tools=(Read(),)))
    answer = tau.run_sync("Hello", options([[Say("yes")]], tmp_path, tools=(), add_tools=(Read(),)))
    assert answer.text == "yes"


def test_undescribable_tool_is_refused_at_once(tmp_path: Path) -> None:
    class Mute(tau.Tool[NoParams]):
        name, label = "mute", "Mute"

    with pytest.raises(tau.UsageError, match="The tool Mute is incomplete"):
        tau.run_sync("Hello", options([[Say("no")]], tmp_path, add_tools=(Mute(),)))


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tau.UsageError, match="not found"):
        tau.run_sync("Hello", options([[Say("no")]], tmp_path / "nowhere"))


def test_connect_returns_the_model_without_a_session(tmp_path: Path) -> None:
    async def main() -> list[str]:
        wanted = options([[Use("bell")], [Say("It rang.")]], tmp_path)
        async with tau.connect(wanted) as connection:
            agent = tau.Agent(model=connection.model, stream=connection.stream, tools=[Bell()])
            await agent.prompt("Ring.")
        return [type(message).__name__ for message in agent.messages]

    assert asyncio.run(main())[-2:] == ["ToolResultMessage", "AssistantMessage"]
    assert not (tmp_path / "talks").exists()
