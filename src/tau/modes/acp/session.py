"""One session that an editor drives."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from acp import RequestError
from acp import schema as a
from acp.interfaces import Client
from msgspec.structs import replace

from tau.agent import events as e
from tau.agent.loop import Outcome
from tau.agent.ports import FileSystem
from tau.agent.queue import user_message
from tau.ai.wire import AssistantMessage
from tau.base import log
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.session.entries import MessageEntry
from tau.modes import extension_faces
from tau.modes.acp.config_options import ConfigOption, config_options, mode_state, set_option
from tau.modes.acp.content import PromptBlock, PromptMessage
from tau.modes.acp.dialogs import AcpDialogs
from tau.modes.acp.editor_files import EditorFiles
from tau.modes.acp.editor_terminals import EditorRunner
from tau.modes.acp.errors import INTERNAL
from tau.modes.acp.updates import RunUpdates, Update, message_chunk, plan_update, replay
from tau.modes.exit_status import judge
from tau.modes.session_commands import models, state
from tau.modes.session_commands.command import CommandCall, NoFields
from tau.modes.session_host import SessionHost
from tau.sdk import SessionOptions

attachment_texts = late("tau.modes.session_commands.attachment_texts")

BUSY = "The agent is still answering the last prompt; cancel it or wait."
FAILED = "The run failed; the messages above and the log file say why."


class AcpSession:
    """`write` sends an update for this session. Nothing is sent before `begin`, so that the answer to the
    request that opened the session comes first."""

    def __init__(
        self,
        options: SessionOptions,
        client: Client,
        write: Callable[[str, dict[str, Any]], None],
        tasks: asyncio.TaskGroup,
        capabilities: a.ClientCapabilities,
    ) -> None:
        self.id = ""
        self._write = write
        self._updates = RunUpdates(self._send, options.cwd)
        files: FileSystem = LocalFileSystem()
        if (fs := capabilities.fs) is not None and (fs.read_text_file or fs.write_text_file):
            files = EditorFiles(files, client, lambda: self.id, fs)
        dialogs = AcpDialogs(client, lambda: self.id, self._say, files)
        own = replace(options, ui=dialogs, dialogs=dialogs, disk=files)
        if capabilities.terminal:
            own = replace(
                own,
                wrap_runner=lambda inner: EditorRunner(
                    inner, client, lambda: self.id, self._updates.show_terminal, tasks
                ),
            )
        self.host = SessionHost(own, self._take, tasks, naming=True, mode="acp", display=dialogs)
        self._call = CommandCall(self.host)
        self._models: list[models.ModelInfo] = []
        self._held: list[Update] | None = []
        self._shown_todos = plan_update(())
        self._shown_mode = ""
        self._prompting = False
        self._canceled = False

    async def open(self, id: str = "") -> None:
        """Open it under this id, or its own. Raises TauError."""
        await self.host.open()
        self.id = id or self.host.session.log.header.id
        self._models = (await models.get_available_models(self._call, NoFields())).models
        self._shown_mode = self.host.session.permissions.mode

    @property
    def modes(self) -> a.SessionModeState:
        return mode_state(self.host.session)

    @property
    def config_options(self) -> list[ConfigOption]:
        return config_options(self.host.session, self._models)

    def replay(self) -> None:
        """Send the whole conversation; call it before the answer to the request."""
        stored = self.host.session.log
        entries = (stored.decode(node) for node in stored.branch())
        messages = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
        replay(messages, self._now, self.host.session.cwd)

    async def begin(self) -> None:
        """Send what has happened since it was opened, and what the editor offers the user."""
        try:
            await self._begin()
        except Exception as error:  # it must not end the other sessions
            log.error("The first updates of a session failed.", error)

    async def _begin(self) -> None:
        held, self._held = self._held or [], None
        for update in held:
            self._now(update)
        self.host.report_notices()
        commands = (await state.get_commands(self._call, NoFields())).commands
        shown = [
            a.AvailableCommand(name=command.name, description=command.description or command.name)
            for command in commands
        ]
        self._send(
            a.AvailableCommandsUpdate(session_update="available_commands_update", available_commands=shown)
        )
        self._send_todos()
        if self.host.session.log.messages():
            self._send_usage()

    async def prompt(self, blocks: Sequence[PromptBlock]) -> a.PromptResponse:
        """Run until the agent stops. Raises TauError, or RequestError with the reason of a failure."""
        if self._prompting:
            raise UsageError(BUSY)
        self._prompting, self._canceled = True, False
        try:
            message = PromptMessage(blocks)
            if message.attachments:
                message.attachments = await attachment_texts.with_texts(message.attachments)
            outcome = None if self._canceled else await self._run(message)
        finally:
            self._prompting = False
        if self._canceled or (outcome is not None and outcome.aborted):
            return a.PromptResponse(stop_reason="cancelled")
        if outcome is None:
            raise RequestError(INTERNAL, FAILED)
        return _response(outcome)

    async def cancel(self) -> None:
        """Stop the agent; the prompt is then answered."""
        self._canceled = self._prompting
        await self.host.abort()

    async def set_mode(self, mode: str) -> None:
        await set_option(self._call, "mode", mode)

    async def set_option(self, option: str, value: str | bool) -> None:
        await set_option(self._call, option, value)

    async def close(self) -> None:
        self._canceled = self._prompting
        await self.host.close()

    async def _run(self, message: PromptMessage) -> Outcome | None:
        host, text = self.host, self.host.expand(message.text)
        if (command := extension_faces.start_command(host, message.text)) is not None:
            await asyncio.wait((command,))
            if host.run is None:
                return Outcome(message=None, messages=[])
        elif host.run is None:
            host.prompt(text, message.images, message.attachments)
        else:  # the agent works on the result of a background job
            host.check_message(text, message.images, message.attachments)
            host.session.queue.steer(user_message(text, message.images, message.attachments))
        run = host.run
        assert run is not None
        await asyncio.wait((run,))
        return None if run.cancelled() else run.result()

    def _say(self, notice: e.Notice) -> None:
        """What an extension tells the user, also where it is no problem."""
        if notice.level == "info":
            self._send(message_chunk(f"\n{notice.message}\n"))
        self._take(notice)

    def _take(self, event: e.AgentEvent) -> None:
        self._updates.take(event)
        match event:
            case e.TurnEnd():
                self._send_usage()
            case e.ToolEnd() | e.TodoAutoClear():
                self._send_todos()
            case e.PermissionsChanged(mode=mode) if mode != self._shown_mode:
                self._shown_mode = mode
                self._send(a.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))
                self._send_options()
            case e.ModelChanged() | e.ThinkingLevelChanged():
                self._send_options()
            case e.SessionInfoChanged(name=name):
                title = name if isinstance(name, str) else ""
                self._send(a.SessionInfoUpdate(session_update="session_info_update", title=title))

    def _send(self, update: Update) -> None:
        if self._held is None:
            self._now(update)
        else:
            self._held.append(update)

    def _now(self, update: Update) -> None:
        fields = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._write("session/update", {"sessionId": self.id, "update": fields})

    def _send_options(self) -> None:
        if self.id:
            self._send(
                a.ConfigOptionUpdate(
                    session_update="config_option_update", config_options=self.config_options
                )
            )

    def _send_todos(self) -> None:
        """A plan that has not changed is not sent again."""
        todos = plan_update(self.host.session.todos.phases)
        if todos != self._shown_todos:
            self._shown_todos = todos
            self._send(todos)

    def _send_usage(self) -> None:
        session = self.host.session
        usage = session.compaction.usage()
        cost = a.Cost(amount=session.stats.summary().cost, currency="USD")
        self._send(
            a.UsageUpdate(session_update="usage_update", used=usage.tokens or 0, size=usage.window, cost=cost)
        )


def _response(outcome: Outcome) -> a.PromptResponse:
    verdict = judge(outcome)
    was_handled = outcome.message is None and outcome.error is None  # by an extension
    if verdict.code and not was_handled:
        raise RequestError(INTERNAL, verdict.remark)
    message = outcome.message
    cut_off = message is not None and message.stop_reason == "length"
    return a.PromptResponse(stop_reason="max_tokens" if cut_off else "end_turn", usage=_usage(outcome))


def _usage(outcome: Outcome) -> a.Usage:
    counts = [message.usage for message in outcome.messages if isinstance(message, AssistantMessage)]
    read, written = sum(one.cache_read for one in counts), sum(one.cache_write for one in counts)
    sent, received = sum(one.input for one in counts), sum(one.output for one in counts)
    return a.Usage(
        input_tokens=sent,
        output_tokens=received,
        cached_read_tokens=read,
        cached_write_tokens=written,
        total_tokens=sent + received + read + written,
    )
