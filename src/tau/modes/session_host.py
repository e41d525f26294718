"""The session that a program drives: prompts run in the background, and commands replace the session."""

import asyncio
import os
from binascii import a2b_base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tau.agent.events import AgentEvent, Notice
from tau.agent.loop import Outcome
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.images import IMAGE_TYPES, MAX_IMAGE_CHARS
from tau.ai.wire import Attachment, ImageContent
from tau.base import log
from tau.base.errors import TauError, UsageError
from tau.base.image_header import image_type
from tau.base.late import late
from tau.base.tasks import spawn
from tau.coding.ports import UrlScheme
from tau.coding.session.session import Session
from tau.config.paths import Paths, user_paths
from tau.modes import job_results
from tau.modes.exit_status import judge
from tau.sdk import SessionOptions, create_session

extension_faces = late("tau.modes.extension_faces")
idle_tasks = late("tau.modes.idle_tasks")

BUSY = "The agent is working; set streamingBehavior to steer or followUp, or abort first."


class SessionHost:
    """Owns the open session. `emit` gets its events, and those of every later one.

    Runs belong to `tasks`; `close` stops them and waits until they are recorded.
    """

    def __init__(
        self,
        options: SessionOptions,
        emit: Callable[[AgentEvent], None],
        tasks: asyncio.TaskGroup,
        *,
        naming: bool = False,
        mode: str = "rpc",
        display: Ui | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.options = options
        self.paths: Paths = user_paths(environ)
        self.tools: Sequence[Tool[Any]] = ()
        self.schemes: Sequence[UrlScheme] = ()
        self.emit = emit
        self.tasks = tasks
        self._naming = naming
        self.mode, self.display = mode, display  # for extensions: who runs the session, what shows widgets
        self.on_shutdown: Callable[[], None] = lambda: None
        self.on_editor_text: Callable[[str], None] = lambda text: None
        self._environ = environ
        self._session: Session | None = None
        self._services = AsyncExitStack()
        self.run: asyncio.Task[Outcome | None] | None = None  # its result is None if it failed
        self.runs = 0  # begun
        self.commands: set[asyncio.Task[None]] = set()  # of extensions, which run beside the agent
        self._idle_work: asyncio.Task[None] | None = None
        self.stop_watching: Callable[[], None] = lambda: None  # subagents, for the program
        self._key_owner = ""

    @property
    def session(self) -> Session:
        """Raises TauError before `open` and after `close`."""
        if self._session is None:
            raise TauError("No session is open.")
        return self._session

    @property
    def busy(self) -> bool:
        """Whether a prompt sent now would meet a running agent."""
        return self.run is not None or self.session.activities.running

    async def open(self) -> None:
        """Open the session that the options choose. Raises TauError."""
        await self._replace(self.options)

    async def switch(self, options: SessionOptions) -> None:
        """Open another session and close this one, whose work is stopped and recorded.

        A permission mode that the program chose holds on, except for `yolo`. Raises TauError if the session
        cannot be opened; this one then stays open.
        """
        earlier = self.session.permissions
        await self._replace(options)
        self.session.permissions.keep(earlier.chosen)
        if earlier.mode == "plan":
            self.session.permissions.set_mode("plan")
        self.report_notices()

    def report_notices(self) -> None:
        """Emit what the session has to say about how it was opened."""
        for notice in self.session.notices:
            self.emit(notice)

    async def new(self, parent: Path | None = None) -> bool:
        """Start an empty session with the current model; False if an extension refused."""
        if not await self.session.hooks.before_leave("new", ""):
            return False
        await self.switch(self.options.next(parent=parent).with_model(self.session.model, self._key_owner))
        return True

    async def resume(self, path: Path) -> bool:
        """Open a stored session, unless it is this one; False if an extension refused."""
        own = self.session.log.path
        if own is not None and own.exists() and path.exists() and path.samefile(own):
            return True
        if not await self.session.hooks.before_leave("resume", str(path)):
            return False
        await self.switch(self.options.next(resume=str(path)))
        return True

    async def fork(self, entry: str | None) -> bool:
        """Continue in a copy of this session, of the branch that ends at `entry`; False if refused."""
        path = self.session.log.path
        if path is None or not path.exists():
            raise TauError("This session is not saved, so it cannot be copied.")
        if not await self.session.hooks.before_leave("fork", entry or ""):
            return False
        options = self.options.next(fork=str(path), fork_entry=entry)
        await self.switch(options.with_model(self.session.model, self._key_owner))
        return True

    def prompt(
        self, text: str, images: Sequence[ImageContent] = (), attachments: Sequence[Attachment] = ()
    ) -> None:
        """Start a run on this message. Raises TauError if the agent is busy or the message is unusable."""
        if self.busy:
            raise UsageError(BUSY)
        self.check_message(text, images, attachments)
        self._start(self.session, lambda session: session.prompt(text, images, attachments))

    def check_message(
        self, text: str, images: Sequence[ImageContent], attachments: Sequence[Attachment] = ()
    ) -> None:
        """Raises UsageError for a message that no model can answer, or not this one."""
        if not text.strip() and not images and not attachments:
            raise UsageError("The message is empty.")
        if images and "image" not in self.session.model.input:
            raise UsageError(f"{self.session.model.key} does not support images; choose another model.")
        for image in images:
            _check_image(image.data, image.mime_type)
        for item in attachments:
            if item.type == "image":
                _check_image(item.content, item.mime_type)

    def expand(self, text: str) -> str:
        """Expand a slash command that a file defines; other text stays as it is."""
        if not text.startswith("/"):
            return text
        supplies = self.session.supplies()
        supplies.discovery.refresh()
        return supplies.expand(text)

    async def abort(self) -> None:
        """Stop the agent and wait until it is idle; queued messages stay for the next prompt."""
        await _cancel(self.commands)
        self.session.retry.cancel_wait()
        if self.session.extensions is not None:
            self.session.extensions.running_commands.stop()
        await self.session.activities.end_run()
        if (run := self.run) is not None:
            await asyncio.wait((run,))

    async def close(self) -> None:
        """Stop all work, record it, and close the session."""
        await _cancel(self.commands)
        session, self._session = self._session, None
        services, self._services = self._services, AsyncExitStack()
        self._end_idle_work()
        await _close(session, services)

    async def _replace(self, options: SessionOptions) -> None:
        services = AsyncExitStack()
        try:
            session = await services.enter_async_context(create_session(options, self._environ))
            services.callback(session.subscribe(self.emit))
            services.callback(job_results.on_result(session, lambda: self.answer_results(session)))
        except BaseException:
            await services.aclose()
            raise
        earlier, its_services = self._session, self._services
        self._session, self._services = session, services  # first, so that there always is one
        self._key_owner = self._key_owner or session.model.provider
        self.apply_host_parts()
        if session.extensions is not None:
            session.extensions.attach(extension_faces.ProgramFace(self))
        self._end_idle_work()
        await _close(earlier, its_services)

    def apply_host_parts(self) -> None:
        """Give the session the tools and URL schemes of the driving program."""
        session = self.session
        session.requests.tools = [*session.tools, *self.tools]
        for scheme in self.schemes:
            session.urls.register(scheme)

    def _start(self, session: Session, work: Callable[[Session], Awaitable[Outcome]]) -> None:
        self._end_idle_work()
        self.runs += 1
        self.run = spawn(self.tasks, self._run_to_end(session, work))

    async def _run_to_end(
        self, session: Session, work: Callable[[Session], Awaitable[Outcome]]
    ) -> Outcome | None:
        outcome: Outcome | None = None
        try:
            outcome = await work(session)
            verdict = judge(outcome)
            if verdict.remark:
                log.warning(f"A run ended: {verdict.remark}")
        except TauError as error:
            self.emit(Notice("error", str(error)))
        except Exception as error:
            log.error("A run failed unexpectedly.", error)
            text = f"The run failed unexpectedly: {error!r}. The log file has the details."
            self.emit(Notice("error", text))
        finally:
            self.run = None
        if session is self._session:
            self.answer_results(session)
            if self.run is None:
                self._idle_work = spawn(self.tasks, idle_tasks.while_idle(session, naming=self._naming))
        return outcome

    def answer_results(self, session: Session) -> None:
        """Start a turn on results of background jobs and notes of extensions, if the agent is idle."""
        if session is self._session and self.run is None and job_results.may_continue(session):
            self._start(session, lambda current: current.go_on(results=True))

    def _end_idle_work(self) -> None:
        if self._idle_work is not None:
            self._idle_work.cancel()
            self._idle_work = None


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _close(session: Session | None, services: AsyncExitStack) -> None:
    if session is not None:
        await session.activities.end()
    await services.aclose()


def _check_image(data: str, mime_type: str) -> None:
    """A server would refuse it, with this request and every later one."""
    if mime_type not in IMAGE_TYPES or len(data) > MAX_IMAGE_CHARS:
        return  # it is left out, and the model reads so
    try:
        found = image_type(a2b_base64(data, strict_mode=True))
    except ValueError:
        raise UsageError("An image is not valid base64.") from None
    if found != mime_type:
        raise UsageError(f"An image is not {mime_type}, but {found or 'of an unknown type'}.")
