"""What a user can type into the plain conversation besides messages: slash commands and shell lines."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tau.agent.abort import Aborted
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session.session import Session
from tau.coding.session.tree_rows import draw_row
from tau.modes.plain_transcript import PlainTranscript

COMMANDS = """\
/compact [FOCUS]   put a summary in the place of the older part of the conversation
/handoff [FOCUS]   write down what matters and go on with it in a new session
/name [NAME]       name the session, or show its name
/tree [WORDS]      show what was said, with ids; only what has these words
/goto ID           go on from there; the way that is left stays in the session
/undo [N] [PATH]   take back what the agent changed in files; /redo takes that back
/plan              let the agent look and plan only, or end that
!COMMAND           run a command and tell the model; !!COMMAND does not tell it
$CODE              run Python and tell the model; $$CODE does not tell it
/help              show this; /quit or Ctrl+D ends the conversation\
"""
MAX_ROWS = 200

report = late("tau.coding.undo.report")


class ConsoleCommands:
    def __init__(self, session: Session, transcript: PlainTranscript, help: str) -> None:
        self._session = session
        self._transcript = transcript
        self._help = f"{help}\n{COMMANDS}"
        self.handed_over: str | None = None  # the first message of the session that takes over

    async def run(self, text: str) -> bool:
        """Whether it was a command. A message may begin with a slash, as a path does."""
        if text.startswith("!") and text.strip("!").strip():
            await self._guarded(self._shell(text))
            return True
        if text.startswith("$") and text.strip("$").strip():
            await self._guarded(self._python(text))
            return True
        name, _, rest = text.removeprefix("/").partition(" ")
        if name == text or "\n" in text:
            return False
        match name:
            case "compact":
                await self._guarded(self._compact(rest.strip()))
            case "handoff":
                await self._guarded(self._handoff(rest.strip()))
            case "name":
                await self._guarded(self._name(rest.strip()))
            case "tree":
                await self._guarded(self._tree(rest.strip()))
            case "goto":
                await self._guarded(self._goto(rest.strip()))
            case "undo":
                await self._guarded(self._undo(rest.split()))
            case "redo":
                await self._guarded(self._redo())
            case "plan":
                await self._guarded(self._plan())
            case "help":
                self._transcript.line(self._help)
            case _ if name.isalpha() and not rest:
                self._transcript.line(f'There is no command "{text}".\n{self._help}')
            case _:
                return False
        return True

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Aborted:
            self._transcript.line("Stopped.")
        except TauError as error:
            self._transcript.fresh_line()
            self._transcript.line(str(error))

    async def _shell(self, text: str) -> None:
        exclude = text.startswith("!!")
        command = text.removeprefix("!").removeprefix("!").strip()
        ran = await self._session.bash(command, exclude=exclude, show=self._transcript.stream)
        self._transcript.fresh_line()
        if ran.cancelled:
            self._transcript.line("Stopped.")
        elif ran.exit_code != 0:
            self._transcript.line(
                "It was killed." if ran.exit_code is None else f"Exit code {ran.exit_code}."
            )

    async def _python(self, text: str) -> None:
        exclude = text.startswith("$$")
        code = text.removeprefix("$").removeprefix("$").strip()
        ran = await self._session.python(code, exclude=exclude, show=self._transcript.stream)
        self._transcript.fresh_line()
        if ran.cancelled:
            self._transcript.line("Stopped.")

    async def _compact(self, focus: str) -> None:
        self._transcript.line("Summarising; Ctrl+C stops it.")
        done = await self._session.compact(focus)
        before, after = f"{done.tokens_before:,}", f"{done.tokens_after:,}"
        self._transcript.line(f"The conversation was compacted from about {before} to {after} tokens.")

    async def _handoff(self, focus: str) -> None:
        self._transcript.line("Writing down what matters; Ctrl+C stops it.")
        with self._session.activities.begin(run=True) as abort:
            handoff = await self._session.compaction.handoff(focus, abort)
        self.handed_over = handoff.prompt
        self._transcript.line("A new session takes over from here.")

    async def _name(self, name: str) -> None:
        if name:
            self._session.names.rename(name)
        shown = self._session.names.name
        self._transcript.line(f'The session is called "{shown}".' if shown else "The session has no name.")

    async def _tree(self, words: str) -> None:
        rows = self._session.tree.rows("default", words)
        first = max(0, len(rows) - MAX_ROWS)
        if first:
            self._transcript.line(f"{first} earlier rows are not shown; /tree WORDS finds them.")
        for place in range(first, len(rows)):
            self._transcript.line(f"{rows[place].id}  {draw_row(rows, place)}")
        if not rows:
            self._transcript.line("There is nothing yet." if not words else "Nothing has these words.")

    async def _undo(self, words: list[str]) -> None:
        count = int(words.pop(0)) if words and words[0].isdecimal() else 1
        await self._take_back(
            lambda undo: undo.plan(count=max(count, 1), paths=[Path(w).resolve() for w in words])
        )

    async def _redo(self) -> None:
        await self._take_back(lambda undo: undo.redo_plan())

    async def _take_back(self, plan_of: Callable[[Any], Any]) -> None:
        session = self._session
        recorder = session.recorder
        if recorder is None:
            raise TauError("This session keeps no history of files.")
        await recorder.settle()
        plan = plan_of(recorder.undo)
        result = recorder.undo.apply(plan)
        for line in (*report.result_lines(result, session.cwd), report.summary(plan, result)):
            self._transcript.line(line)

    async def _plan(self) -> None:
        on = self._session.plan.toggle()
        self._transcript.line(
            "Plan mode: the agent looks and writes a plan; /plan ends it." if on else "Plan mode is over."
        )

    async def _goto(self, target: str) -> None:
        if target not in self._session.log:
            raise TauError("Name an entry by its id, as /tree shows it: /goto ID.")
        move = await self._session.goto(target)
        if move.already_there:
            self._transcript.line("Already at this point.")
        elif move.cancelled:
            self._transcript.line("The session stays where it is.")
        elif move.editor_text:
            self._transcript.line(f"The next message takes the place of this one:\n{move.editor_text}")
        else:
            self._transcript.line("The next message goes on from there.")
