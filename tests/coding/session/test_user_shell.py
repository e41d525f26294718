"""User shell commands: what is run, recorded, reported and shown."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.abort import Abort
from tau.agent.events import AgentEvent, BashEnd
from tau.agent.hooks import Hooks
from tau.agent.queue import MAX_WAITING
from tau.ai.faux import FAUX_MODEL
from tau.ai.normalization import normalize_history
from tau.ai.wire import BashExecutionMessage, UserMessage
from tau.backends.shell.session import ShellSession
from tau.base.errors import TauError
from tau.base.run import LocalRunner
from tau.coding.context import ModelRoles
from tau.coding.output import OutputLimits
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.user_shell import UserShell
from tau.config.settings import Settings
from tau.sdk.environment import make_environment
from tests.agent.agent_rig import until


class Desk:
    """A shell with real processes and a real log."""

    def __init__(self, folder: Path, hooks: Hooks | None = None) -> None:
        self.log = SessionLog.new(folder / "sessions", folder)
        self.runner = LocalRunner()
        self.environment = make_environment(self.log, folder, self.runner, ModelRoles(FAUX_MODEL), Settings())
        self.queue = self.environment.queue
        self.emitted: list[AgentEvent] = []
        self.busy = False
        self.shell = UserShell(
            world=self.environment.world,
            log=self.log,
            queue=self.queue,
            hooks=hooks or Hooks(),
            emit=self.emitted.append,
            busy=lambda: self.busy,
            limits=OutputLimits(bytes=2000, lines=100),
        )

    def run(self, command: str, **options: Any) -> BashExecutionMessage:
        return asyncio.run(self.shell.run(command, abort=Abort(), **options))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.environment.close()
    made.log.close()
    made.runner.close()


def test_command_is_run_recorded_and_reported(desk: Desk) -> None:
    message = desk.run("echo out; echo err >&2; exit 3")

    assert (message.command, message.output, message.exit_code) == (
        *("echo out; echo err >&2; exit 3", "out\nerr\n", 3),
    )
    assert not message.cancelled and not message.truncated and message.full_output_path is UNSET
    assert desk.log.messages() == [message]
    assert desk.emitted == [BashEnd(message)]
    [sent] = normalize_history(desk.log.messages(), FAUX_MODEL)
    assert isinstance(sent, UserMessage) and "out\nerr" in sent.content and "Exit code 3" in sent.content


def test_command_runs_in_the_shell_of_the_session_if_there_is_one(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()

    async def main() -> list[str]:
        async with ShellSession(desk.runner, cwd=tmp_path) as session:
            shell = replace(desk.shell, shell=session)
            return [(await shell.run(text, abort=Abort())).output for text in ("cd deeper", "pwd")]

    assert asyncio.run(main())[1].strip() == str(tmp_path / "deeper")
    assert desk.run("pwd").output.strip() == str(tmp_path)


def test_excluded_command_is_recorded_but_never_sent(desk: Desk) -> None:
    message = desk.run("echo secret", exclude=True)
    assert message.exclude_from_context is True
    assert desk.log.messages() == [message]
    assert normalize_history(desk.log.messages(), FAUX_MODEL) == []


def test_long_output_is_cut_and_saved_completely(desk: Desk) -> None:
    message = desk.run("seq 1000")
    assert message.truncated
    assert message.output.startswith("1\n2\n") and message.output.endswith("\n1000\n")
    assert len(message.output) < 3000
    assert isinstance(message.full_output_path, str)
    assert Path(message.full_output_path).read_text().split() == [str(number) for number in range(1, 1001)]


def test_output_streams_in_whole_characters(desk: Desk, tmp_path: Path) -> None:
    seen: list[str] = []

    def show(text: str) -> None:
        seen.append(text)
        (tmp_path / "seen").touch()
        raise ZeroDivisionError  # a UI that fails is its own problem

    message = desk.run(
        r"printf 'a\303'; while ! test -e seen; do sleep 0.01; done; printf '\244b'", show=show
    )
    assert seen == ["a", "äb"]
    assert message.output == "aäb"


def test_stopped_command_keeps_its_output(desk: Desk, tmp_path: Path) -> None:
    async def main() -> BashExecutionMessage:
        abort = Abort()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(
                desk.shell.run(
                    "echo $$ > pid; echo begun; sleep 1000", abort=abort, show=lambda _: abort.abort()
                )
            )
        return running.result()

    message = asyncio.run(main())

    assert (message.output, message.exit_code, message.cancelled) == ("begun\n", None, True)
    assert desk.log.messages() == [message]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_cancelled_command_is_recorded_too(desk: Desk) -> None:
    async def main() -> None:
        begun: list[str] = []
        task = asyncio.ensure_future(desk.shell.run("echo x; sleep 1000", abort=Abort(), show=begun.append))
        await until(lambda: begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    [message] = desk.log.messages()
    assert isinstance(message, BashExecutionMessage) and message.cancelled


def test_command_killed_by_a_signal_has_no_exit_code(desk: Desk) -> None:
    message = desk.run("kill -9 $$")
    assert message.exit_code is None and not message.cancelled


@pytest.mark.parametrize(("command", "expected"), [("  ", "is empty"), ("a\0b", "NUL")])
def test_unrunnable_command_is_reported_and_not_recorded(desk: Desk, command: str, expected: str) -> None:
    with pytest.raises(TauError, match=expected):
        desk.run(command)
    assert desk.log.messages() == [] and desk.emitted == []


def test_missing_folder_is_reported(desk: Desk, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    other = Desk(gone)
    gone.rmdir()
    with pytest.raises(TauError, match="cannot run"):
        other.run("echo x")
    other.runner.close()


def test_hooks_may_change_or_refuse_a_command(tmp_path: Path) -> None:
    class Careful(Hooks):
        async def user_bash(self, command: str) -> str | None:
            return None if "rm" in command else f"{command} there"

    desk = Desk(tmp_path, Careful())
    message = desk.run("echo hello")
    assert (message.command, message.output) == ("echo hello there", "hello there\n")
    with pytest.raises(TauError, match="refused"):
        desk.run("rm -rf x")
    assert desk.log.messages() == [message]
    desk.log.close()
    desk.runner.close()


def test_command_ending_during_a_run_waits_for_the_end_of_the_turn(desk: Desk) -> None:
    desk.busy = True
    first = desk.run("echo one")
    assert desk.emitted == [BashEnd(first)]
    assert desk.log.messages() == []
    assert [(item.kind, item.text) for item in desk.queue.waiting()] == [("held", "echo one")]

    desk.busy = False
    desk.run("echo two")
    commands = [getattr(message, "command", "") for message in desk.log.messages()]
    assert commands == ["echo one", "echo two"]
    assert desk.queue.waiting() == []


def test_full_queue_does_not_hold_back_a_command(desk: Desk) -> None:
    desk.busy = True
    for _ in range(MAX_WAITING):
        desk.queue.steer(UserMessage("x", 1))
    message = desk.run("echo one")
    assert desk.log.messages() == [message]
