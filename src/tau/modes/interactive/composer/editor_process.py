"""Runs the user's editor or pager in a terminal connected to ours."""

import asyncio
import os
import shutil
import signal
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tau.base.errors import TauError
from tau.base.files import OwnStdout, temporary_folder, write_all
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.run import LocalRunner, Process, Pty, Runner, secret_environ
from tau.base.sizes import MIB, format_bytes
from tau.base.tasks import spawn

shlex = late("shlex")

MAX_BYTES = 16 * MIB
CHUNK_BYTES = 64 * 1024
# First report which terminal it has, so that we can set that terminal's size.
_REPORT_TTY = ("/bin/sh", "-c", 'tty >"$0" 2>/dev/null; exec "$@"')


def editor_command(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The editor command: VISUAL, EDITOR, or one that is installed. Raises TauError."""
    found = _find_command(("VISUAL", "EDITOR"), ("vi", "nano"), environ)
    if found is None:
        raise TauError("No editor found; set VISUAL or EDITOR.")
    return found


def pager_command(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The pager command: PAGER, or one that is installed. Raises TauError."""
    found = _find_command(("PAGER",), ("less", "more"), environ)
    if found is None:
        raise TauError("No pager found; set PAGER.")
    return found


def _find_command(
    variables: Sequence[str], programs: Sequence[str], environ: Mapping[str, str]
) -> list[str] | None:
    for name in variables:
        text = environ.get(name, "").strip()
        if not text:
            continue
        try:
            return shlex.split(text)
        except ValueError as error:
            raise TauError(f"Cannot parse {name}: {error}.") from None
    found = (find_program(program, environ=environ) for program in programs)
    return next(([program] for program in found if program), None)


async def run(
    argv: Sequence[str], cwd: Path, runner: Runner | None = None, variables: str = "VISUAL or EDITOR"
) -> int:
    """Run a program in the terminal; returns its exit code. Raises TauError if it cannot start."""
    columns, rows = _size()
    runner = runner or LocalRunner()
    with private_file("", "tty.txt") as tty_file:
        try:
            process = await runner.start(
                (*_REPORT_TTY, str(tty_file), *argv),
                cwd=cwd,
                env=secret_environ(),  # the user's own program
                terminal=Pty(columns=columns, rows=rows, echo=True),
            )
        except OSError as error:
            raise TauError(f"Cannot start {argv[0]}: {error.strerror or error}.") from None
        async with process:
            with _raw_keys(tty_file) as keys:
                async with asyncio.TaskGroup() as tasks:
                    forwarding = spawn(tasks, _forward(keys, process))
                    async for chunk in process.output():
                        _show(chunk)
                    forwarding.cancel()
            ended = await process.wait()
    if ended.code == 127:
        raise TauError(f"{argv[0]} not found; set {variables} to a program you have.")
    return ended.code if ended.code is not None else 128 + (ended.signal or 0)


async def _forward(keys: asyncio.Queue[bytes], process: Process) -> None:
    """Pass typed keys to the process; kill it when the terminal is gone."""
    with suppress(OSError):
        while data := await keys.get():
            await process.write(data)
    await process.kill()


@contextmanager
def _raw_keys(tty_file: Path) -> Iterator[asyncio.Queue[bytes]]:
    """Raw keys of our terminal; window size changes are passed on."""
    keys: asyncio.Queue[bytes] = asyncio.Queue()
    if not os.isatty(0):
        yield keys
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            data = os.read(0, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        keys.put_nowait(data)
        if not data:
            loop.remove_reader(0)

    before = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSANOW)
    loop.add_reader(0, read)
    old = signal.signal(signal.SIGWINCH, lambda *_: _resize(tty_file))
    try:
        yield keys
    finally:
        loop.remove_reader(0)
        signal.signal(signal.SIGWINCH, old)
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


def _resize(tty_file: Path) -> None:
    with suppress(OSError, termios.error):
        fd = os.open(tty_file.read_text().strip(), os.O_RDWR | os.O_NOCTTY)
        try:
            columns, rows = _size()
            termios.tcsetwinsize(fd, (rows, columns))
        finally:
            os.close(fd)


def _show(data: bytes) -> None:
    with suppress(OSError):  # reading keys detects a closed terminal
        os.set_blocking(OwnStdout.fd, True)
        write_all(OwnStdout.fd, data)


def _size() -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(OwnStdout.fd)
    except OSError:
        return 80, 24
    return columns or 80, rows or 24


@contextmanager
def private_file(text: str, name: str) -> Iterator[Path]:
    """A private file in a separate folder, which an editor may fill as it likes."""
    folder = temporary_folder() / f"tau-edit-{os.urandom(6).hex()}"
    folder.mkdir(mode=0o700)
    file = folder / name
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(text.encode("utf-8", "replace"))
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_text(file: Path, before: str) -> str:
    """The edited text, without the final newline most editors add. Raises TauError."""
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise TauError(f"The text is too long ({format_bytes(size)}); keeping the old one.")
        text = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise TauError(f"Cannot read the text: {error.strerror}; keeping the old one.") from None
    return text if before.endswith("\n") else text.removesuffix("\n")
