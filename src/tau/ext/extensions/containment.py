"""What extension code must not change for others: the output, the folder, the environment, tau itself."""

import asyncio
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from tau.base.clock import iso, now_ms
from tau.base.files import STDOUT, OwnStdout, make_private
from tau.base.sizes import KIB, MIB
from tau.ext.extensions.calls import current_run

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension

MAX_LOG_BYTES = MIB
OWN_FOLDER = str(Path(__file__).parents[2])
SIGNALS = [
    number
    for name in ("INT", "TERM", "HUP", "WINCH", "CONT", "TSTP", "CHLD", "USR1", "USR2")
    if (number := getattr(signal, f"SIG{name}", None)) is not None
]
NO_INPUT = "The terminal is not available to extensions; use ctx.ui.input."
DRAIN_S = 0.5


class ExtensionLog:
    """A file for one extension's own output; the older half goes when it is full."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_made = False

    def info(self, text: str) -> None:
        self._record("info", text)

    def warning(self, text: str) -> None:
        self._record("warning", text)

    def error(self, text: str, error: BaseException | None = None) -> None:
        self._record("error", text if error is None else f"{text} [{type(error).__name__}]")

    def write(self, text: str) -> None:
        """What the extension prints."""
        with suppress(OSError):
            if not self._is_made:
                make_private(self.path.parent)
                self._is_made = True
            with self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text[: 64 * KIB])
                is_full = file.tell() > MAX_LOG_BYTES
            if is_full:
                self.path.replace(self.path.with_suffix(".old.log"))

    def _record(self, level: str, text: str) -> None:
        self.write(f"{iso(now_ms())} {level} {text}\n")


class ExtensionStream(io.TextIOBase):
    """Replaces stdout, stderr and stdin: what an extension prints goes to its log, and it reads nothing."""

    def __init__(self, original: TextIO) -> None:
        self.original = original

    def write(self, text: str) -> int:
        run = current_run.get()
        if run is None:
            return self.original.write(text)
        run.extension.log.write(text)
        return len(text)

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        if current_run.get() is not None:
            raise OSError(NO_INPUT)
        return self.original.readline(-1 if size is None else size)

    def read(self, size: int | None = -1) -> str:
        return "" if current_run.get() is not None else self.original.read(-1 if size is None else size)

    def fileno(self) -> int:
        if current_run.get() is not None:
            raise io.UnsupportedOperation(NO_INPUT)
        return self.original.fileno()

    def flush(self) -> None:
        if current_run.get() is None:
            self.original.flush()

    def isatty(self) -> bool:
        return current_run.get() is None and self.original.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.original.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return "replace" if current_run.get() is not None else self.original.errors

    @property
    def buffer(self) -> BinaryIO:
        return io.BytesIO() if current_run.get() is not None else self.original.buffer

    def __getattr__(self, name: str) -> object:
        return getattr(self.original, name)


class StreamGuard:
    """Puts the streams in place for as long as a session has extensions."""

    _users = 0
    _replaced = ExitStack()

    @classmethod
    @contextmanager
    def installed(cls, logs: Path) -> Iterator[None]:
        cls._users += 1
        if cls._users == 1:
            own = cls._replaced.enter_context(diverted(ExtensionLog(logs / "extension-output.log")))
            for name in ("stdout", "stderr", "stdin"):
                if (original := own.get(name) or getattr(sys, name)) is not None:
                    stream = ExtensionStream(original)
                    cls._replaced.callback(put_back, name, stream, getattr(sys, name))
                    setattr(sys, name, stream)
        try:
            yield
        finally:
            cls._users -= 1
            if not cls._users:
                cls._replaced.close()


def put_back(name: str, stream: ExtensionStream, original: Any) -> None:
    if getattr(sys, name) is stream:
        setattr(sys, name, original)


@contextmanager
def diverted(log: ExtensionLog) -> Iterator[dict[str, Any]]:
    """Log what is written to descriptors 1 and 2, by child processes too; returns streams for tau itself.

    Only in tau's own program: one that uses tau as a library keeps its descriptors.
    """
    if OwnStdout.fd == STDOUT:
        yield {}
        return
    flush_original_streams()
    reading, writing = os.pipe()
    own = {"stdout": os.dup(1), "stderr": os.dup(2)}
    for fd in (1, 2):
        os.dup2(writing, fd)
    os.close(writing)
    draining = threading.Thread(target=drain, args=(reading, log), name="tau-extension-output", daemon=True)
    draining.start()
    try:
        yield {
            name: open(fd, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
            for name, fd in own.items()
        }
    finally:
        flush_original_streams()
        for number, fd in enumerate(own.values(), start=1):
            os.dup2(fd, number)
            os.close(fd)
        draining.join(DRAIN_S)  # a child may keep the pipe open


def flush_original_streams() -> None:
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            stream.flush()  # type: ignore[union-attr]


def drain(reading: int, log: ExtensionLog) -> None:
    """Until nobody can write anymore: a thread, so that nothing that writes ever waits for the loop."""
    with suppress(OSError), os.fdopen(reading, "rb", buffering=0) as pipe:
        while data := pipe.read(64 * KIB):
            log.write(data.decode("utf-8", "backslashreplace"))


class ProcessState:
    """The working folder, environment and signal handlers; `restore` puts back what has changed."""

    def __init__(self) -> None:
        self._cwd = os.getcwd()  # noqa: PTH109
        self._environ = dict(os.environ)
        self._signals = {number: signal.getsignal(number) for number in SIGNALS}

    def restore(self) -> list[str]:
        """What was changed."""
        changed = []
        with suppress(OSError):
            try:
                is_moved = os.getcwd() != self._cwd  # noqa: PTH109
            except FileNotFoundError:
                is_moved = True
            if is_moved:
                os.chdir(self._cwd)
                changed.append("the working folder")
        if os.environ != self._environ:
            for name in os.environ.keys() - self._environ.keys():
                del os.environ[name]
            os.environ.update(self._environ)
            changed.append("the environment")
        if threading.current_thread() is threading.main_thread():
            for number, before in self._signals.items():
                if before is not None and signal.getsignal(number) is not before:
                    signal.signal(number, before)
                    changed.append(f"the handler of {signal.Signals(number).name}")
        return changed


def replaced_names() -> Iterator[tuple[str, str]]:
    """The attributes of tau's modules and classes that are functions from elsewhere, each with its file."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "tau" or module is None:
            continue
        for key, value in list(vars(module).items()):
            if type(value) is FunctionType:
                if file := _foreign_file(value):
                    yield f"{name}.{key}", file
            elif isinstance(value, type) and value.__module__ == name:
                for member, one in list(vars(value).items()):
                    if type(one) is FunctionType and (file := _foreign_file(one)):
                        yield f"{name}.{key}.{member}", file


def _foreign_file(function: FunctionType) -> str:
    file = function.__code__.co_filename
    return "" if file.startswith((OWN_FOLDER, "<")) else file


def leftover_tasks(extension: "Extension") -> list["asyncio.Task[object]"]:
    """Tasks that run code of the extension and that it did not start with `tau.task`."""
    found = []
    for task in asyncio.all_tasks():
        coroutine: object = task.get_coro()
        code = getattr(coroutine, "cr_code", None)
        if code is not None and extension.owns(code.co_filename):
            found.append(task)
    return found


def leftover_threads(extension: "Extension") -> list[str]:
    """The names of threads that still run code of the extension."""
    frames = sys._current_frames()  # noqa: SLF001
    names = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        while frame is not None and thread.name != "tau-extension":
            if extension.owns(frame.f_code.co_filename):
                names.append(thread.name)
                break
            frame = frame.f_back
    return [name for name in names if name != "MainThread"]
