"""A question about a command can show all of it: no hidden characters, environment, folder, interpreter."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tau.backends.ssh.hosts import SshHost
from tau.base.errors import ToolError
from tau.coding.tools.eval import Eval
from tau.coding.tools.registry import create_tools
from tau.coding.tools.ssh import Ssh
from tests.safety.effects_rig import Trap, Watch, play

CONTROLS = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))]
HIDDEN = [
    "echo ok \x1b];touch P;\x07 ; echo fine",
    "echo a\x08\x08\x08touch P",
    "echo ok\rtouch P",
    "echo \x9b2K ok; touch P",
    "echo \x90q\x9c; touch P",
    "echo ok # \x0b touch P",
]


@pytest.mark.parametrize("command", [*HIDDEN, *(f"touch P #{control}" for control in CONTROLS)])
def test_command_with_a_hidden_character_is_refused(trap: Trap, command: str) -> None:
    [tool] = create_tools(("bash",))
    with pytest.raises(ToolError, match=r"control character|NUL"):
        tool.effects(tool.decode({"command": command})[0], trap.ws)


@pytest.mark.parametrize("command", HIDDEN)
def test_hidden_command_does_not_run(trap: Trap, command: str) -> None:
    outcome = asyncio.run(play(trap, "bash", {"command": command}))
    assert outcome.declared is None and "control character" in outcome.text
    assert not outcome.changed


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "true", "env": {"A": "x\x1b[2K"}},
        {"command": "true", "cwd": "sub\x1b[2K"},
    ],
)
def test_hidden_characters_around_a_command_are_refused(trap: Trap, arguments: dict[str, Any]) -> None:
    outcome = asyncio.run(play(trap, "bash", arguments))
    assert outcome.declared is None and "control character" in outcome.text


def test_tabs_and_newlines_are_fine(trap: Trap) -> None:
    outcome = asyncio.run(play(trap, "bash", {"command": "printf 'a\tb\\n'\nprintf '\\x1b[1mü\\n' | cat -v"}))
    assert "a\tb\n^[[1m" in outcome.text


def test_cell_with_a_hidden_character_is_refused(trap: Trap) -> None:
    cells = [{"language": "py", "code": "print(1)\r__import__('os').system('touch P')"}]
    outcome = asyncio.run(play(trap, "eval", {"cells": cells}))
    assert outcome.declared is None and "control character U+000D" in outcome.text
    assert not outcome.changed


def test_remote_command_with_a_hidden_character_is_refused() -> None:
    host = SshHost(name="far", address="far.example")
    tool = Ssh({"far": host})
    for arguments in ({"command": "ls\x1b[2K"}, {"command": "ls", "cwd": "/srv\x07"}):
        with pytest.raises(ToolError, match="control character"):
            tool.effects(tool.decode({"host": "far", **arguments})[0], Path("/w"))


def test_environment_folder_and_time_are_declared(trap: Trap) -> None:
    arguments = {
        "command": "true",
        "env": {"PATH": "/evil", "BASH_ENV": "x"},
        "cwd": "../out",
        "timeout": 9999,
        "pty": True,
    }
    outcome = asyncio.run(play(trap, "bash", arguments))
    assert outcome.declared is not None
    assert outcome.declared.env == (("BASH_ENV", "x"), ("PATH", "/evil"))
    assert outcome.declared.run_cwd == trap.out
    assert outcome.declared.details == (("timeout", "3600 s"), ("terminal", "yes"))
    assert outcome.declared.runs == (f"cd {trap.out} && true",)


def test_interpreter_of_a_project_is_declared(trap: Trap) -> None:
    program = trap.ws / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\ntouch P\n")
    program.chmod(0o755)
    tool = Eval()
    params, _ = tool.decode({"cells": [{"language": "py", "code": "1", "timeout": 5}]})
    assert tool.effects(params, trap.ws).details == (("interpreter", str(program)), ("timeout", "5 s"))


def test_interpreter_that_appears_while_the_question_is_open_does_not_run(trap: Trap) -> None:
    watch = Watch()

    def act() -> None:
        program = trap.ws / ".venv" / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\ntouch {trap.ws}/P\n")
        program.chmod(0o755)

    watch.when_asked = act
    cells = [{"language": "py", "code": "1"}]
    outcome = asyncio.run(play(trap, "eval", {"cells": cells}, watch=watch))
    assert "interpreter" in outcome.text and not (trap.ws / "P").exists()


class MovedShell(Watch):
    """Another call moves the shell while a question is open."""

    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self._trap = trap
        self.moves = True

    async def before_tool(self, question: Any) -> str | None:
        if self.moves and question.call.arguments["command"] != "pwd":
            return None
        if self.moves:
            self.moves = False
            await question.tool.run(question.tool.decode({"command": "cd sub && true"})[0], question.context)
        return None


def test_command_runs_where_it_was_approved(trap: Trap) -> None:
    outcome = asyncio.run(play(trap, "bash", {"command": "pwd"}, watch=MovedShell(trap)))
    assert outcome.text.strip() == str(trap.ws)


def test_cell_cannot_use_a_tool_to_write_elsewhere(trap: Trap) -> None:
    """A nested call has its own effects and its own approval."""
    code = "try:\n    tool.write(path='link.txt', content='x')\nexcept Exception as error:\n    print(error)"
    cells = [{"language": "py", "code": code}]

    async def main() -> str:
        script: list[list[FauxStep]] = [[Use("eval", cells=cells)], [Say("ok")]]
        options = tau.SessionOptions(
            cwd=trap.ws, stream=Faux(script).stream, save=False, tools=("eval", "write")
        )
        async with tau.create_session(options) as session:
            await session.prompt("go")
            messages = session.log.messages()
        [result] = [each for each in messages if isinstance(each, ToolResultMessage)]
        return text_of(result.content)

    before = trap.state()
    assert "needs the user's approval to write outside the workspace" in asyncio.run(main())
    assert trap.state() == before
