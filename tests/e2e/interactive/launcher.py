"""The real program on a real pty, with the actions of a user at the keyboard."""

from collections.abc import Callable, Mapping
from typing import Any

from tau.modes.interactive.composer.input_kinds import PLACEHOLDER
from tau.tui.style import UNICODE
from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S
from tests.support.pty_terminal import PtyTerminal, run_in_terminal
from tests.support.terminal.virtual import Answers

QUIET: dict[str, Any] = {"retry.enabled": False, "titles.enabled": False}
SEE_SECONDS = HANG_S
WELCOME = "Type a message"
OK = "Very well."
"""The model's answer when a test does not care."""
SIGN = UNICODE.pointer
RUNS, STOPPING = " stops it", " Stopping"
MODELS = [
    {"id": "fake-model", "input": ["text", "image"]},
    {"id": "second-model", "reasoning": True},
]


class Launcher:
    """Starts tau as often as a test needs it; hangs up what still runs at the end."""

    def __init__(self, tau: Program) -> None:
        self.tau = tau
        self._open: list[PtyTerminal] = []
        self.settings()
        tau.script(OK)
        provider = {
            "baseUrl": f"{tau.server.url}/v1",
            "api": "openai-completions",
            "apiKey": "x",
            "models": MODELS,
        }
        tau.write("models.json", {"providers": {"fake": provider}})

    def settings(self, **values: Any) -> None:
        named = {name.replace("__", "."): value for name, value in values.items()}
        self.tau.settings(**{**QUIET, **named})

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 24,
        answers: bool | Answers = True,
        ready: str = "fake-model",
        flags: tuple[str, ...] = FAKE,
    ) -> "User":
        """tau, once its session is open; `ready` is what the screen shows then."""
        term = run_in_terminal(
            [*TAU, *flags, *arguments],
            env,
            columns,
            rows,
            cwd=self.tau.project,
            answers=answers,
            forks=self.tau.forks,
        )
        self._open.append(term)
        if ready:
            term.wait_for(ready)
        return User(term)

    def run(self, *argv: str, columns: int = 80, rows: int = 24) -> "User":
        """Another program, such as a shell, in which tau is started."""
        term = run_in_terminal(list(argv), None, columns, rows, cwd=self.tau.project)
        self._open.append(term)
        return User(term)

    def close(self) -> None:
        for term in self._open:
            term.stop()


class User:
    """A user at the terminal."""

    def __init__(self, term: PtyTerminal) -> None:
        self.term = term

    def send(self, text: str) -> "User":
        """Type it, see it, press Enter."""
        self.write(text)
        self.term.press("enter")
        return self

    def write(self, text: str) -> "User":
        self.term.type(text)
        last = text.rpartition("\n")[2][-30:]
        self.term.wait_for(last, SEE_SECONDS)
        return self

    def press(self, *keys: str) -> "User":
        self.term.press(*keys)
        return self

    def see(self, *texts: str) -> list[str]:
        rows = self.term.screen()
        for text in texts:
            rows = self.term.wait_for(text, SEE_SECONDS)
        return rows

    def ask(self, question: str, answer: str) -> "User":
        """Send it, see the answer again, and wait until the agent is idle, as commands may require."""
        before = self.output.count(answer)
        self.send(question)
        self.until(lambda _: self.output.count(answer) > before, f"the answer {answer!r}")
        return self.rests()

    def rests(self) -> "User":
        """Wait until nothing runs. A running activity shows its stop key."""
        self.miss(RUNS, STOPPING)
        return self

    def miss(self, *texts: str) -> list[str]:
        """Wait until none of these is on the screen any more."""
        return self.term.wait_until(
            lambda rows: not any(text in row for text in texts for row in rows),
            SEE_SECONDS,
            f"the end of {texts}",
        )

    def editor(self) -> str:
        """The text of the editor, between its border lines."""
        return "\n".join(editor_rows(self.term.screen()))

    def editor_is(self, text: str) -> None:
        self.until(lambda rows: "\n".join(editor_rows(rows)) == text, f"{text!r} in the editor")

    def until(self, holds: Callable[[list[str]], bool], what: str) -> list[str]:
        return self.term.wait_until(holds, SEE_SECONDS, what)

    def leave(self) -> int:
        """Ctrl+D on an empty editor; the exit code."""
        self.editor_is("")
        self.term.press("ctrl+d")
        return self.term.wait()

    @property
    def pid(self) -> int:
        return self.term.process.pid

    @property
    def output(self) -> str:
        """Everything ever written, as in the terminal's scrollback."""
        return "\n".join(self.term.tape())


def editor_rows(rows: list[str]) -> list[str]:
    lines = [number for number, row in enumerate(rows) if row.startswith("─")]
    if len(lines) < 2:
        return ["(no editor)"]
    shown = [row.rstrip() for row in rows[lines[-2] + 1 : lines[-1]]]
    if shown and shown[0][:1] == SIGN:  # the others are indented as far
        shown = [row[len(SIGN) + 1 :] for row in shown]
    is_empty = len(shown) == 1 and PLACEHOLDER.startswith(shown[0].removesuffix("…") or "?")
    return [""] if is_empty else shown
