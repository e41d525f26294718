"""Record a session's file changes, through a wrapped file system and tool hooks.

The rest of the history is loaded when a tool first reads, changes or runs something.
"""

import asyncio
import os
import stat as modes
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.agent.events import AgentEvent, MessageEnd
from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.ports import DirectoryScan, FileSystem, Stat
from tau.agent.queue import typed_text
from tau.ai.wire import AssistantMessage, ToolCall, UserMessage
from tau.base.late import late
from tau.base.run import Runner
from tau.base.tasks import shielded
from tau.coding.readers import names_database

if TYPE_CHECKING:
    from tau.coding.undo.command_watch import CommandWatch
    from tau.coding.undo.file_history import FileHistory
    from tau.coding.undo.file_state import FileObservation, FileState
    from tau.coding.undo.journal import Record
    from tau.coding.undo.plan import UndoPlan
    from tau.coding.undo.undo import Undo, UndoResult

histories = late("tau.coding.undo.file_history")
shlex = late("shlex")
file_state = late("tau.coding.undo.file_state")
journal = late("tau.coding.undo.journal")
undoing = late("tau.coding.undo.undo")
watching = late("tau.coding.undo.command_watch")

NOT_WATCHED = frozenset({"ssh"})  # these do not run on this machine
THROUGH_PORT = frozenset({"ast_edit", "edit", "resolve", "write"})
WAITS = frozenset({"job"})  # gives background commands time to work


class RecordingFileSystem:
    """Wraps the local file system; `history` is created on demand.

    Files that the wrapped file system keeps elsewhere (an editor's buffer, another machine)
    are not part of the history.
    """

    def __init__(self, fs: FileSystem, history: "Callable[[], FileHistory]") -> None:
        self._fs = fs
        self._history = history

    async def read(self, path: Path) -> bytes:
        data = await self._fs.read(path)
        self._history().note_read(os.path.realpath(path))
        return data

    async def read_part(self, path: Path, start: int, size: int) -> bytes:
        data = await self._fs.read_part(path, start, size)
        self._history().note_read(os.path.realpath(path))
        return data

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        target = os.path.realpath(path)
        wanted = file_state.file_state(data)
        id = self._history().intend(target, wanted)
        try:
            stat = await self._fs.write(path, data, expect=expect)
        except BaseException:
            # It may have been cancelled midway: check the file to see whether it was done.
            self._history().done(id, target, _state_if(target, wanted))
            raise
        self._history().done(id, target, _state_after_write(target, wanted, stat))
        return stat

    async def stat(self, path: Path) -> Stat | None:
        return await self._fs.stat(path)

    async def list(self, path: Path) -> Sequence[str]:
        return await self._fs.list(path)

    async def scan(self, path: Path, *, most: int) -> DirectoryScan:
        return await self._fs.scan(path, most=most)

    async def remove(self, path: Path, *, expect: Stat | None = None) -> None:
        target = f"{os.path.realpath(path.parent)}/{path.name}"  # the link itself, not its target
        id = self._history().intend(target, file_state.ABSENT)
        try:
            await self._fs.remove(path, expect=expect)
        finally:
            self._history().done(id, target, _state_if(target, file_state.ABSENT))


class Recorder(Hooks):
    """One per session. Its hooks run after approval, so denied calls are not scanned.

    Inside its `async with` block, scans run while the model continues. `folder` returns
    the place for the history, on the first change. Files that a tool declares as written
    are recorded even if it bypasses the given file system (database rows). Calls are recorded too, unless
    the session is not `saved` and cannot be resumed after a crash.
    """

    def __init__(
        self, folder: Callable[[], Path], run: Runner, *, warn: Callable[[str], None], saved: bool = True
    ) -> None:
        self._folder = folder
        self._saved = saved
        self._run = run
        self._warn = warn
        self._prompt = ""
        self._writing: dict[str, list[str]] = {}
        self._history: FileHistory | None = None
        self._group: asyncio.TaskGroup | None = None
        self._undoing = asyncio.Lock()

    async def __aenter__(self) -> "Recorder":
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._group is not None
        try:
            await self._group.__aexit__(None, None, None)  # raise a plain error, not an exception group
            self._group = None
            if "commands" in vars(self):
                self.commands.group = None
            await self.settle()
        finally:
            self.close()

    @property
    def history(self) -> "FileHistory":
        if self._history is None:
            history = histories.FileHistory(self._folder, warn=self._warn)
            history.begin_turn(self._prompt)
            self._history = history
        return self._history

    @cached_property
    def commands(self) -> "CommandWatch":
        commands = watching.CommandWatch(self.history, self._run)
        commands.group = self._group
        return commands

    @property
    def undo(self) -> "Undo":
        """Return the undo of this session. All calls must have ended and settled."""
        return undoing.Undo(self._folder(), history=self._history, warn=self._warn)

    async def change_back(self, make: "Callable[[Undo], UndoPlan]") -> "tuple[UndoPlan, UndoResult]":
        """Undo or redo what `make` plans, in a thread; calls wait meanwhile. Raises UsageError."""
        await self.settle()
        loop = asyncio.get_running_loop()

        def warn(text: str) -> None:
            loop.call_soon_threadsafe(self._warn, text)

        undo = undoing.Undo(self._folder(), history=self._history, warn=warn)

        def work() -> "tuple[UndoPlan, UndoResult]":
            plan = make(undo)
            return plan, undo.apply(plan)

        async with self._undoing:
            return await shielded(asyncio.to_thread(work))

    def fs(self, inner: FileSystem) -> RecordingFileSystem:
        return RecordingFileSystem(inner, lambda: self.history)

    def records(self) -> "list[Record]":
        """Load the journal."""
        return journal.load(self._folder())

    def on_event(self, event: AgentEvent) -> None:
        """Start a turn for each user message, queued ones included, and record the calls of each answer."""
        match event:
            case MessageEnd(message=UserMessage() as prompt):
                self._prompt = typed_text(prompt)
                if self._history is not None:
                    self._history.begin_turn(self._prompt)
            case MessageEnd(message=AssistantMessage(tool_calls=[_, *_] as calls) as answer) if self._saved:
                ids = [call.id for call in calls]
                self.history.note(journal.AnswerCalls(answer_ms=answer.timestamp, calls=ids))

    async def before_tool(self, question: ToolQuestion) -> str | None:
        call, effects = question.call, question.effects
        async with self._undoing:
            pass
        if effects.writes and "commands" in vars(self):
            await self.commands.scan_finished()
        if call.name in WAITS or (effects.runs and call.name not in NOT_WATCHED):
            folders = _folders(call, effects.runs, question.context.cwd)
            await self.commands.before(call.id, folders)
        elif effects.runs:
            self.history.note_unwatched("on another machine")
        if effects.writes and _bypasses(call):
            paths = [os.path.realpath(path) for path in effects.writes]
            self._writing[call.id] = [path for path in paths if self._save(path)]
        if self._saved and (effects.writes or effects.runs or effects.network):
            self.history.note(journal.CallBegan(call=call.id))
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        self._note_writes(call.id)
        if "commands" in vars(self):
            await self.commands.after(call.id)
        return output

    def settle_in_background(self) -> None:
        """Start `settle`, for callers that cannot wait."""
        for call in list(self._writing):
            self._note_writes(call)
        if "commands" in vars(self):
            self.commands.start_scan()

    async def settle(self) -> None:
        """Record the changes of stopped calls. Await this when a run ends."""
        for call in list(self._writing):
            self._note_writes(call)
        if "commands" in vars(self):
            await self.commands.settle()

    def close(self) -> None:
        if "commands" in vars(self):
            self.commands.close()
        if self._history is not None:
            self._history.close()

    def _save(self, path: str) -> bool:
        """Save a file before a tool writes it; False if its changes cannot be undone."""
        if not self.history.covers(path):
            return False
        info = file_state.stat_or_none(f"{path}-wal")
        if info is not None and info.st_size:
            self.history.warn_once(f"{path} is in use by another program; undo cannot restore its rows.")
            return False
        self.history.note_known(path)
        return True

    def _note_writes(self, call: str) -> None:
        for path in self._writing.pop(call, ()):
            self.commands.note_if_changed(path, call)


def _bypasses(call: ToolCall) -> bool:
    """Whether a tool may bypass the given file system."""
    if call.name == "write":
        path = call.arguments.get("path")
        return isinstance(path, str) and names_database(path)
    return call.name not in THROUGH_PORT


def _state_if(target: str, wanted: "FileState") -> "FileObservation | None":
    """Return the state of a file if it has the wanted content, else None."""
    seen = file_state.observe(target)[0]
    return seen if file_state.same_content(seen.state, wanted) else None


def _state_after_write(target: str, wanted: "FileState", stat: Stat) -> "FileObservation | None":
    """Return the state after a write, or None if it was not on the local file system."""
    info = file_state.stat_or_none(target)
    if info is None or (info.st_ino, info.st_size) != (stat.inode, stat.size):
        return None
    if wanted.size > file_state.MAX_FILE_BYTES:
        return file_state.observe(target)[0]
    return file_state.FileObservation(
        replace(wanted, mode=modes.S_IMODE(info.st_mode)), file_state.stat_key(info)
    )


def _folders(call: ToolCall, runs: Sequence[str], cwd: Path) -> list[Path]:
    """Return the folders of a command: the session's, and the one named in the call."""
    folders = [cwd]
    named = call.arguments.get("cwd") or call.arguments.get("workdir")
    if isinstance(named, str) and named:
        folders.append(cwd / os.path.expanduser(named))  # noqa: PTH111 - Path.expanduser raises for `~x`
    for text in runs:
        if text.startswith("cd "):
            try:
                words = shlex.split(text.partition("&&")[0])
            except ValueError:
                continue
            folders += [cwd / words[1]] if len(words) == 2 else []
    return folders
