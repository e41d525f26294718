"""The server: reads commands, answers them, and reports what happens."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from tau.agent.abort import Aborted
from tau.agent.events import AgentEvent
from tau.base import log
from tau.base.errors import TauError
from tau.base.jsonl import decode_json
from tau.base.tasks import spawn
from tau.base.text import sentence
from tau.modes.event_json import EventEncoder, encode_masked
from tau.modes.event_writer import EventWriter
from tau.modes.exit_status import DONE, NOBODY_READS
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.rpc import frames as f
from tau.modes.rpc.host_link import RpcHostLink
from tau.modes.rpc.ui import RpcUi
from tau.modes.session_commands.command import CallId, CommandCall, CommandError, SessionCommand
from tau.modes.session_commands.table import COMMANDS
from tau.modes.session_host import SessionHost
from tau.sdk import SessionOptions

PARSE = "parse"

# What decoding raises, the last one for deep nesting.
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_envelope = msgspec.json.Decoder(f.Envelope)
_any_call = msgspec.json.Decoder(f.AnyCall)
_ui_response = msgspec.json.Decoder(f.UiResponse)
_tool_reply = msgspec.json.Decoder(f.HostToolReply)
_uri_reply = msgspec.json.Decoder(f.HostUriReply)


class RpcOptions(Struct, frozen=True, kw_only=True):
    """`asks`: the program shows dialogs, so approvals and questions reach the user."""

    session: SessionOptions
    asks: bool = False
    naming: bool = False
    dialog_timeout_s: float = 600


async def run(
    options: RpcOptions,
    lines: LineReader,
    out: OutputStream,
    encoder: EventEncoder,
    started: Callable[[SessionHost], None] = lambda host: None,
) -> int:
    """Serve until the input ends; returns the exit code. `started` gets the host before a session opens."""
    async with asyncio.TaskGroup() as tasks:
        server = _Server(options, lines, out, encoder, tasks)
        started(server.host)
        return await server.serve()


class _Server:
    def __init__(
        self,
        options: RpcOptions,
        lines: LineReader,
        out: OutputStream,
        encoder: EventEncoder,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._lines = lines
        self._tasks = tasks
        self._writer = EventWriter(out, encoder, on_gone=lines.close)
        self._ui = RpcUi(self._send, options.dialog_timeout_s)
        session = msgspec.structs.replace(options.session, ui=self._ui if options.asks else None)
        self.host = SessionHost(session, self._event, tasks, naming=options.naming, display=self._ui)
        self.host.on_shutdown = lines.close
        self.host.on_editor_text = self._ui.set_editor_text
        self._link = RpcHostLink(self.host, self._send)
        self._slow: set[asyncio.Task[None]] = set()

    async def serve(self) -> int:
        try:
            await self.host.open()
            self._send(f.Ready())
            self.host.report_notices()
            while not self._writer.gone:
                try:
                    line = await self._lines.next()
                except TauError as error:  # an overlong line
                    self._fail(PARSE, None, str(error))
                    continue
                if line is None:
                    break
                if line.strip():
                    await self._take(line.encode("utf-8", "surrogatepass"))
        finally:
            await self.host.close()
            if self._lines.closed:  # not at the end of the input: nobody waits for an answer
                for task in self._slow:
                    task.cancel()
            self._writer.flush()
        if self._writer.failure is not None:
            raise self._writer.failure
        return NOBODY_READS if self._writer.gone else DONE

    def _event(self, event: AgentEvent) -> None:
        self._writer.event(event)

    def _send(self, frame: Struct) -> None:
        self._writer.line(encode_masked(frame) + b"\n")

    def _fail(self, command: str, id: CallId | None, error: str, code: str = "") -> None:
        own = UNSET if id is None else id
        self._send(f.CommandResponse(command=command, success=False, id=own, error=error, code=code or UNSET))
        self._send(f.ErrorEvent(error))

    async def _take(self, line: bytes) -> None:
        """Handle one line. Only a slow command lets later ones overtake it."""
        try:
            envelope = decode_json(_envelope, line)
        except _NOT_JSON as error:
            self._fail(PARSE, _id_of(line), f"Invalid line: {error}. Send a JSON object with a type.")
            return
        match envelope.type:
            case "extension_ui_response":
                self._reply(line, _ui_response, self._ui.answer)
            case "host_tool_result" | "host_tool_update":
                self._reply(line, _tool_reply, self._link.take_tool_reply)
            case "host_uri_result":
                self._reply(line, _uri_reply, self._link.take_uri_reply)
            case name if name in COMMANDS:
                await self._command(COMMANDS[name], envelope.id, line)
            case name:
                self._fail(name, envelope.id, f'Unknown command "{name}".', "unknown_command")

    def _reply(self, line: bytes, decoder: msgspec.json.Decoder[Any], take: Callable[[Any], None]) -> None:
        try:
            take(decode_json(decoder, line))
        except (*_NOT_JSON, TauError) as error:
            self._fail(PARSE, _id_of(line), f"Invalid reply: {sentence(str(error))}")

    async def _command(self, command: SessionCommand, id: CallId | None, line: bytes) -> None:
        try:
            request = decode_json(msgspec.json.Decoder(command.request), line)
        except _NOT_JSON as error:
            self._fail(command.name, id, f"Invalid request: {error}.", "invalid_request")
            return
        if command.slow:
            self._slow.add(task := spawn(self._tasks, self._answer(command, id, request)))
            task.add_done_callback(self._slow.discard)
            await asyncio.sleep(0)  # it begins before the next line, which may stop it
        else:
            await self._answer(command, id, request)

    async def _answer(self, command: SessionCommand, id: CallId | None, request: Struct) -> None:
        try:
            data = await command.run(CommandCall(self.host, id, self._send, self._link), request)
        except CommandError as error:
            self._fail(command.name, id, str(error), error.code)
        except TauError as error:
            self._fail(command.name, id, str(error))
        except Aborted:
            self._fail(command.name, id, "Aborted.", "aborted")
        except Exception as error:
            log.error(f"The command {command.name} failed.", error)
            self._fail(command.name, id, f"The command failed unexpectedly: {error!r}.", "internal")
        else:
            own = UNSET if id is None else id
            shown = UNSET if command.response is None else data
            self._send(f.CommandResponse(command=command.name, success=True, id=own, data=shown))


def _id_of(line: bytes) -> CallId | None:
    """The id of a line that is no command, if it has one: its sender waits for an answer."""
    try:
        return decode_json(_any_call, line).id
    except _NOT_JSON:
        return None
