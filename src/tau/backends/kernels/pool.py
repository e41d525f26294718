"""The kernels of a process: one per session and language, few at a time, none idle for long."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self

from msgspec import Struct

from tau.backends.kernels import cells
from tau.backends.kernels.cells import (
    LABELS,
    Cell,
    CellEnd,
    CellHost,
    KernelError,
    KernelLanguage,
    Listen,
    NoHost,
)
from tau.base.late import late
from tau.base.run import Runner
from tau.base.tasks import shielded, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.backends.kernels.kernel import Kernel, KernelLaunch

interpreters = late("tau.backends.kernels.interpreters")
processes = late("tau.backends.kernels.kernel")
running = late("tau.backends.kernels.running_cell")

KernelMode = Literal["session", "per-call"]
MAIN_SESSION = "main"
ENDED = "The {label} kernel was restarted: it had to be ended."
MAX_DEATHS = 2  # unexpected exits before a reset is required


class KernelLimits(Struct, frozen=True, kw_only=True):
    """`count` is per language."""

    count: int = 4
    idle_s: float = 300.0
    heartbeat_s: float = 5.0


class PythonResult(Struct, frozen=True, kw_only=True):
    """Result of the user's own cell: its bounded text, how it ended, and other output."""

    text: str
    end: CellEnd
    shown: tuple[cells.CellEvent, ...] = ()


class _Slot:
    """The slot of one kernel; it outlives the kernel."""

    def __init__(self, session: str, language: KernelLanguage) -> None:
        self.session = session
        self.language: KernelLanguage = language
        self.lock = asyncio.Lock()
        self.kernel: Kernel | None = None
        self.deaths = 0
        self.gone = ""  # why the last kernel is gone, until reported
        self.used = 0.0

    async def close(self, why: str = "") -> None:
        kernel, self.kernel = self.kernel, None
        if kernel is not None:
            self.gone = why
            await shielded(kernel.close())


class Kernels:
    """Use as `async with`: leaving it ends all kernels. The first cell starts one."""

    def __init__(
        self,
        runner: Runner,
        *,
        python: str | None = None,
        node: str | None = None,
        mode: KernelMode = "session",
        limits: KernelLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._python = python
        self._node = node
        self._mode = mode
        self._limits = limits or KernelLimits()
        self._clock = clock
        self._group: asyncio.TaskGroup | None = None
        self._slots: dict[tuple[str, KernelLanguage], _Slot] = {}
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        group, self._group = self._group, None
        assert group is not None
        if self._watch is not None:
            self._watch.cancel()
        try:
            await shielded(self._close_all())
        finally:
            await group.__aexit__(None, None, None)

    async def run(
        self, cell: Cell, listen: Listen, host: CellHost, *, cwd: Path, session: str = MAIN_SESSION
    ) -> CellEnd:
        """Run a cell in the kernel of its session and language, after cells already queued there.

        Raises KernelError if no kernel can run it.
        """
        slot = self._slots.setdefault((session, cell.language), _Slot(session, cell.language))
        if slot.kernel is not None and slot.kernel in running.WAITING.get():
            label = LABELS[cell.language]
            raise KernelError(f"A {label} cell cannot run another {label} cell: it would deadlock.")
        async with slot.lock:
            if cell.reset:
                await slot.close()
                slot.deaths = 0
                slot.gone = ""
            kernel = await self._kernel(slot, cwd)
            if slot.gone:
                listen(cells.TextOutput(f"[{slot.gone} All variables are lost.]\n".encode()))
                slot.gone = ""
            try:
                end = await kernel.run(cell.code, cell.timeout_s, listen, host)
            finally:
                slot.used = self._clock()
                if not kernel.alive:
                    slot.kernel = None
                    slot.gone = ENDED.format(label=LABELS[cell.language])
                elif self._mode == "per-call" and cell.language == "python" and kernel.stopping is None:
                    await slot.close()
            if end.status == "died":
                slot.deaths += 1
                slot.gone = f"The {LABELS[cell.language]} kernel was restarted: {end.reason}."
            return end

    def program(
        self, language: KernelLanguage, cwd: Path, *, fresh: bool = False, session: str = MAIN_SESSION
    ) -> str:
        """The interpreter of the next cell; `fresh` if it starts a new kernel. Raises KernelError."""
        slot = self._slots.get((session, language))
        if slot is not None and slot.kernel is not None and slot.kernel.alive and not fresh:
            return slot.kernel.program
        return self._launch(language, cwd).argv[0]

    async def run_python(
        self,
        code: str,
        *,
        cwd: Path,
        timeout_s: float = cells.DEFAULT_TIMEOUT_S,
        reset: bool = False,
        session: str = MAIN_SESSION,
        host: CellHost | None = None,
        listen: Listen | None = None,
        max_chars: int = 1_000_000,
    ) -> PythonResult:
        """Run the user's own cell in the kernel that the model's cells use. `listen` gets output live."""
        text = bytearray()
        shown: list[cells.CellEvent] = []

        def take(event: cells.CellEvent) -> None:
            if not isinstance(event, cells.TextOutput):
                shown.append(event)
            elif len(text) < max_chars:
                text.extend(event.data[: max_chars - len(text)])
            if listen is not None:
                listen(event)

        cell = Cell(language="python", code=code, timeout_s=timeout_s, reset=reset)
        end = await self.run(cell, take, host or NoHost(), cwd=cwd, session=session)
        return PythonResult(text=text.decode("utf-8", "replace"), end=end, shown=tuple(shown))

    async def forget(self, session: str) -> None:
        """End the kernels of a session."""
        for key in [key for key in self._slots if key[0] == session]:
            slot = self._slots.pop(key)
            async with slot.lock:
                await slot.close()

    async def _kernel(self, slot: _Slot, cwd: Path) -> "Kernel":
        if slot.kernel is not None and slot.kernel.stopping is not None:
            await asyncio.wait({slot.kernel.stopping})
            if self._mode == "per-call" and slot.kernel.alive:
                await slot.close()
        if slot.kernel is not None:
            await slot.kernel.notice_exit()
            if slot.kernel.alive:
                return slot.kernel
            self._note_death(slot)
        label = LABELS[slot.language]
        if slot.deaths >= MAX_DEATHS:
            raise KernelError(
                f"The {label} kernel died {slot.deaths} times ({slot.gone.rstrip('.')}); "
                "run a cell with `reset` set to true to start a new one."
            )
        if self._group is None:
            raise KernelError("Cells need an open session.")
        await self._make_room(slot.language)
        kernel = processes.Kernel(self._launch(slot.language, cwd))
        await kernel.start(self._runner, cwd, self._group)
        slot.kernel = kernel
        slot.used = self._clock()
        if self._watch is None or self._watch.done():
            self._watch = spawn(self._group, self._supervise(), name="kernels")
        return kernel

    def _launch(self, language: KernelLanguage, cwd: Path) -> "KernelLaunch":
        if language == "python":
            return interpreters.python_launch(cwd, self._python)
        return interpreters.node_launch(self._node)

    async def _make_room(self, language: KernelLanguage) -> None:
        """End the least recently used kernel if the limit is reached."""
        occupied = [s for s in self._slots.values() if s.language == language and s.kernel is not None]
        if len(occupied) < self._limits.count:
            return
        idle = [slot for slot in occupied if not slot.lock.locked()]
        if not idle:
            raise KernelError(
                f"{len(occupied)} {LABELS[language]} kernels are busy; try again when one is done."
            )
        oldest = min(idle, key=lambda slot: slot.used)
        async with oldest.lock:
            label = LABELS[language]
            await oldest.close(f"The {label} kernel was restarted: another session needed its slot.")

    async def _supervise(self) -> None:
        """Periodically end idle kernels and detect dead or unresponsive ones."""
        while any(slot.kernel is not None for slot in self._slots.values()):
            await asyncio.sleep(self._limits.heartbeat_s)
            for slot in list(self._slots.values()):
                kernel = slot.kernel
                if kernel is not None and kernel.stopping is None and not slot.lock.locked():
                    async with slot.lock:
                        await self._check(slot, kernel)

    async def _check(self, slot: _Slot, kernel: "Kernel") -> None:
        label = LABELS[slot.language]
        if not kernel.alive:
            self._note_death(slot)
        elif self._clock() - slot.used > self._limits.idle_s:
            minutes = self._limits.idle_s / 60
            await slot.close(f"The {label} kernel was restarted: it was idle for {minutes:g} minutes.")
        elif not await kernel.ping(self._limits.heartbeat_s):
            await shielded(kernel.kill())
            slot.kernel = None
            slot.deaths += 1
            slot.gone = f"The {label} kernel was restarted: it stopped responding."

    def _note_death(self, slot: _Slot) -> None:
        kernel, slot.kernel = slot.kernel, None
        label = LABELS[slot.language]
        if kernel is not None and kernel.ended:
            slot.gone = ENDED.format(label=label)
            return
        exited = None if kernel is None else kernel.exit
        slot.deaths += 1
        slot.gone = f"The {label} kernel was restarted: {processes.describe_exit(exited)}."

    async def _close_all(self) -> None:
        kernels = [slot.kernel for slot in self._slots.values() if slot.kernel is not None]
        self._slots.clear()
        async with asyncio.TaskGroup() as closing:
            for kernel in kernels:
                spawn(closing, kernel.close())
