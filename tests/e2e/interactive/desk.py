"""The real program on a real pty, with the words that a person at the keyboard needs."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.e2e.program import FAKE, TAU, Program
from tests.support.pty_terminal import PtyTerminal, run_in_terminal
from tests.support.terminal.virtual import Answers

QUIET: dict[str, Any] = {"retry.enabled": False, "titles.enabled": False}
SEE_SECONDS = 20.0
WELCOME = "Type a message"
OK = "Very well."
"""What the model says where a case does not care."""
RUNS, STOPPING = " stops it", " Stopping"
MODELS = [
    {"id": "fake-model", "input": ["text", "image"]},
    {"id": "second-model", "reasoning": True},
]


class Desk:
    """Starts tau as often as a case needs it; what still runs at the end is hung up."""

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
    ) -> "Seat":
        """tau, once its session is there; `ready` is what the screen says then."""
        term = run_in_terminal(
            [*TAU, *flags, *arguments], env, columns, rows, cwd=self.tau.project, answers=answers
        )
        self._open.append(term)
        if ready:
            term.wait_for(ready)
        return Seat(term)

    def run(self, *argv: str, columns: int = 80, rows: int = 24) -> "Seat":
        """Another program, such as a shell, in which tau is started."""
        term = run_in_terminal(list(argv), None, columns, rows, cwd=self.tau.project)
        self._open.append(term)
        return Seat(term)

    def close(self) -> None:
        for term in self._open:
            term.stop()


class Seat:
    """A person before the terminal."""

    def __init__(self, term: PtyTerminal) -> None:
        self.term = term

    def send(self, text: str) -> "Seat":
        """Type it, see it, press Enter."""
        self.write(text)
        self.term.press("enter")
        return self

    def write(self, text: str) -> "Seat":
        self.term.type(text)
        last = text.rpartition("\n")[2][-30:]
        self.term.wait_for(last, SEE_SECONDS)
        return self

    def press(self, *keys: str) -> "Seat":
        self.term.press(*keys)
        return self

    def see(self, *texts: str) -> list[str]:
        rows = self.term.screen()
        for text in texts:
            rows = self.term.wait_for(text, SEE_SECONDS)
        return rows

    def ask(self, question: str, answer: str) -> "Seat":
        """Send it, see the answer once more, and wait until the agent rests: commands may need that."""
        before = self.told.count(answer)
        self.send(question)
        self.until(lambda _: self.told.count(answer) > before, f"the answer {answer!r}")
        return self.rests()

    def rests(self) -> "Seat":
        """Wait until nothing runs any more. What runs says which key stops it."""
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
        """What stands in the editor, which has a line above and a line below it."""
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
    def told(self) -> str:
        """Everything that was ever written, as the terminal's history has it."""
        return "\n".join(self.term.tape())


def editor_rows(rows: list[str]) -> list[str]:
    lines = [number for number, row in enumerate(rows) if row.startswith("─")]
    if len(lines) < 2:
        return ["(no editor)"]
    return [row.rstrip() for row in rows[lines[-2] + 1 : lines[-1]]]
