"""Slash commands and shell lines of the plain conversation."""

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
/compact [FOCUS]   summarize older messages to free up context
/handoff [FOCUS]   continue in a new session with a summary
/name [NAME]       show or set the session name
/tree [WORDS]      show the conversation with ids; filter by words
/goto ID           continue from this entry; the old branch stays in the session
/undo [N] [PATH]   undo the agent's file changes; /redo reverts that
/plan              toggle plan mode: plan without making changes
!COMMAND           run a command; !!COMMAND stays out of the model's context
$CODE              run Python; $$CODE stays out of the model's context
/help              show this help; /quit or Ctrl+D quits\
"""
MAX_ROWS = 200

report = late("tau.coding.undo.report")


class ConsoleCommands:
    def __init__(self, session: Session, transcript: PlainTranscript, help: str) -> None:
        self._session = session
        self._transcript = transcript
        self._help = f"{help}\n{COMMANDS}"
        self.handed_over: str | None = None  # the first message of the next session

    async def run(self, text: str) -> bool:
        """Whether it was a command. A message may start with a slash, such as a path."""
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
                self._transcript.line(f'Unknown command "{text}".\n{self._help}')
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
            self._transcript.line("Killed." if ran.exit_code is None else f"Exit code {ran.exit_code}.")

    async def _python(self, text: str) -> None:
        exclude = text.startswith("$$")
        code = text.removeprefix("$").removeprefix("$").strip()
        ran = await self._session.python(code, exclude=exclude, show=self._transcript.stream)
        self._transcript.fresh_line()
        if ran.cancelled:
            self._transcript.line("Stopped.")

    async def _compact(self, focus: str) -> None:
        self._transcript.line("Summarizing; Ctrl+C stops it.")
        done = await self._session.compact(focus)
        before, after = f"{done.tokens_before:,}", f"{done.tokens_after:,}"
        self._transcript.line(f"Compacted the conversation from about {before} to {after} tokens.")

    async def _handoff(self, focus: str) -> None:
        self._transcript.line("Writing a summary; Ctrl+C stops it.")
        with self._session.activities.begin(run=True) as abort:
            handoff = await self._session.compaction.handoff(focus, abort)
        self.handed_over = handoff.prompt
        self._transcript.line("Continuing in a new session.")

    async def _name(self, name: str) -> None:
        if name:
            self._session.names.rename(name)
        shown = self._session.names.name
        self._transcript.line(f'The session name is "{shown}".' if shown else "The session has no name.")

    async def _tree(self, words: str) -> None:
        rows = self._session.tree.rows("default", words)
        first = max(0, len(rows) - MAX_ROWS)
        if first:
            self._transcript.line(f"{first} earlier rows not shown; find them with /tree WORDS.")
        for place in range(first, len(rows)):
            self._transcript.line(f"{rows[place].id}  {draw_row(rows, place)}")
        if not rows:
            self._transcript.line("The session is empty." if not words else "No matches.")

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
            raise TauError("This session has no file history.")
        await recorder.settle()
        plan = plan_of(recorder.undo)
        result = recorder.undo.apply(plan)
        for line in (*report.result_lines(result, session.cwd), report.summary(plan, result)):
            self._transcript.line(line)

    async def _plan(self) -> None:
        on = self._session.plan.toggle()
        self._transcript.line(
            "Plan mode on: the agent explores and writes a plan. /plan turns it off."
            if on
            else "Plan mode off."
        )

    async def _goto(self, target: str) -> None:
        if target not in self._session.log:
            raise TauError("Usage: /goto ID. /tree shows all entries.")
        move = await self._session.goto(target)
        if move.already_there:
            self._transcript.line("Already at this point.")
        elif move.cancelled:
            self._transcript.line("Canceled; the session has not moved.")
        elif move.editor_text:
            self._transcript.line(f"Your next message replaces this one:\n{move.editor_text}")
        else:
            self._transcript.line("Your next message continues from there.")
