"""JSON mode: the session header, then every event as one line of JSON; `--json` also reads such lines."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import Struct

from tau.agent.events import AgentEvent, AgentStart, JobChanged
from tau.agent.loop import Outcome
from tau.base.errors import TauError, UsageError
from tau.base.jsonl import decode_json
from tau.base.late import late
from tau.base.tasks import spawn
from tau.coding.session.session import Session
from tau.modes import job_results
from tau.modes.event_json import EventEncoder, encode, encode_masked
from tau.modes.event_texts import notice_line
from tau.modes.event_writer import EventWriter
from tau.modes.exit_status import DONE, INTERRUPTED, NOBODY_READS, ExitStatus, code_of, judge
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream, tell
from tau.modes.user_prompt import UserPrompt, expanded

if TYPE_CHECKING:
    from tau.modes.answer_schema import AnswerSchema

answer_schemas = late("tau.modes.answer_schema")

MAX_WAITING = 1000


class ErrorLine(Struct, frozen=True, tag_field="type", tag="error"):
    error: str


class InterruptedLine(Struct, frozen=True, tag_field="type", tag="interrupted"):
    pass


class MessageCommand(Struct, frozen=True, tag_field="type", tag="message"):
    content: str


class InterruptCommand(Struct, frozen=True, tag_field="type", tag="interrupt"):
    pass


class PermissionsCommand(Struct, frozen=True, tag_field="type", tag="permissions"):
    mode: str


_Command: TypeAlias = MessageCommand | InterruptCommand | PermissionsCommand
_decoder = msgspec.json.Decoder(_Command)


async def run(
    session: Session,
    prompts: Sequence[UserPrompt],
    out: OutputStream,
    encoder: EventEncoder | None = None,
    schema: "AnswerSchema | None" = None,
) -> int:
    """`--mode json`: run the prompts in order. Returns the exit code.

    With a schema, the text of the last answer is JSON that matches it, or the run has failed.
    """
    writer = _open(session, out, encoder)
    stop_listening = session.subscribe(writer.event)
    code = DONE
    try:
        for prompt in prompts:
            if session.extensions is not None and await session.extensions.run_command(prompt.text):
                continue
            verdict = await _send(session.prompt(expanded(session, prompt), prompt.images), writer)
            code = verdict.code
            if verdict.remark and not writer.gone:
                tell(verdict.remark)
            if code != DONE or writer.gone:
                break
        else:
            code = await _finish_jobs(session, writer)
            if schema is not None and code == DONE:
                code = await _complete_answer(session, schema, writer)
    finally:
        stop_listening()
        writer.flush()
    return _final(writer, code)


async def run_lines(
    session: Session,
    prompts: Sequence[UserPrompt],
    lines: LineReader,
    out: OutputStream,
    encoder: EventEncoder | None = None,
) -> int:
    """`--json`: run messages from JSON lines in order, until the lines end or are closed.

    Returns the exit code of the last message; one interrupted on request has not failed.
    """
    writer = _open(session, out, encoder)
    conversation = _Conversation(session, writer, prompts, lines)
    stop_listening = session.subscribe(conversation.event)
    try:
        async with asyncio.TaskGroup() as tasks:
            work = spawn(tasks, conversation.work())
            reading = spawn(tasks, conversation.read())
            await work
            reading.cancel()
    finally:
        stop_listening()
        writer.flush()
    return _final(writer, conversation.code)


class _Conversation:
    """Queued messages and the current one."""

    def __init__(
        self, session: Session, writer: EventWriter, prompts: Sequence[UserPrompt], lines: LineReader
    ) -> None:
        self.code = DONE
        self._session = session
        self._writer = writer
        self._lines = lines
        self._waiting = deque(prompts)
        self._changed = asyncio.Event()
        self._ended = False
        self._running = False
        self._interrupts = 0

    async def work(self) -> None:
        while not self._writer.gone and not self._lines.closed:
            if self._waiting:
                prompt = self._waiting.popleft()
                extensions = self._session.extensions
                if extensions is not None and await extensions.run_command(prompt.text):
                    self._changed.set()
                    continue
                running = self._session.prompt(expanded(self._session, prompt), prompt.images)
            elif job_results.may_continue(self._session):
                running = self._session.go_on(results=True)
            elif self._ended:
                self.code = await _finish_jobs(self._session, self._writer) or self.code
                return
            else:
                self._changed.clear()
                await self._changed.wait()
                continue
            self._running = True
            verdict = await _send(running, self._writer)
            self._running = False
            self.code = DONE if verdict.code == INTERRUPTED else verdict.code
            self._answer_interrupts()
            self._changed.set()

    async def read(self) -> None:
        while True:
            while len(self._waiting) >= MAX_WAITING:
                self._changed.clear()
                await self._changed.wait()
            try:
                line = await self._lines.next()
                if line is None:
                    break
                if line.strip():
                    self._take(decode_json(_decoder, line))
            except (TauError, msgspec.DecodeError, RecursionError) as error:
                self._writer.line(encode_masked(ErrorLine(_explained(error))) + b"\n")
        self._ended = True
        self._changed.set()

    def event(self, event: AgentEvent) -> None:
        self._writer.event(event)
        if isinstance(event, JobChanged):
            self._changed.set()
        if self._interrupts and isinstance(event, AgentStart):
            self._session.abort()

    def _take(self, command: _Command) -> None:
        match command:
            case MessageCommand(content) if not content.strip():
                raise UsageError("The message is empty.")
            case MessageCommand(content):
                self._waiting.append(UserPrompt(content))
                self._changed.set()
            case InterruptCommand():
                self._interrupts += 1
                if not self._running and not self._waiting:
                    self._answer_interrupts()
                self._session.abort()
            case PermissionsCommand(mode):
                permissions = self._session.permissions
                if mode == permissions.mode:
                    permissions.announce()
                permissions.set_mode(mode)  # reports the change

    def _answer_interrupts(self) -> None:
        for _ in range(self._interrupts):
            self._writer.line(encode(InterruptedLine()) + b"\n")
        self._interrupts = 0


def _open(session: Session, out: OutputStream, encoder: EventEncoder | None) -> EventWriter:
    """The header comes first; startup messages are not events and go to stderr."""
    for notice in session.notices:
        tell(notice_line(notice))
    writer = EventWriter(out, encoder or EventEncoder(), on_gone=session.abort)
    writer.line(encode_masked(session.log.header) + b"\n")
    writer.flush()
    return writer


async def _finish_jobs(session: Session, writer: EventWriter) -> int:
    if not session.jobs.list():
        return DONE
    verdict = await job_results.finish_jobs(session, lambda running: _send(running, writer))
    if verdict.remark and not writer.gone:
        tell(verdict.remark)
    return verdict.code


async def _complete_answer(session: Session, schema: "AnswerSchema", writer: EventWriter) -> int:
    verdict, _ = await answer_schemas.complete_answer(session, schema, lambda running: _send(running, writer))
    if verdict.code != DONE and not writer.gone:
        writer.line(encode_masked(ErrorLine(verdict.remark)) + b"\n")
        tell(verdict.remark)
    return verdict.code


async def _send(running: Awaitable[Outcome], writer: EventWriter) -> ExitStatus:
    try:
        return judge(await running)
    except TauError as error:
        writer.line(encode_masked(ErrorLine(str(error))) + b"\n")
        return ExitStatus(code_of(error), str(error))


def _final(writer: EventWriter, code: int) -> int:
    if writer.failure is not None:
        raise writer.failure
    return NOBODY_READS if writer.gone else code


def _explained(error: Exception) -> str:
    if isinstance(error, TauError):
        return str(error)
    known = '{"type":"message","content":"..."}, {"type":"interrupt"} or {"type":"permissions","mode":"..."}'
    return f"Invalid line: {error}. Send {known}."
