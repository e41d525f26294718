"""Interactive mode: one screen that shows sessions one after another."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from tau.agent.ui import NoticeLevel
from tau.ai.wire import ImageContent
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session.session import Session
from tau.config.layers import RunOverrides
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes import job_results
from tau.modes.exit_status import judge
from tau.modes.idle_tasks import while_idle
from tau.modes.interactive.composition import ScreenParts
from tau.modes.interactive.current_session import FIRST, CurrentSession, SessionSwitch
from tau.modes.interactive.early_screen import EarlyScreen
from tau.modes.interactive.transcript.notice import Greeting, ServerLine
from tau.modes.interactive.ui_controller import ScreenUi
from tau.modes.user_prompt import UserPrompt

extension_face = late("tau.modes.interactive.extension_face")
exit_message = late("tau.modes.interactive.exit_message")
startup_recovery = late("tau.modes.interactive.dialogs.startup_recovery")

NO_OVERRIDES = RunOverrides()
Opening: TypeAlias = Callable[[SessionSwitch, ScreenUi], AbstractAsyncContextManager[Session]]


class App:
    """Opens and runs sessions; implements `AppActions`."""

    def __init__(
        self,
        front: EarlyScreen,
        settings: Settings,
        paths: Paths,
        group: asyncio.TaskGroup,
        overrides: RunOverrides = NO_OVERRIDES,
    ) -> None:
        self._front = front
        self.current = CurrentSession(settings, paths, front.cwd, overrides)
        self.parts = ScreenParts(front, self.current, group, self)
        self._idle_work: asyncio.Task[None] | None = None
        self._is_quitting = False
        self._prompting = False
        self._greets = False
        self._task: asyncio.Task[Any] | None = None
        self._leaving: asyncio.Future[SessionSwitch | None] | None = None

    async def run(self, opening: Opening, prompts: Sequence[UserPrompt]) -> int:
        """Run sessions one after another until the user quits; returns the exit code."""
        self._task = asyncio.current_task()
        self.parts.input.attach()
        if not self.current.settings.interaction.quiet_start:
            self._greets = True
            self._front.layout.transcript.add(Greeting(self._front))
            self._front.request_render()
        self.parts.themes.follow()
        for problem in self._front.problems:
            self.say(problem, "warning")
        try:
            await self._run_sessions(opening, prompts)
        except asyncio.CancelledError:
            if not self._is_quitting or self._task is None:
                raise
            self._task.uncancel()
        finally:
            self.parts.input.detach()
            self.parts.themes.watch.stop()
            self.parts.tasks.cancel()
        return 0

    async def _run_sessions(self, opening: Opening, prompts: Sequence[UserPrompt]) -> None:
        change: SessionSwitch | None = FIRST
        last: str = ""
        while (wanted := change) is not None:
            try:
                async with opening(wanted, self.parts.ui) as session:
                    last = str(session.log.path or "")
                    # Command-line prompts wait until a session opens.
                    first, prompts = prompts, ()
                    change = await self._run_session(session, wanted, first)
            except TauError as error:
                change = await self._recover(error, wanted, last)

    def _greet(self, session: Session) -> None:
        """Show the first session's language servers below the greeting."""
        is_greeted, self._greets = not self._greets, False
        if is_greeted or session.language_servers is None:
            return
        rows = session.language_servers.rows()
        if found := [(row.name, row.state) for row in rows if row.state != "missing"]:
            self._front.layout.transcript.add(ServerLine(self._front, found))

    async def _run_session(
        self, session: Session, change: SessionSwitch, prompts: Sequence[UserPrompt]
    ) -> SessionSwitch | None:
        """Show this session until the user switches or quits."""
        parts, current = self.parts, self.current
        current.session = session
        current.settings = session.settings
        self._leaving = asyncio.get_running_loop().create_future()
        listening = [session.subscribe(listener) for listener in (parts.transcript, parts.notifications)]
        listening.append(job_results.on_result(session, lambda: self._answer_results(session)))
        if session.extensions is not None:
            session.extensions.attach(extension_face.ScreenFace(self, parts, session))
        try:
            self._greet(session)
            parts.transcript.attach(session, change)
            parts.status_line.attach(session)
            parts.notifications.title()
            if change.notice:
                self.say(change.notice)
            parts.composer.sender.load_message(change.draft, change.images)
            waiting = [*prompts, *([UserPrompt(change.prompt)] if change.prompt else [])]
            if waiting:
                parts.tasks.start(self._run_prompts(waiting))
            early, self._front.early = self._front.early, []
            parts.input.begin_session(early)
            while (wanted := await self._leaving) is not None and not await self._may_leave(session, wanted):
                self._leaving = asyncio.get_running_loop().create_future()
            return wanted
        finally:
            for stop in listening:
                stop()
            self._end_idle_work()
            if not self._is_quitting:
                for text in exit_message.stopped_jobs(session):
                    self.say(text, "warning")
            self._front.exit_message = exit_message.exit_message(session, current.paths)
            current.session = None
            self._leaving = None
            parts.status_line.detach()
            parts.transcript.detach()

    async def _may_leave(self, session: Session, change: SessionSwitch) -> bool:
        """Ask the extensions, except when the same session is opened again."""
        path = session.log.path
        if (
            change.is_agreed
            or change.kind == "first"
            or (change.kind == "resume" and change.session == str(path))
        ):
            return True
        return await session.hooks.before_leave(change.kind, change.session)

    async def _recover(self, error: TauError, change: SessionSwitch, last: str) -> SessionSwitch | None:
        """Report a session that could not be opened, and return to the previous one or ask what to do."""
        if change.kind != "first" and last:
            return SessionSwitch("resume", last, notice=str(error), draft=change.draft, images=change.images)
        return await startup_recovery.choose_recovery(self.parts.context, error)

    def leave(self, change: SessionSwitch | None) -> None:
        """Switch to another session; None quits. Running work is stopped and recorded."""
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(change)

    def quit(self) -> None:
        """Quit, even while a session is opening."""
        self._is_quitting = True
        self.parts.dialogs.cancel()
        if self._leaving is not None:
            self.leave(None)
        elif self._task is not None:
            self._task.cancel()

    def submit(self, text: str, images: Sequence[ImageContent] = (), *, follow_up: bool = False) -> None:
        """Handle what the user sent: a command, a shell or Python line, or a message."""
        session = self.current.session
        if session is None:
            self._front.early.append(text)
        elif self.parts.names.is_command(text):
            self.parts.tasks.start(self.parts.commands.run(text, images))
        else:
            self._send(session, text, images, follow_up=follow_up)

    def send(self, text: str) -> None:
        """Send a message, whatever it starts with: text from files never runs. Raises TauError."""
        session = self.current.require()
        self._send(session, text, self.parts.commands.take_images())

    def wake(self) -> None:
        """Start a turn on queued notes if the agent is idle."""
        if self.current.session is not None:
            self._answer_results(self.current.session)

    def run_command(self, text: str) -> None:
        self.parts.tasks.start(self.parts.commands.run(text))

    def run_first(self, command: str) -> None:
        """Run this once a session is open."""
        self.parts.composer.sender.queue_command(command)

    def say(self, text: str, level: NoticeLevel = "info") -> None:
        """Add a line outside the conversation to the transcript."""
        self.parts.notices.say(text, level)

    def _send(
        self, session: Session, text: str, images: Sequence[ImageContent], *, follow_up: bool = False
    ) -> None:
        if not (self._prompting or self.current.running):
            self._prompting = True
            self.parts.tasks.start(self._run_prompts([UserPrompt(text, tuple(images))]))
        elif follow_up:
            session.follow_up(text, images)
        else:
            session.steer(text, images)

    def _answer_results(self, session: Session) -> None:
        """Start a turn on the results of background jobs, if the agent is idle."""
        if session is self.current.session and not self._prompting and job_results.may_continue(session):
            self._prompting = True
            self.parts.tasks.start(self._run_prompts([]))

    async def _run_prompts(self, prompts: Sequence[UserPrompt]) -> None:
        """Send these prompts in turn; without any, continue with the results of background jobs."""
        parts, session = self.parts, self.current.session
        assert session is not None
        self._prompting = True
        self._end_idle_work()
        left = list(prompts)
        results = not left
        stopped = False
        try:
            while (left or results) and not stopped:
                if results:
                    results = False
                    outcome = await session.go_on(results=True)
                else:
                    outcome = await session.prompt(left[0].text, left[0].images)
                if session is not self.current.session:
                    return
                stopped = outcome.aborted
                if outcome.messages or not stopped:
                    del left[:1]
                verdict = judge(outcome)
                if verdict.remark and not stopped:
                    parts.notices.show_error(verdict.remark)
        finally:
            self._prompting = False
            if session is self.current.session:
                parts.transcript.finish_run(stopped=stopped)
                for prompt in reversed(left):  # return what was not sent to the editor
                    parts.composer.sender.load_message(prompt.text, prompt.images)
        if stopped:
            parts.commands.send_waiting(session)
        else:
            parts.notifications.call("The agent has finished.")
        if not self._prompting:
            self._idle_work = parts.tasks.start(while_idle(session, naming=True, named=self._show_name))

    def _show_name(self) -> None:
        """Show the session's new name."""
        self.parts.status_line.refresh()
        self.parts.notifications.title()

    def _end_idle_work(self) -> None:
        """Stop the session's idle work."""
        if self._idle_work is not None:
            self._idle_work.cancel()
            self._idle_work = None
