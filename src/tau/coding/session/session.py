"""A session: one conversation with a model, its tools, and its log. Every face holds one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from tau.agent.events import AgentEvent, CompactionResult, ThinkingLevelChanged
from tau.agent.loop import Outcome
from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import BashExecutionMessage, ImageContent, PythonExecutionMessage, TextContent, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session.activities import Activities
from tau.coding.session.compaction.compactor import Compactor
from tau.coding.session.queue_file import persist_queue
from tau.coding.session.session_loop import SessionLoop, SessionParts
from tau.coding.session.stats import UsageStats

if TYPE_CHECKING:
    from tau.coding.session.titles import SessionTitle
    from tau.coding.session.tree_navigation import Move, TreeNavigator
    from tau.coding.session.user_python import UserPython
    from tau.coding.session.user_shell import UserShell

retry = late("tau.coding.session.retry")
tree_navigation = late("tau.coding.session.tree_navigation")
event_stream = late("tau.agent.event_stream")
titles = late("tau.coding.session.titles")
user_python = late("tau.coding.session.user_python")
user_shell = late("tau.coding.session.user_shell")

CLOSED = "This session is closed; open it again to go on."
CLOSE_S = 5  # for what runs to end and be recorded


class Session:
    """Its parts are for faces: `log`, `models`, `queue`, `tree`, `names`, `compaction`, `retry`, `stats`,
    `plan`, `todos`, `recorder`, `jobs`, `tools`, `settings`; `setup` is what the next request is made of.

    What can be stopped takes its abort from `activities`; `abort` stops the innermost of them, and what has
    been said and done so far is recorded. `subscribe` tells a listener what happens, and returns the way to
    stop listening.
    """

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._work = SessionLoop(parts)
        self.subscribe = self._work.subscribe
        self.emit = self._work.emit
        self.note_changes = self._work.note_changes
        self.setup = self._work.setup
        self.activities = Activities()
        self.abort = self.activities.abort
        self._closed = False
        self.cwd = parts.world.cwd
        self.log = parts.log
        self.models = parts.world.models
        self.jobs = parts.world.jobs
        self.tools = parts.tools
        self.settings = parts.settings
        self.queue = parts.queue
        self.stats = UsageStats(parts.log)
        assert parts.plan is not None and parts.todos is not None
        self.plan = parts.plan
        self.todos = parts.todos
        self.recorder = parts.recorder
        self.retry = self._work.runs
        self.compaction = Compactor(
            log=parts.log,
            settings=parts.settings.compaction,
            complete=parts.complete,
            setup=self._work.setup,
            emit=self.emit,
            hooks=parts.hooks,
        )
        self.retry.make_room = self.compaction.make_room
        self.notices = [*parts.notices, *persist_queue(parts.queue, parts.log, self.emit)]

    @property
    def model(self) -> Model:
        return self.models.default

    @property
    def thinking(self) -> ThinkingLevel:
        return self._work.thinking

    @property
    def busy(self) -> bool:
        return self.activities.any

    @cached_property
    def tree(self) -> "TreeNavigator":
        """The tree of entries; `goto` moves in it."""
        parts = self._parts
        tree: TreeNavigator = tree_navigation.TreeNavigator(
            self.log, parts.hooks, parts.complete, lambda: self.model, parts.settings.branch_summary
        )
        return tree

    @cached_property
    def names(self) -> "SessionTitle":
        names: SessionTitle = titles.SessionTitle(
            self.log,
            self._parts.complete,
            lambda: self.models.role("smol"),
            enabled=self._parts.settings.titles.enabled,
        )
        return names

    @cached_property
    def _lines(self) -> "tuple[UserShell, UserPython | None]":
        """What runs the lines that begin with `!` and with `$`."""
        parts = self._parts

        def busy() -> bool:
            return self.activities.running

        shell: UserShell = user_shell.UserShell(
            world=parts.world,
            log=self.log,
            queue=self.queue,
            hooks=parts.hooks,
            emit=self.emit,
            busy=busy,
            limits=parts.command_output,
            shell=parts.outside.shell,
        )
        if parts.outside.kernels is None:
            return shell, None
        python: UserPython = user_python.UserPython(
            kernels=parts.outside.kernels, cwd=self.cwd, log=self.log, queue=self.queue, busy=busy
        )
        return shell, python

    async def prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Send a message and work until the model stops. While it works, use `steer` or `follow_up`."""
        if self._closed:
            raise TauError(CLOSED)
        with self.activities.begin(run=True) as abort:
            return await self._work.send(_user_message(text, images), abort)

    async def go_on(self, *, moved: Callable[[], None] | None = None) -> Outcome:
        """Send the last request again, which failed or was stopped; the log gets the new answer only.

        Half an answer is left behind on a branch of its own; `moved` is called then. Raises TauError where
        there is nothing to send again.
        """
        if self._closed:
            raise TauError(CLOSED)
        with self.activities.begin(run=True) as abort:
            if retry.rewind_failed_turn(self.log) and moved is not None:
                moved()
            return await self._work.send(None, abort)

    def stream(self, text: str, images: Sequence[ImageContent] = ()) -> AsyncGenerator[AgentEvent, None]:
        """`prompt`, as the events that it causes. Who leaves early stops the run."""
        events: AsyncGenerator[AgentEvent, None] = event_stream.events_of(
            self.subscribe, lambda: self.prompt(text, images)
        )
        return events

    async def abort_and_prompt(self, text: str, images: Sequence[ImageContent] = ()) -> Outcome:
        """Stop what runs, wait until it is recorded, then send this; what is queued stays queued."""
        await self.activities.end()
        return await self.prompt(text, images)

    def steer(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Put a message in between turns of the run that is under way."""
        self.queue.steer(_user_message(text, images))

    def follow_up(self, text: str, images: Sequence[ImageContent] = ()) -> None:
        """Queue a message for when the agent would stop."""
        self.queue.follow_up(_user_message(text, images))

    async def bash(
        self, command: str, *, exclude: bool = False, show: Callable[[str], None] | None = None
    ) -> BashExecutionMessage:
        """A command of the user's own. The model is told of it with the next prompt, unless `exclude`."""
        with self.activities.begin() as abort:
            return await self._lines[0].run(command, exclude=exclude, abort=abort, show=show)

    async def python(
        self, code: str, *, exclude: bool = False, show: Callable[[str], None] | None = None
    ) -> PythonExecutionMessage:
        """Python of the user's own, in the kernel of the tool eval."""
        runs = self._lines[1]
        if runs is None:
            raise TauError("This session has no Python to run code in.")
        with self.activities.begin() as abort:
            return await runs.run(code, exclude=exclude, abort=abort, show=show)

    async def compact(self, focus: str = "") -> CompactionResult:
        """Put a summary in the place of the older part of the conversation. Raises TauError or Aborted."""
        with self.activities.begin(run=True) as abort:
            return await self.compaction.compact(focus, abort)

    async def goto(self, target: str, *, summarize: bool = False, instructions: str | None = None) -> "Move":
        """Go on from another entry of the tree; see `TreeNavigator.goto`."""
        with self.activities.begin(run=True) as abort:
            return await self.tree.goto(target, summarize=summarize, instructions=instructions, abort=abort)

    def use_model(self, model: Model) -> None:
        """Go on with another model from the next request on."""
        self.models.default = model
        self.retry.user_chose_model()
        self.note_changes()

    def use_thinking(self, level: ThinkingLevel) -> None:
        self._work.thinking = level
        self.note_changes()
        self.emit(ThinkingLevelChanged(level))

    async def close(self) -> None:
        """Stop what runs, wait until it is recorded, and give the log back."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.activities.end()
        self._closed = True
        self.log.close()


def _user_message(text: str, images: Sequence[ImageContent]) -> UserMessage:
    if not images:
        return UserMessage(text, now_ms())
    return UserMessage([TextContent(text), *images], now_ms())
