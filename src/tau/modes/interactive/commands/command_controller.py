"""Finds the command that was typed and runs it."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tau.ai.wire import ImageContent, UserMessage
from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.modes.interactive.commands import table

if TYPE_CHECKING:
    from tau.coding.session.session import Session
    from tau.modes.interactive.app import App
    from tau.modes.interactive.commands.command_completion import CommandCompletion
    from tau.modes.interactive.commands.prompt_commands import FileCommands
    from tau.modes.interactive.commands.user_lines import UserExecutions
    from tau.tui.widgets.autocomplete import Suggestions

command_completion = late("tau.modes.interactive.commands.command_completion")
difflib = late("difflib")
prompt_commands = late("tau.modes.interactive.commands.prompt_commands")
user_lines = late("tau.modes.interactive.commands.user_lines")

MODULES = {
    "context": late("tau.modes.interactive.commands.context"),
    "display": late("tau.modes.interactive.commands.display"),
    "exporting": late("tau.modes.interactive.commands.export"),
    "program": late("tau.modes.interactive.commands.general"),
    "reload": late("tau.modes.interactive.commands.reload"),
    "session": late("tau.modes.interactive.commands.session"),
    "talk": late("tau.modes.interactive.commands.conversation"),
    "todo": late("tau.modes.interactive.commands.todo"),
    "work": late("tau.modes.interactive.commands.undo_and_jobs"),
}

BUSY = "The agent is at work; {key} stops it."
_SIGNS = "-_.:"
_NEAR, _VERY_NEAR = 0.6, 0.7


class CommandController:
    """`takes` says whether a text is for us, `run` does it; `complete` says how one may go on.

    A command is `/name` with a name that is known, and `/word` alone; a line for the shell begins with `!`,
    one for Python with `$`. All else is a message, a path such as /usr/bin and a text with a blank before
    the slash too.
    """

    def __init__(self, app: "App") -> None:
        self._app = app
        self._message: str | None = None
        self._images: Sequence[ImageContent] = ()
        self._typed = ""

    @cached_property
    def files(self) -> "FileCommands":
        """The commands that user and project have written."""
        found: FileCommands = prompt_commands.FileCommands(self._app)
        return found

    @cached_property
    def _completing(self) -> "CommandCompletion":
        made: CommandCompletion = command_completion.CommandCompletion(self._app, self)
        return made

    @cached_property
    def _lines(self) -> "UserExecutions":
        made: UserExecutions = user_lines.UserExecutions(self._app)
        return made

    def takes(self, text: str) -> bool:
        if text is self._message:
            self._message = None
            return False
        if text.startswith("!") or (text.startswith("$") and not text.startswith("${")):
            return True
        name, rest = split(text)
        if not name:
            return False
        return self._knows(name) or not rest or bool(self.nearest(name, _VERY_NEAR))

    async def run(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Raises TauError. A command that is used wrongly, or cannot be used now, is typed again.

        `images` go along with the message that the command becomes, if it becomes one.
        """
        app = self._app
        self._images = images
        if text[:1] in ("!", "$"):
            await self._lines.run(text)
            return
        name, rest = split(text)
        row = table.find(name)
        if row is not None and app.session_runs and not row.while_busy:
            app.say(BUSY.format(key=app.keys.label("app.interrupt") or "/exit"), "warning")
            self._put_back(text)
        elif row is not None:
            session = app.session
            waited = session is not None and len(session.queue)
            self._typed = text
            try:
                await getattr(MODULES[row.module], row.function)(app, rest)
            except UsageError:
                self._put_back(text)
                raise
            finally:
                self._typed = ""
                if session is not None and not waited:
                    self.send_waiting(session)
        elif (file := self.files.get(name)) is not None:
            self.send(self.files.prompt(file, rest))
        else:
            self._unknown(name, text)

    def asked_for(self) -> str:
        """The command that is being run, once: what it tells at length stands below it."""
        typed, self._typed = self._typed, ""
        return typed

    def complete(self, text: str, cursor: int) -> "Suggestions | None":
        """How the text up to the cursor may go on; None if it is no command, or nothing is known."""
        return self._completing.complete(text, cursor) if text.startswith("/") else None

    def send(self, text: str) -> None:
        """Send this as a message, whatever it begins with: what a file says is never run. Raises TauError."""
        if self._app.session is None:  # what waits for a session is looked at again when there is one
            raise TauError("The session is still being opened; try again in a moment.")
        self._message = text
        try:
            self._app.submit(text, self._images)
        finally:
            self._message, self._images = None, ()

    def send_waiting(self, session: "Session") -> None:
        """What was sent while a command kept the agent from its work goes now, first the first."""
        app = self._app
        if app.session is not session or app.session_runs:
            return
        for item in session.queue.waiting():
            message = item.message
            if item.kind in ("steering", "followUp") and isinstance(message, UserMessage):
                session.queue.settle(message)
                content = [] if isinstance(message.content, str) else message.content
                self._images = [part for part in content if isinstance(part, ImageContent)]
                self.send(item.text)
                return

    def names(self) -> list[str]:
        """All that can stand behind the slash."""
        return [*table.ROWS, *table.ALIASES, *(file.name for file in self.files.all())]

    def nearest(self, name: str, cutoff: float = _NEAR) -> str:
        """The known name that looks most like this one, or nothing."""
        near: list[str] = difflib.get_close_matches(name.lower(), self.names(), 1, cutoff)
        return near[0] if near else ""

    def _knows(self, name: str) -> bool:
        return table.find(name) is not None or self.files.get(name) is not None

    def _unknown(self, name: str, text: str) -> None:
        near = self.nearest(name)
        hint = f" Did you mean /{near}?" if near else " /help shows all of them."
        told = [f"There is no command /{name}.{hint} With a blank before it, it is sent as a message."]
        told += [warning for warning in self.files.warnings if f"/{name}.md" in warning]
        self._app.say("\n".join(told), "warning")
        self._put_back(text)

    def _put_back(self, text: str) -> None:
        """What was typed is not lost, unless something else is being typed already."""
        if self._app.editor.is_empty:
            self._app.editor.set_text(text)


def split(text: str) -> tuple[str, str]:
    """The name of a command and what stands behind it; no name where the text is none."""
    if not text.startswith("/"):
        return "", ""
    head, _, _ = text.partition("\n")
    words = head[1:].split(None, 1)
    name = words[0] if words and not head[1:2].isspace() else ""
    if not name[:1].isalnum() or not all(letter.isalnum() or letter in _SIGNS for letter in name):
        return "", ""
    return name, text[1 + len(name) :].strip()
