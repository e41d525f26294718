"""The plain console: a conversation in lines, in a pipe and in a terminal."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.agent.events import Notice
from tau.ai.faux import Fail, Say, Think, Use, Wait
from tau.base.errors import ProviderError
from tau.coding.session.session import Session
from tau.modes.console import Console
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.user_prompt import UserPrompt
from tests.modes.mode_rig import Captured, show
from tests.support.idle import until
from tests.support.limits import HANG_S

NO_RETRY = {"retry.enabled": False}


def piped(
    script: Any, typed: str, tmp_path: Path, *, prompts: tuple[str, ...] = (), **settings: Any
) -> Captured:
    """A conversation whose input is a pipe that holds all lines from the start."""
    (tmp_path / "typed").write_text(typed)
    fd = os.open(tmp_path / "typed", os.O_RDONLY)
    box: list[Console] = []

    class Ui:
        """A placeholder until the console exists, which needs the output of the session's UI."""

        def __getattr__(self, name: str) -> Any:
            return getattr(box[0].ui, name)

    async def face(session: Session, out: OutputStream) -> int:
        session.notices.append(Notice("info", "You talk to a script."))
        box.append(Console(LineReader(fd), out))
        return await box[0].run(session, [UserPrompt(text) for text in prompts])

    try:
        return show(script, face, tmp_path, ui=Ui(), settings={**NO_RETRY, **settings})
    finally:
        os.close(fd)


def body(shown: Captured) -> str:
    """The output after the greeting."""
    return shown.text.partition("You talk to a script.\n")[2]


def test_greeting_names_the_model(tmp_path: Path) -> None:
    shown = piped([[Say("hi")]], "", tmp_path)
    assert re.match(r"tau [\d.]+, model faux/faux, thinking \w+\. /help for help\.\nYou talk", shown.text)


def test_each_line_of_a_pipe_is_a_message_and_eof_quits(tmp_path: Path) -> None:
    shown = piped([[Say("first ", 2), Say("answer")], [Say("second\n")]], "one\n\ntwo\n", tmp_path)
    assert body(shown) == "> one\nfirst answer\n> \n> two\nsecond\n"
    assert shown.asked == ["one", "two"]
    assert shown.code == 0


def test_each_tool_is_one_line_with_its_result(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\nbeta\n")
    script = [
        [Say("Let me look."), Use("bash", command="echo hello; echo\necho world")],
        [Use("read", path="missing.txt")],
        [Say("Done.")],
    ]
    first, look, bash, read, done = body(piped(script, "go\n", tmp_path)).splitlines()
    assert (first, look, done) == ("> go", "Let me look.", "Done.")
    assert bash == "bash: echo hello; echo echo world -> ok: hello (2 lines)"
    assert read.startswith("read: missing.txt -> failed: ")


def test_parallel_calls_keep_their_results_apart(tmp_path: Path) -> None:
    both = [Use("bash", command="sleep 0.05; echo slow"), Use("bash", command="echo fast")]
    lines = body(piped([both, [Say("Done.")]], "go\n", tmp_path)).splitlines()
    assert "bash: sleep 0.05; echo slow" in lines[1]
    assert any(line.endswith("echo fast -> ok: fast") for line in lines)
    assert any(line.endswith("echo slow -> ok: slow") for line in lines)


def test_thinking_is_one_line_and_its_text_stays_hidden(tmp_path: Path) -> None:
    assert body(piped([[Think("secret plan"), Say("Hi.")]], "go\n", tmp_path)) == "> go\nThinking…\nHi.\n"


def test_control_sequences_are_removed(tmp_path: Path) -> None:
    script = [
        [Say("a\x1b[31mb\x1b]52;c;eA==\x07c"), Use("bash", command="printf '\\033[2Jx'")],
        [Say("\x9b1md")],
    ]
    shown = piped(script, "go\x1b[A\n", tmp_path)
    assert "\x1b" not in shown.text
    assert "\x9b" not in shown.text
    assert "abc\n" in shown.text


def test_a_backslash_continues_the_line(tmp_path: Path) -> None:
    shown = piped([[Say("ok")]], "one\\\ntwo\n", tmp_path)
    assert shown.asked == ["one\ntwo"]


def test_commands_are_single_words_and_paths_are_messages(tmp_path: Path) -> None:
    shown = piped([[Say("ok")]], "/help\n/dance\n/etc/hosts\n/quit\nnever\n", tmp_path)
    assert shown.asked == ["/etc/hosts"]
    assert 'Unknown command "/dance".' in shown.text
    assert shown.text.count("also /quit") == 2


def test_failure_is_a_line_and_the_next_message_is_answered(tmp_path: Path) -> None:
    script = [[Fail(ProviderError("overloaded", retryable=True))], [Say("there")]]
    shown = piped(script, "one\ntwo\n", tmp_path)
    assert "overloaded\n" in shown.text
    assert shown.text.endswith("there\n")
    assert shown.code == 0
    assert piped([[Fail(ProviderError("overloaded", retryable=True))]], "one\n", tmp_path).code == 75


def test_retry_is_announced(tmp_path: Path) -> None:
    script = [[Fail(ProviderError("busy", retryable=True))], [Say("there")]]
    shown = piped(script, "one\n", tmp_path, **{"retry.enabled": True, "retry.baseDelayMs": 1})
    assert "busy. Retrying in 0" in shown.text


def test_first_messages_come_from_the_command_line(tmp_path: Path) -> None:
    shown = piped([[Say("a")], [Say("b")]], "two\n", tmp_path, prompts=("one",))
    assert body(shown) == "> one\na\n> two\nb\n"


@pytest.mark.parametrize(
    ("answer", "ran"), (("1", True), ("yes", True), ("2", False), ("3", True), ("what?", False), ("", False))
)
def test_approval_is_a_numbered_question(tmp_path: Path, answer: str, ran: bool) -> None:
    script = [[Use("bash", command="touch made")], [Say("Done.")]]
    shown = piped(script, f"go\n{answer}\n", tmp_path, **{"tools.approvalMode": "ask"})
    assert "\n  1. Yes\n  2. No\n  3. Yes, always this session\n" in shown.text
    assert (tmp_path / "made").exists() == ran
    assert "Done." in shown.text


class Terminal:
    """A pseudo terminal with a user who waits for text before typing."""

    def __init__(self) -> None:
        self.keyboard, self.screen = os.openpty()
        os.set_blocking(self.keyboard, False)
        self.seen = ""
        self.console: Console | None = None
        self.queued: Callable[[], int] = lambda: 0

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    async def sees(self, words: str) -> None:
        """Wait until `words` have appeared, and from then on look only at what follows."""
        while words not in self.seen:
            await asyncio.sleep(0.005)
            try:
                self.seen += os.read(self.keyboard, 65536).decode().replace("\r\n", "\n")
            except BlockingIOError:
                continue
        self.seen = self.seen.partition(words)[2]

    def talk(self, script: Any, person: Callable[["Terminal"], Awaitable[None]], tmp_path: Path) -> Captured:
        async def face(session: Session, _: OutputStream) -> int:
            async with asyncio.TaskGroup() as tasks:
                self.console = Console(LineReader(self.screen), OutputStream(self.screen))
                self.queued = lambda: len(session.queue)
                tasks.create_task(person(self))
                return await self.console.run(session)

        return show(script, face, tmp_path, settings=NO_RETRY)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    os.close(made.keyboard)
    os.close(made.screen)


def test_user_chats_and_leaves_with_ctrl_d(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        await terminal.sees("> ")
        terminal.type("hello\n")
        await terminal.sees("Hi there.\n> ")
        terminal.type("\x04")

    shown = terminal.talk([[Say("Hi ", 2), Say("there.")]], person, tmp_path)
    assert shown.code == 0
    assert shown.asked == ["hello"]


def test_pasted_lines_are_one_message(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        await terminal.sees("> ")
        terminal.type("one\ntwo\n\nthree\n")
        await terminal.sees("ok\n> ")
        terminal.type("\x04")

    assert terminal.talk([[Say("ok")]], person, tmp_path).asked == ["one\ntwo\n\nthree"]


def test_input_during_a_run_steers_it(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        await terminal.sees("> ")
        terminal.type("work\n")
        await terminal.sees("bash: until")
        terminal.type("and hurry\n")
        await until(lambda: terminal.queued() == 1, HANG_S, lambda: terminal.seen)
        (tmp_path / "go").touch()
        await terminal.sees("Done.\n> ")
        terminal.type("/quit\n")

    shown = terminal.talk(
        [[Use("bash", command=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done")], [Say("Done.")]],
        person,
        tmp_path,
    )
    assert shown.asked == ["work", "and hurry"]


def test_ctrl_c_stops_the_run_and_the_conversation_continues(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        assert terminal.console is not None
        await terminal.sees("> ")
        terminal.type("work\n")
        await terminal.sees("half")
        terminal.console.interrupt()
        await terminal.sees("Stopped.\n> ")
        terminal.type("again\n")
        await terminal.sees("Done.\n> ")
        terminal.type("\x04")

    shown = terminal.talk([[Say("half"), Wait()], [Say("Done.")]], person, tmp_path)
    assert shown.asked == ["work", "again"]
    assert shown.code == 0


def test_double_ctrl_c_at_the_prompt_quits_and_a_single_one_clears_it(
    tmp_path: Path, terminal: Terminal
) -> None:
    async def person(terminal: Terminal) -> None:
        assert terminal.console is not None
        await terminal.sees("> ")
        terminal.type("one\\\n")
        await terminal.sees("... ")
        terminal.console.interrupt()
        await terminal.sees("again or Ctrl+D to quit.\n> ")
        terminal.type("two\n")
        await terminal.sees("ok\n> ")
        terminal.console.interrupt()
        await terminal.sees("again or Ctrl+D to quit.\n> ")
        terminal.console.interrupt()

    shown = terminal.talk([[Say("ok")]], person, tmp_path)
    assert shown.asked == ["two"]


def test_stop_ends_a_run_and_the_conversation(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        assert terminal.console is not None
        await terminal.sees("> ")
        terminal.type("work\n")
        await terminal.sees("half")
        terminal.console.stop()

    shown = terminal.talk([[Say("half"), Wait()]], person, tmp_path)
    assert len(shown.faux.requests) == 1


def test_quit_during_a_run_stops_it(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        await terminal.sees("> ")
        terminal.type("work\n")
        await terminal.sees("half")
        terminal.type("/quit\n")

    shown = terminal.talk([[Say("half"), Wait()]], person, tmp_path)
    assert shown.code == 0


def test_messages_left_behind_by_an_abort_are_mentioned(tmp_path: Path, terminal: Terminal) -> None:
    async def person(terminal: Terminal) -> None:
        assert terminal.console is not None
        await terminal.sees("> ")
        terminal.type("work\n")
        await terminal.sees("half")
        terminal.type("later\n")
        await terminal.sees("later\n")
        await until(lambda: terminal.queued() == 1, HANG_S, lambda: terminal.seen)
        terminal.console.interrupt()
        await terminal.sees("Queued messages: 1.")
        await terminal.sees("> ")
        terminal.type("now\n")
        await terminal.sees("B\n> ")
        terminal.type("\x04")

    shown = terminal.talk([[Say("half"), Wait()], [Say("A")], [Say("B")]], person, tmp_path)
    assert shown.asked == ["work", "now", "later"]
