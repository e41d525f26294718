"""Gives a session's commands their sandbox, as the user's settings say."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.agent.events import AgentEvent, AgentStart, JobChanged, MessageUpdate
from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.ui import Ui
from tau.ai.stream_events import ToolCallStart
from tau.ai.wire import TextContent, ToolCall
from tau.base import log
from tau.base.late import late
from tau.base.run import Child, ChildFiles, Command, LocalRunner
from tau.base.tasks import spawn
from tau.config.paths import Paths
from tau.config.settings import SandboxSettings

if TYPE_CHECKING:
    from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
    from tau.coding.approval.denied_files import DeniedFiles
    from tau.coding.shell.contained_commands import ContainedCommands

contained = late("tau.coding.shell.contained_commands")
fnmatch = late("fnmatch")
hashlib = late("hashlib")
policies = late("tau.backends.sandbox.policy")
programs = late("tau.base.programs")
shell_syntax = late("tau.coding.approval.shell_syntax")
sessions = late("tau.backends.sandbox.session")

# What the first command needs besides: imported while the sandbox starts, which takes longer.
_NEXT: tuple[ModuleType, ...] = (
    late("tau.coding.approval.command_report"),
    late("tau.coding.undo.command_watch"),
    late("tau.backends.shell.shell_process"),
    late("tau.backends.shell.snapshot"),
    late("tau.coding.shell.running_command"),
    late("tau.coding.shell.blocked_attempts"),
)
RUNNING_TOOLS = frozenset({"bash", "eval"})  # each of their calls runs something inside


class LateSandbox:
    """Implements `tau.base.run.Sandbox`; the sandbox, and its code, load with the first command.

    Use as `async with`. `warn` gets one sentence if commands are not contained.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        settings: SandboxSettings,
        paths: Paths,
        outside: LocalRunner,
        ui: Ui | None = None,
    ) -> None:
        self.roots = tuple(roots)
        self.settings = settings
        self.warn: Callable[[str], None] = log.warning
        self.judge_host: Callable[[str], bool | None] = lambda host: None  # by the user's rules
        self.denied: Callable[[], DeniedFiles | None] = lambda: None  # by the user's rules
        self._denied: DeniedFiles | None = None
        self._paths = paths
        self.outside = outside
        self.ui = ui
        self._session: SessionSandbox | None = None
        self._commands: ContainedCommands | None = None
        self._group = asyncio.TaskGroup()
        self._starting: asyncio.Task[None] | None = None
        self._next: Sequence[ModuleType] = ()

    async def __aenter__(self) -> "LateSandbox":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._starting is not None:
            await asyncio.wait((self._starting,))
        if self._commands is not None:
            await self._commands.close()
        if self._session is not None:
            await self._session.__aexit__(None, None, None)
        await self._group.__aexit__(None, None, None)

    @property
    def commands(self) -> "ContainedCommands":
        """What tools need of it."""
        if self._commands is None:
            self._commands = contained.ContainedCommands(self, self._group)
            self._commands.grants.judge_host = lambda host, port: self.judge_host(host)
        return self._commands

    def on_event(self, event: AgentEvent) -> None:
        """Start while the model still writes the arguments of the first call that will run something."""
        match event:
            case AgentStart() if self._commands is not None:
                self._commands.begin_run()
            case JobChanged(queued=False, status="completed" | "failed"):
                for note in self.check():
                    self.warn(note)
            case MessageUpdate(ToolCallStart(name=name)) if name in RUNNING_TOOLS and not self.is_started:
                if self._starting is None:
                    self._next = _NEXT if name == "bash" else ()
                    self._starting = spawn(self._group, self._start_early())

    async def _start_early(self) -> None:
        try:
            await self.prepare()
        except Exception as error:  # the call will meet it too, and say so
            log.error("The sandbox could not start early.", error)

    async def _import_next(self) -> None:
        modules, self._next = self._next, ()
        for module in modules:  # other work is done in between
            await asyncio.sleep(0)
            _ = module.__name__

    @property
    def session(self) -> "SessionSandbox":
        if self._session is None:
            options = self._options()
            programs.avoid_folders(self.roots)  # where commands can now leave programs
            self._session = sessions.SessionSandbox(
                options,
                self.outside,
                warn=self.warn,
                parts=self.commands.make_parts(),
                launched=lambda: spawn(self._group, self._import_next()),
            )
        return self._session

    @property
    def is_started(self) -> bool:
        return self._session is not None

    @property
    def contained(self) -> bool:
        return self._session is not None and self._session.contained

    @property
    def shares_temporary(self) -> bool:
        """Whether its engine has no mounts, so that /tmp is that of other programs too."""
        return self._session is not None and self._session.engine == "landlock"

    def contains(self, commands: Sequence[str]) -> bool:
        """Whether these commands of a tool would run inside, or else not at all."""
        patterns = self.settings.outside
        is_bound = self.contained or self.settings.mode == "required"
        return is_bound and not any(runs_outside(command, patterns) for command in commands)

    def check(self) -> list[str]:
        """What commands did since the last check to files that run programs; it is undone."""
        return self.session.check_repositories() if self.contained else []

    def temporary_folder(self) -> Path:
        return self.session.temporary_folder()

    def change_roots(self, roots: Sequence[Path]) -> None:
        """Let commands write these folders; a running sandbox starts again with the next command."""
        self.roots = tuple(roots)

    async def prepare(self) -> bool:
        return await (await self._current()).prepare()

    async def open_terminal(self) -> tuple[int, int]:
        return await (await self._current()).open_terminal()

    async def spawn(self, command: Command, files: ChildFiles) -> Child:
        return await (await self._current()).spawn(command, files)

    def _options(self) -> "SandboxOptions":
        """With what the user's rules deny as hidden."""
        options = sandbox_options(self.roots, self.settings, self._paths)
        self._denied = self.denied()
        hidden = () if self._denied is None else tuple(self._denied.existing())
        return replace(options, rules=replace(options.rules, hide=(*options.rules.hide, *hidden)))

    async def _current(self) -> "SessionSandbox":
        session = self.session
        if session.options.roots != self.roots:
            programs.avoid_folders(self.roots)
            await session.change(replace(session.options, roots=self.roots))
        if self.denied() != self._denied:
            rules = replace(session.options.rules, hide=self._options().rules.hide)
            await session.change(replace(session.options, rules=rules))
        return session


def sandbox_options(roots: Sequence[Path], settings: SandboxSettings, paths: Paths) -> "SandboxOptions":
    name = hashlib.sha256(os.fsencode(roots[0])).hexdigest()[:16]
    return sessions.SandboxOptions(
        roots=tuple(roots),
        caches=paths.cache / "sandbox" / name,
        records=paths.guards,
        private=(paths.auth, paths.models, paths.secrets, paths.serve_token, paths.index),
        protected=(paths.home,),
        mode=settings.mode,
        engine=settings.engine,
        rules=policies.SandboxRules(
            network=settings.network,
            hosts=tuple(settings.hosts if settings.hosts is not None else [policies.PACKAGE_REGISTRIES]),
            write=tuple(settings.write),
            hide=tuple(settings.hide),
            sockets=tuple(settings.sockets),
        ),
    )


def runs_outside(command: str, patterns: Sequence[str]) -> bool:
    """Whether the user wants this command to run outside: each simple command in it matches a pattern.

    Approval must treat such a command as not contained, so a `cd`, which it declares, does not count.
    """
    if not patterns:
        return False
    found = [words for words in shell_syntax.simple_commands(command) or [] if words[0] != "cd"]
    wanted = [pattern.split() for pattern in patterns]
    return bool(found) and all(any(_matches(words, one) for one in wanted) for words in found)


def _matches(words: Sequence[str], pattern: Sequence[str]) -> bool:
    """Compare word by word; a final `*` matches any arguments."""
    if pattern and pattern[-1] == "*":
        pattern = pattern[:-1]
        words = words[: len(pattern)]
    return bool(pattern) and len(words) == len(pattern) and all(map(fnmatch.fnmatchcase, words, pattern))


class SandboxHook(Hooks):
    """Starts the sandbox before a call that runs something, so that approval knows whether it works.

    After the call, it reports new or changed Git files that could run programs.
    """

    def __init__(self, sandbox: LateSandbox) -> None:
        self._sandbox = sandbox
        self._running: set[str] = set()  # ids of calls

    async def before_tool(self, question: ToolQuestion) -> str | None:
        if question.effects.runs:
            self._running.add(question.call.id)
            await self._sandbox.prepare()
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        if call.id not in self._running:
            return output
        self._running.discard(call.id)
        notes = self._sandbox.check()
        for note in notes:
            self._sandbox.warn(note)
        return replace(output, content=[*output.content, *(TextContent(f"[{note}]") for note in notes)])
