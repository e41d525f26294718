"""The interactive mode: one screen, the sessions that are shown on it one after the other, its parts."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from tau.agent.abort import Aborted
from tau.agent.ui import NoticeLevel, Ui
from tau.ai.wire import ImageContent
from tau.base import log
from tau.base.errors import NothingToDo, TauError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.coding.session.session import Session
from tau.config.layers import RunOverrides
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.modes.exit_status import judge
from tau.modes.idle_tasks import while_idle
from tau.modes.interactive.commands.command_controller import CommandController
from tau.modes.interactive.dialogs.dialog_host import Dialogs
from tau.modes.interactive.early_screen import EarlyScreen
from tau.modes.interactive.event_controller import EventController
from tau.modes.interactive.input_controller import InputController
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.status.error_banner import Banner
from tau.modes.interactive.status.notifications import Notifications
from tau.modes.interactive.status.status_line import StatusLine
from tau.modes.interactive.themes import appearance
from tau.modes.interactive.themes.theme_watcher import ThemeWatch
from tau.modes.interactive.transcript.welcome import Welcome
from tau.modes.interactive.ui_controller import ScreenUi
from tau.modes.prompt import UserPrompt
from tau.tui.terminal.port import Background

farewells = late("tau.modes.interactive.exit_message")
preload = late("tau.modes.interactive.tool_views.preload")


class SessionSwitch(NamedTuple):
    """Which session comes next."""

    kind: Literal["first", "new", "resume", "fork"]
    session: str = ""
    """Id or path of the one to resume or fork."""
    prompt: str = ""
    """What to send first."""
    draft: str = ""
    """What stands in the editor then,"""
    images: tuple[ImageContent, ...] = ()
    """with its pictures."""
    notice: str = ""
    model: str = ""
    """The one that the person has chosen for it, whatever flags and settings name."""


FIRST = SessionSwitch("first")
NOTHING_GIVEN = RunOverrides()
Opening: TypeAlias = Callable[[SessionSwitch, Ui], AbstractAsyncContextManager[Session]]


class App:
    """Holds the parts and the session; each part does one thing and is asked by the others through here.

    `given` is what this run sets above the files, for whoever reads the settings again.
    """

    def __init__(
        self,
        front: EarlyScreen,
        settings: Settings,
        paths: Paths,
        tasks: asyncio.TaskGroup,
        given: RunOverrides = NOTHING_GIVEN,
    ) -> None:
        self.front = front
        self.given = given
        self.settings = settings
        self.paths = paths
        self.screen = front.screen
        self.theme = front.theme
        self.keys = front.keys
        self.layout = front.layout
        self.editor = front.editor
        self.session: Session | None = None
        self.background: Background = "dark"
        self._tasks = tasks
        self._started: set[asyncio.Task[None]] = set()
        self._aside: asyncio.Task[None] | None = None
        self._warmed = False
        self._over = False
        self._prompting = False
        self._task: asyncio.Task[Any] | None = None
        self._leaving: asyncio.Future[SessionSwitch | None] | None = None
        self.theme_watch = ThemeWatch(self)
        self.dialogs = Dialogs(self.screen, self.layout, self.editor)
        self.banner = Banner(self)
        self.lane = ActivityLine(self)
        self.ui = ScreenUi(self)
        self.events = EventController(self)
        self.status_line = StatusLine(self)
        self.attention = Notifications(self)
        self.ui.on_question, self.ui.on_title = self.attention.call, self.attention.title
        self.screen.on_background_changed = self._background
        self.welcome = Welcome(self)
        self.commands = CommandController(self)
        self.input = InputController(self)
        if self.screen.background is not None:  # it was told before we were there
            self._background(self.screen.background)

    @property
    def cwd(self) -> Path:
        return self.front.cwd if self.session is None else self.session.cwd

    @property
    def busy(self) -> bool:
        return self.session is not None and self.session.busy

    async def run(self, opening: Opening, prompts: Sequence[UserPrompt]) -> int:
        """Sessions one after the other until the person quits; the exit code."""
        self._task = asyncio.current_task()
        self.input.attach()
        self.welcome.show()
        appearance.followed_theme(self, self.background)
        for problem in self.front.problems:
            self.say(problem, "warning")
        try:
            await self._sessions(opening, prompts)
        except asyncio.CancelledError:
            if not self._over or self._task is None:
                raise
            self._task.uncancel()
        finally:
            self.theme_watch.stop()
            for task in self._started:
                task.cancel()
        return 0

    async def _sessions(self, opening: Opening, prompts: Sequence[UserPrompt]) -> None:
        change: SessionSwitch | None = FIRST
        last: str = ""
        while (wanted := change) is not None:
            try:
                async with opening(wanted, self.ui) as session:
                    last = str(session.log.path or "")
                    # What was asked on the command line waits for a session that can be opened.
                    first, prompts = prompts, ()
                    change = await self._hold(session, wanted, first)
            except TauError as error:
                change = await self._refused(error, wanted, last)

    async def _hold(
        self, session: Session, change: SessionSwitch, prompts: Sequence[UserPrompt]
    ) -> SessionSwitch | None:
        """Show this session until another one is wanted, or none."""
        self.session = session
        self.settings = session.settings
        self._leaving = asyncio.get_running_loop().create_future()
        listening = [session.subscribe(listener) for listener in (self.events, self.attention)]
        try:
            self.events.attach(session, fresh=change.kind == "first")
            self.status_line.attach(session)
            self.attention.title()
            if change.notice:
                self.say(change.notice)
            self.input.sending.bring_back(change.draft, change.images)
            waiting = [*prompts, *([UserPrompt(change.prompt)] if change.prompt else [])]
            if waiting:
                self.start(self._prompts(waiting))
            self.input.take_early()
            return await self._leaving
        finally:
            for stop in listening:
                stop()
            self._not_idle()
            self.front.farewell = farewells.farewell(session, self.paths)
            self.session = None
            self._leaving = None
            self.status_line.detach()
            self.events.detach()

    async def _refused(self, error: TauError, change: SessionSwitch, last: str) -> SessionSwitch | None:
        """A session could not be opened: say why, and go back to the one before, or ask what to do."""
        if change.kind != "first" and last:
            return SessionSwitch("resume", last, notice=str(error), draft=change.draft, images=change.images)
        return await self.ui.first_run(error)

    def leave(self, change: SessionSwitch | None) -> None:
        """Go on with another session; None: quit. What runs is stopped and recorded when it closes."""
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(change)

    def quit(self) -> None:
        """End it: with the session that is shown, or while one is being opened."""
        self._over = True
        self.dialogs.cancel()
        if self._leaving is not None:
            self.leave(None)
        elif self._task is not None:
            self._task.cancel()

    def submit(self, text: str, images: Sequence[ImageContent] = (), *, follow_up: bool = False) -> None:
        """What a person has sent: a command, a line for the shell or Python, or a message."""
        session = self.session
        if session is None:
            self.front.early.append(text)
        elif self.commands.takes(text):
            self.start(self.commands.run(text, images))
        elif not (self._prompting or self.session_runs):
            self._prompting = True
            self.start(self._prompts([UserPrompt(text, tuple(images))]))
        elif follow_up:
            session.follow_up(text, images)
        else:
            session.steer(text, images)

    @property
    def session_runs(self) -> bool:
        """Whether a message now would go into a run that is under way."""
        return self.session is not None and self.session.activities.running

    async def _prompts(self, prompts: Sequence[UserPrompt]) -> None:
        session = self.session
        assert session is not None
        self._prompting = True
        self._not_idle()
        self._warm()
        left = list(prompts)
        stopped = False
        try:
            while left and not stopped:
                outcome = await session.prompt(left[0].text, left[0].images)
                if session is not self.session:
                    return
                stopped = outcome.aborted
                if outcome.messages or not stopped:
                    del left[0]
                verdict = judge(outcome)
                if verdict.remark and not stopped:
                    self.banner.show(verdict.remark)
        finally:
            self._prompting = False
            if session is self.session:
                self.events.settled(stopped=stopped)
                for prompt in reversed(left):  # what was not said stands in the editor again
                    self.input.sending.bring_back(prompt.text, prompt.images)
        if stopped:
            self.commands.send_waiting(session)
        else:
            self.attention.call("The agent has finished.")
        if not self._prompting:
            self._aside = self.start(while_idle(session, naming=True, named=self._named))

    def _named(self) -> None:
        """The session has a name now: tell it where it stands."""
        self.status_line.refresh()
        self.attention.title()

    def _warm(self) -> None:
        """While the model thinks, load what drawing its first answer takes."""
        if not self._warmed:
            self._warmed = True
            self.start(asyncio.to_thread(preload.warm))

    def _not_idle(self) -> None:
        """There is something to do: what the session does for itself in the meantime ends."""
        if self._aside is not None:
            self._aside.cancel()
            self._aside = None

    def _background(self, background: Background) -> None:
        """The terminal told whether it is dark or light."""
        if background != self.background and self.settings.theme.background == "auto":
            self.background = background
            appearance.use_background(self, background)

    def say(self, text: str, level: NoticeLevel = "info") -> None:
        """A line in the transcript that is not part of the conversation."""
        self.events.notice(text, level)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do this beside everything else. A mistake of the user's becomes a line, a fault of ours too."""
        task = spawn(self._tasks, self._guarded(work))
        task.add_done_callback(lambda _: work.close())  # for one that was cancelled before it began
        self._started.add(task)
        task.add_done_callback(self._started.discard)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Aborted:
            self.say("Stopped.")
        except NothingToDo as error:
            self.say(str(error))
        except TauError as error:
            self.banner.show(str(error))
        except Exception as error:
            log.error("A part of the screen failed.", error)
            with suppress(Exception):
                self.banner.show(
                    f"This went wrong inside tau: {error!r}. The log has the details; /debug shows it."
                )
