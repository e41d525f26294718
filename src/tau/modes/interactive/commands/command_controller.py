"""Finds and runs typed commands."""

from collections.abc import Sequence
from functools import cached_property

from tau.ai.wire import ImageContent, UserMessage
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes import command_table as table
from tau.modes.interactive.command_context import CommandContext
from tau.tui.widgets.autocomplete import Suggestions

command_completion = late("tau.modes.interactive.commands.command_completion")
user_lines = late("tau.modes.interactive.commands.user_lines")

MODULES = {
    "commit": late("tau.modes.interactive.commands.commit"),
    "context": late("tau.modes.interactive.commands.context"),
    "conversation": late("tau.modes.interactive.commands.conversation"),
    "display": late("tau.modes.interactive.commands.display"),
    "doctor": late("tau.modes.interactive.commands.doctor"),
    "export": late("tau.modes.interactive.commands.export"),
    "general": late("tau.modes.interactive.commands.general"),
    "login": late("tau.modes.interactive.dialogs.login"),
    "browser": late("tau.modes.interactive.commands.browser"),
    "lsp": late("tau.modes.interactive.commands.lsp"),
    "mcp": late("tau.modes.interactive.commands.mcp"),
    "memory": late("tau.modes.interactive.commands.memory"),
    "share": late("tau.modes.interactive.commands.share"),
    "permissions": late("tau.modes.interactive.commands.permissions"),
    "reload": late("tau.modes.interactive.commands.reload"),
    "review": late("tau.modes.interactive.commands.review"),
    "sandbox_ports": late("tau.modes.interactive.commands.sandbox_ports"),
    "session": late("tau.modes.interactive.commands.session"),
    "todo": late("tau.modes.interactive.commands.todo"),
    "omfg": late("tau.modes.interactive.commands.omfg"),
    "hooks": late("tau.modes.interactive.commands.hooks"),
    "agents": late("tau.modes.interactive.commands.agents"),
    "extensions": late("tau.modes.interactive.commands.extensions"),
    "trust": late("tau.modes.interactive.commands.trust"),
    "undo_and_jobs": late("tau.modes.interactive.commands.undo_and_jobs"),
}

BUSY = "The agent is working; {key} stops it."


class CommandController:
    """Runs and completes commands."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._names = context.names
        self._images: Sequence[ImageContent] = ()

    @cached_property
    def _completing(self) -> "command_completion.CommandCompletion":
        context = self._context
        return command_completion.CommandCompletion(
            *(context.display, context.current, context.tasks, self._names.files),
            self._names.extension_commands,
        )

    @cached_property
    def _lines(self) -> "user_lines.UserExecutions":
        context = self._context
        return user_lines.UserExecutions(context.current, context.activity, context.transcript)

    async def run(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Raises TauError. Puts a command back into the editor if it is misused or unavailable.

        `images` are attached to the message the command turns into, if any.
        """
        context = self._context
        self._images = images
        if text[:1] in ("!", "$"):
            await self._lines.run(text)
            return
        name, rest = table.split(text)
        row = table.find(name)
        if row is not None and context.current.running and not row.while_busy:
            key = context.display.keys.label("app.interrupt") or "/exit"
            context.say(BUSY.format(key=key), "warning")
            self._put_back(text)
        elif row is not None:
            session = context.session
            waited = session is not None and len(session.queue)
            context.transcript.set_command(text)
            try:
                await getattr(MODULES[row.module], row.function)(context, rest)
            except UsageError:
                self._put_back(text)
                raise
            finally:
                context.transcript.set_command("")
                if session is not None and not waited:
                    self.send_waiting(session)
        elif (extensions := self._names.extensions_with(name)) is not None:
            await extensions.run_command(text)
        elif (file := self._names.files.get(name)) is not None:
            context.actions.send(self._names.files.prompt(file, rest))
        elif self._names.is_server_prompt(name):
            context.actions.send(text)
        else:
            self._unknown(name, text)

    def complete(self, text: str, cursor: int) -> Suggestions | None:
        """Completions for the text up to the cursor; None if it is not a command or nothing is known."""
        return self._completing.complete(text, cursor) if text.startswith("/") else None

    def take_images(self) -> Sequence[ImageContent]:
        """Images attached to the command, for the message it turns into."""
        images, self._images = self._images, ()
        return images

    def send_waiting(self, session: Session) -> None:
        """Send messages held back while a command blocked the agent, in order."""
        current = self._context.current
        if current.session is not session or current.running:
            return
        for item in session.queue.waiting():
            message = item.message
            if item.kind in ("steering", "followUp") and isinstance(message, UserMessage):
                session.queue.settle(message)
                content = [] if isinstance(message.content, str) else message.content
                self._images = [part for part in content if isinstance(part, ImageContent)]
                self._context.actions.send(item.text)
                return

    def _unknown(self, name: str, text: str) -> None:
        hint = table.did_you_mean(self._names.suggest(name)) or " See /help."
        lines = [f"Unknown command /{name}.{hint} To send it as a message, put a space before it."]
        lines += [warning for warning in self._names.files.warnings if f"/{name}.md" in warning]
        self._context.say("\n".join(lines), "warning")
        self._put_back(text)

    def _put_back(self, text: str) -> None:
        """Return the text to the editor unless something else has been typed."""
        editor = self._context.display.editor
        if editor.is_empty:
            editor.set_text(text)
