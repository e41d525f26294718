"""A plain line-by-line conversation for dumb terminals, screen readers, logs and pipes."""

import asyncio
from collections.abc import Sequence

from tau.agent.events import AgentEvent
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.base.version import VERSION
from tau.coding.session.session import Session
from tau.modes.console_ui import ConsoleUi
from tau.modes.exit_status import DONE, INTERRUPTED, NOBODY_READS, code_of, judge
from tau.modes.line_input import InputInterrupted, LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.plain_transcript import PlainTranscript
from tau.modes.prompt import UserPrompt

commands = late("tau.modes.console_commands")
idle_tasks = late("tau.modes.idle_tasks")

HELP = """\
Type a message and press Enter. A backslash at the end of a line continues it; pasted lines stay together.
While the agent works, it sees what you type after the current step; Ctrl+C stops it.\
"""
QUIT = ("/quit", "/exit")


class Console:
    """Create it before the session, which takes its `ui`; then `run` it."""

    def __init__(self, lines: LineReader, out: OutputStream) -> None:
        self._lines = lines
        self._out = out
        self._transcript = PlainTranscript(out)
        self._session: Session | None = None
        self._commands: commands.ConsoleCommands | None = None
        self._code = DONE
        self._quitting = False
        self.ui = ConsoleUi(lines, self._transcript)

    async def run(self, session: Session, prompts: Sequence[UserPrompt] = ()) -> int:
        """Talk until the input ends. On a terminal the exit code is 0, else that of the last message."""
        self._session, self._commands = session, None
        stop_listening = session.subscribe(self._show)
        try:
            self._greet(session)
            async with asyncio.TaskGroup() as tasks:
                for prompt in prompts:
                    self._transcript.line(f"> {prompt.text}")
                    await self._turn(session, prompt, tasks)
                while not self._over and (text := await self._message()) is not None:
                    await self._turn(session, UserPrompt(text), tasks)
        finally:
            stop_listening()
        if self._out.gone:
            return NOBODY_READS
        return DONE if self._lines.is_terminal else self._code

    def interrupt(self) -> None:
        """Ctrl+C: stop the run, or interrupt waiting for a line."""
        if self._session is not None and self._session.busy:
            self._session.abort()
        else:
            self._lines.interrupt()

    def stop(self) -> None:
        """End the conversation now; a current run is stopped and recorded."""
        self._quitting = True
        self._lines.close()
        if self._session is not None:
            self._session.abort()

    @property
    def handed_over(self) -> str | None:
        """The first prompt of the next session after a handoff."""
        return None if self._commands is None else self._commands.handed_over

    @property
    def _over(self) -> bool:
        return self._quitting or self._out.gone or self.handed_over is not None

    def _show(self, event: AgentEvent) -> None:
        self._transcript.event(event)
        if self._out.gone and self._session is not None:
            self._session.abort()

    def _greet(self, session: Session) -> None:
        thinking = f", thinking {session.thinking}" if session.model.reasoning else ""
        self._transcript.line(f"tau {VERSION}, model {session.model.key}{thinking}. /help for help.")
        for notice in session.notices:
            self._transcript.event(notice)

    async def _turn(self, session: Session, prompt: UserPrompt, tasks: asyncio.TaskGroup) -> None:
        listening = spawn(tasks, self._steer(session)) if self._lines.is_terminal else None
        try:
            verdict = judge(await session.prompt(prompt.text, prompt.images))
            self._code = verdict.code
            remark = "Stopped." if verdict.code == INTERRUPTED else verdict.remark
        except TauError as error:
            self._code, remark = code_of(error), str(error)
        finally:
            if listening is not None:
                listening.cancel()
        self._transcript.fresh_line()
        if remark:
            self._transcript.line(remark)
        if waiting := len(session.queue):
            self._transcript.line(f"Queued messages: {waiting}. They follow your next one.")

    async def _steer(self, session: Session) -> None:
        """Pass what is typed during a run to the agent."""
        while True:
            try:
                line = await self._lines.next()
                if line is None:
                    return
                self._transcript.typed_line()
                if line.strip() in QUIT:
                    self._quitting = True
                    session.abort()
                elif line.startswith("!") and line.strip("! "):
                    await self._is_command(line.strip())
                elif line.strip():
                    session.steer(line)
            except InputInterrupted:
                continue
            except TauError as error:
                self._transcript.line(str(error))

    async def _message(self) -> str | None:
        """The next user input; None at the end."""
        parts: list[str] = []
        warned = False
        while True:
            try:
                line = await self._read("... " if parts else "> ")
            except InputInterrupted:
                if warned and not parts:
                    self._transcript.fresh_line()
                    return None
                parts, warned = [], True
                self._transcript.line("Press Ctrl+C again or Ctrl+D to quit.")
                continue
            except TauError as error:
                self._transcript.line(str(error))
                continue
            if line is None:
                self._transcript.fresh_line()
                return "\n".join(parts).strip() or None
            if line.endswith("\\"):
                parts.append(line[:-1])
                continue
            text = "\n".join([*parts, line]).strip()
            parts, warned = [], False
            if text in QUIT:
                return None
            if text and not await self._is_command(text):
                return text
            if self.handed_over is not None:
                return None

    async def _read(self, sign: str) -> str | None:
        """A line, or several pasted ones; echo it if it was not visible while typed."""
        if self._lines.is_terminal:
            self._transcript.stream(sign)
        line = await self._waited_for()
        if line is None:
            return None
        if not self._lines.is_terminal:
            self._transcript.line(f"{sign}{line}")
            return line
        self._transcript.typed_line()
        return line if line.endswith("\\") else "\n".join([line, *await self._lines.pasted()])

    async def _waited_for(self) -> str | None:
        """The next line; on a terminal, the session may do idle work until it arrives."""
        session = self._session
        if session is None or not self._lines.is_terminal or not session.compaction.settings.idle_enabled:
            return await self._lines.next()
        async with asyncio.TaskGroup() as tasks:
            aside = spawn(tasks, idle_tasks.while_idle(session, naming=False))
            try:
                return await self._lines.next()
            finally:
                aside.cancel()

    async def _is_command(self, text: str) -> bool:
        assert self._session is not None
        if self._commands is None:
            self._commands = commands.ConsoleCommands(self._session, self._transcript, HELP)
        return await self._commands.run(text)
