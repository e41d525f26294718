"""Programs in their own terminal: size, input from a user or from nobody."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tau.backends.shell.session import ShellSession
from tau.backends.shell.terminal import TerminalInput, feed
from tau.base.run import Exit, Limits, Pty
from tests.backends.shell.shell_rig import Done, in_session
from tests.support.limits import growing


class Typist:
    """Types each line when the program has shown its prompt."""

    size = (100, 30)

    def __init__(self, *turns: tuple[bytes, bytes]) -> None:
        self._turns = turns
        self._shown = b""
        self._news = asyncio.Event()

    def show(self, data: bytes) -> None:
        self._shown += data
        self._news.set()

    async def keys(self) -> AsyncIterator[bytes]:
        for prompt, line in self._turns:
            while prompt not in self._shown:
                self._news.clear()
                await self._news.wait()
            yield line


async def in_terminal(
    session: ShellSession, command: str, person: TerminalInput | None = None, timeout: float = 20
) -> Done:
    columns, rows = person.size if person is not None else (80, 24)
    terminal = Pty(columns=columns, rows=rows, echo=person is not None)
    running = await session.start(command, terminal=terminal, limits=Limits(timeout=timeout))
    pieces = []
    async with asyncio.TaskGroup() as group, running.process as process:
        feeding = group.create_task(feed(process, person))
        async for chunk in process.output():
            pieces.append(chunk)
            if person is not None:
                person.show(chunk)
        feeding.cancel()
        return Done(b"".join(pieces), await process.wait(), running.notes())


def run(folder: Path, command: str, person: TerminalInput | None = None, timeout: float = 20) -> Done:
    async def body(session: ShellSession) -> Done:
        return await in_terminal(session, command, person, timeout)

    found: Done = in_session(folder, body)
    return found


def test_all_channels_are_one_terminal_of_the_requested_size(tmp_path: Path) -> None:
    found = run(
        tmp_path, "test -t 0 && test -t 1 && test -t 2 && tty </dev/tty && stty size; echo $TERM; exit 3"
    )
    lines = found.text.split("\r\n")
    assert lines[0].startswith(("/dev/pts/", "/dev/tty"))
    assert lines[1:3] == ["24 80", "xterm-256color"]
    assert found.exit == Exit(code=3)


def test_without_a_user_every_question_reads_eof(tmp_path: Path) -> None:
    ask = "import getpass\nfor ask in (input, getpass.getpass, input):\n"
    ask += " try: print(repr(ask('? ')))\n except EOFError: print('nobody')\n"
    (tmp_path / "ask.py").write_text(ask)
    found = run(tmp_path, f"read -p 'Sure? ' x; echo read $?; cat; {sys.executable} ask.py")
    assert "read 1" in found.text
    assert found.text.count("nobody") == 3
    assert "^D" not in found.text


def test_typed_input_arrives_and_is_echoed(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> Done:
        person = Typist((b"Name? ", b"Ada\n"), (b"Colour? ", b"gr\x7f\x7fblue\n"))
        command = "read -p 'Name? ' n; read -p 'Colour? ' c; echo $n likes $c; stty size; cat; echo over"
        return await in_terminal(session, command, person)

    found: Done = in_session(tmp_path, body)
    assert "Name? Ada\r\n" in found.text
    assert "Ada likes blue\r\n30 100\r\n" in found.text
    assert found.text.endswith("over\r\n")


def test_typed_ctrl_c_interrupts_the_program(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> Done:
        return await in_terminal(
            session, "echo ready; sleep 600; echo not reached", Typist((b"ready", b"\x03"))
        )

    found: Done = in_session(tmp_path, body)
    assert "not reached" not in found.text
    assert found.exit in (Exit(code=130), Exit(code=None, signal=2))


def test_terminal_program_has_the_session_state_and_a_time_limit(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        running = await session.start("x=1; f() { echo f $x; }")
        async with running.process as process:
            await process.wait()
        assert (await in_terminal(session, "f")).text == "f 1\r\n"
        deaf = "echo begun; trap '' TERM HUP; while :; do sleep 1; done"
        for limit_s in growing(0.5):
            late = await in_terminal(session, deaf, timeout=limit_s)
            if late.text:
                break
        assert late.exit.timed_out
        assert late.text == "begun\r\n"

    in_session(tmp_path, body)


def test_background_child_holding_the_terminal_does_not_block(tmp_path: Path) -> None:
    found = run(tmp_path, "setsid sleep 999 & echo left")
    assert (found.text, found.exit) == ("left\r\n", Exit(code=0))
