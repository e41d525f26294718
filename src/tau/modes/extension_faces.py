"""Modes without a screen, as extensions see them: what they may ask of the program that runs the session."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.events import AgentSettled, Notice
from tau.agent.queue import user_message
from tau.agent.ui import Ui
from tau.base.errors import TauError
from tau.base.tasks import spawn
from tau.coding.extensions import SessionChange
from tau.coding.session.session import Session

if TYPE_CHECKING:
    from tau.modes.session_host import SessionHost

ONE_SESSION = "This mode has one session; open another one in an interactive session."


class BatchFace:
    """Implements `tau.coding.extensions.Face` for print mode, JSON lines and the console."""

    screen = None

    def __init__(
        self, session: Session, mode: str, display: Ui | None = None, stop: Callable[[], None] | None = None
    ) -> None:
        self.mode, self.display = mode, display
        self._session = session
        self._stop = stop or session.abort

    def prompt(self, text: str) -> None:
        """It is sent when the agent would stop, or after the prompts."""
        queue = self._session.queue
        (queue.steer if self._session.activities.running else queue.follow_up)(user_message(text))

    def wake(self) -> None:
        """Notes are read at the end of the current prompt."""

    def set_editor(self, text: str) -> None:
        """There is no editor."""

    def shutdown(self) -> None:
        self._stop()

    async def change_session(self, change: SessionChange) -> bool:
        raise TauError(ONE_SESSION)


class ProgramFace:
    """The same for RPC, editors and the HTTP server."""

    screen = None

    def __init__(self, host: "SessionHost") -> None:
        self.mode, self.display = host.mode, host.display
        self._host = host

    def prompt(self, text: str) -> None:
        if self._host.busy:
            self._host.session.queue.steer(user_message(text))
        else:
            self._host.prompt(text)

    def wake(self) -> None:
        self._host.answer_results(self._host.session)

    def set_editor(self, text: str) -> None:
        self._host.on_editor_text(text)

    def shutdown(self) -> None:
        spawn(self._host.tasks, self._quit())

    async def _quit(self) -> None:
        """After the run, and the commands of extensions."""
        while working := {*self._host.commands, *filter(None, (self._host.run,))}:
            await asyncio.wait(working)
        self._host.on_shutdown()

    async def change_session(self, change: SessionChange) -> bool:
        if change.kind == "new":
            is_done = await self._host.new()
        elif change.kind == "resume":
            is_done = await self._host.resume(Path(change.target))
        else:
            is_done = await self._host.fork(change.target or None)
        if not is_done:
            return False
        if change.draft:
            self._host.on_editor_text(change.draft)
        return True


def start_command(host: "SessionHost", text: str) -> asyncio.Task[None] | None:
    """Run the command of an extension in the background; None if the text is none.

    It ends in `agent_settled`: in that of a run that it joins or starts, else in its own.
    """
    extensions = host.session.extensions
    name = text[1:].partition(" ")[0]
    if extensions is None or text[:1] != "/" or all(one.name != name for one in extensions.commands()):
        return None
    joins, runs = host.busy, host.runs

    async def run() -> None:
        is_aborted = True
        try:
            await extensions.run_command(text)
            is_aborted = False
        except TauError as error:
            is_aborted = False
            host.emit(Notice("error", str(error)))
        finally:
            if not joins and host.runs == runs:
                host.emit(AgentSettled(is_aborted))

    host.commands.add(task := spawn(host.tasks, run()))
    task.add_done_callback(host.commands.discard)
    return task
