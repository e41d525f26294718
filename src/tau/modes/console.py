"""A plain line-by-line conversation for dumb terminals, screen readers, logs and pipes."""

import asyncio
from collections.abc import Awaitable, Sequence

from tau.agent.events import AgentEvent
from tau.agent.loop import Outcome
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.base.version import VERSION
from tau.coding.session.session import Session
from tau.modes import job_results
from tau.modes.console_ui import ConsoleUi
from tau.modes.exit_status import DONE, INTERRUPTED, NOBODY_READS, ExitStatus, code_of, judge
from tau.modes.line_input import InputInterrupted, LineReader
from tau.modes.output_stream import OutputStream
from tau.modes.plain_transcript import PlainTranscript
from tau.modes.user_prompt import UserPrompt, expanded

commands = late("tau.modes.console_commands")
idle_tasks = late("tau.modes.idle_tasks")

HELP = """\
Type a message and press Enter. A backslash at the end of a line continues it; pasted lines stay together.
While the agent works, it sees what you type after the current step; Ctrl+C stops it.\
"""
QUIT = ("/quit", "/exit")


class _ResultArrived(Exception):
    """A background job has ended while a line was awaited."""


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
                    await self._run_turn(
                        session, session.prompt(expanded(session, prompt), prompt.images), tasks
                    )
                while not self._is_over:
                    text = await self._read_message()
                    if text is None:
                        break
                    await self._run_turn(session, self._turn(session, text), tasks)
                if not self._is_over and not self._lines.is_terminal and session.jobs.list():
                    self._code = await self._finish_jobs(session, tasks) or self._code
            self._say_stopped_jobs(session)
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
    def has_user(self) -> bool:
        """Whether someone can answer questions, so that they do not use up piped input."""
        return self._lines.is_terminal

    @property
    def handed_over(self) -> str | None:
        """The first prompt of the next session after a handoff."""
        return None if self._commands is None else self._commands.handed_over

    @property
    def _is_over(self) -> bool:
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

    def _turn(self, session: Session, text: str) -> Awaitable[Outcome]:
        return session.prompt(text) if text else session.go_on(results=True)

    async def _finish_jobs(self, session: Session, tasks: asyncio.TaskGroup) -> int:
        """At the end of piped input: wait for background jobs, up to a limit."""

        async def run(running: Awaitable[Outcome]) -> ExitStatus:
            await self._run_turn(session, running, tasks)
            return ExitStatus(self._code)

        verdict = await job_results.finish_jobs(session, run)
        if verdict.remark:
            self._transcript.line(verdict.remark)
        return verdict.code

    def _say_stopped_jobs(self, session: Session) -> None:
        """They end with the session."""
        running = [job for job in session.jobs.list() if job.running]
        if running:
            self._transcript.line(job_results.stop_jobs(session, running))

    async def _run_turn(
        self, session: Session, running: Awaitable[Outcome], tasks: asyncio.TaskGroup
    ) -> None:
        steering = spawn(tasks, self._steer(session)) if self._lines.is_terminal else None
        try:
            verdict = judge(await running)
            self._code = verdict.code
            remark = "Stopped." if verdict.code == INTERRUPTED else verdict.remark
        except TauError as error:
            self._code, remark = code_of(error), str(error)
        finally:
            if steering is not None:
                steering.cancel()
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
                elif line[:1] in ("!", "/") and await self._is_command(line.strip()):
                    continue
                elif line.strip():
                    session.steer(line)
            except InputInterrupted:
                continue
            except TauError as error:
                self._transcript.line(str(error))

    async def _read_message(self) -> str | None:
        """The next user input; None at the end, empty if a background job has ended instead."""
        parts: list[str] = []
        warned = False
        while True:
            try:
                line = await self._read_line("... " if parts else "> ")
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
            except _ResultArrived:
                if not parts:
                    self._transcript.fresh_line()
                    return ""
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

    async def _read_line(self, sign: str) -> str | None:
        """A line, or several pasted ones; echo it if it was not visible while typed."""
        if self._lines.is_terminal:
            self._transcript.stream(sign)
        line = await self._next_line()
        if line is None:
            return None
        if not self._lines.is_terminal:
            self._transcript.line(f"{sign}{line}")
            return line
        self._transcript.typed_line()
        return line if line.endswith("\\") else "\n".join([line, *await self._lines.pasted()])

    async def _next_line(self) -> str | None:
        """The next line; on a terminal, the session may do idle work until it arrives."""
        session = self._session
        if session is None or not self._lines.is_terminal:
            return await self._lines.next()
        if job_results.may_continue(session):
            raise _ResultArrived
        stop = job_results.on_result(session, lambda: self._lines.interrupt(_ResultArrived()))
        try:
            if not session.compaction.settings.idle_enabled:
                return await self._lines.next()
            async with asyncio.TaskGroup() as tasks:
                idle_work = spawn(tasks, idle_tasks.while_idle(session, naming=False))
                try:
                    return await self._lines.next()
                finally:
                    idle_work.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            stop()

    async def _is_command(self, text: str) -> bool:
        assert self._session is not None
        if self._commands is None:
            self._commands = commands.ConsoleCommands(self._session, self._transcript, HELP, self.ui)
        return await self._commands.run(text)
