"""Bug reports: logs, session, settings and system info in one file, with secrets masked."""

import asyncio
import os
import tarfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from msgspec import DecodeError, json

from tau.ai.exchange_log import current_log
from tau.base.errors import TauError
from tau.base.files import make_private
from tau.base.secrets import SecretMask, masked_text
from tau.base.sizes import MIB, format_bytes
from tau.config.paths import Paths
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.debug import logs, requests, system
from tau.modes.interactive.debug.secrets import masker_for, without_keys

MAX_SESSION_BYTES = 50 * MIB
MAX_LOG_RECORDS = 1_000
MAX_LISTED = 500
MAX_AGENT_SESSIONS = 10


class ReportFile(NamedTuple):
    path: Path
    note: str
    """What to tell the user about masked secrets."""


class ReportContent(NamedTuple):
    """The content of a report, collected while nothing changes it."""

    system: str
    answers: str
    session: Path | None
    paths: Paths


async def write_report(context: CommandContext, *more: tuple[str, str]) -> ReportFile:
    """Raises TauError. `more` are further files: names and texts."""
    masker = masker_for(context.paths)
    session = None if context.session is None else context.session.log.path
    content = ReportContent(
        system.system_text(context), requests.responses_text(current_log(), masker), session, context.paths
    )
    try:
        path = await asyncio.to_thread(_write, content, masker, more)
    except OSError as error:
        raise TauError(f"Cannot write the report: {error.strerror or error}.") from error
    return ReportFile(path, masked_text(masker))


def _write(content: ReportContent, masker: SecretMask, more: tuple[tuple[str, str], ...]) -> Path:
    folder = content.paths.home / "reports"
    make_private(folder)
    name = f"tau-report-{time.strftime('%Y%m%d-%H%M%S')}"
    path = folder / f"{name}.tar.gz"
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            added = ((inside, masker.mask(text)) for inside, text in more)
            for inside, text in (*_files(content, masker), *added):
                data = text.encode("utf-8", "replace")
                info = tarfile.TarInfo(f"{name}/{inside}")
                info.size, info.mode, info.mtime = len(data), 0o600, int(time.time())
                archive.addfile(info, BytesIO(data))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


def _files(content: ReportContent, masker: SecretMask) -> Iterator[tuple[str, str]]:
    yield "README.txt", Path(__file__).with_name("report_readme.txt").read_text(encoding="utf-8")
    yield "system.txt", masker.mask(content.system)
    yield "log.txt", masker.mask("\n".join(logs.records(content.paths.logs)[-MAX_LOG_RECORDS:]))
    yield "answers.txt", content.answers
    for path in (content.paths.settings, content.paths.models):
        if path.is_file():
            yield path.name, _settings(path, masker)
    if content.session is not None and content.session.is_file():
        yield "session.jsonl", _session(content.session, masker)
        yield "artifacts.txt", _list_files(content.session.with_suffix(""))
        for path in agent_sessions(content.session.with_suffix("")):
            yield f"agents/{path.name}", _session(path, masker)


def agent_sessions(folder: Path) -> list[Path]:
    """Those of the agents that worked last."""
    try:
        found = [(path.stat().st_mtime_ns, path) for path in folder.glob("*.jsonl")]
    except OSError:
        return []
    return [path for _, path in sorted(found)[-MAX_AGENT_SESSIONS:]]


def _settings(path: Path, masker: SecretMask) -> str:
    try:
        value = json.decode(path.read_bytes())
    except (OSError, DecodeError, UnicodeDecodeError):
        return "Omitted: not valid JSON.\n"
    return json.format(json.encode(masker.mask_value(without_keys(value))), indent=2).decode() + "\n"


def _session(path: Path, masker: SecretMask) -> str:
    """Mask every line value by value; keep only the end of a very long session."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - MAX_SESSION_BYTES, 0))
        data = file.read(MAX_SESSION_BYTES)
    lines = data.split(b"\n")
    made: list[str] = []
    if size > MAX_SESSION_BYTES:
        del lines[0]
        made.append(json.encode({"type": "left_out", "bytes": size - len(data)}).decode())
    made += [_line(line, masker) for line in lines if line.strip()]
    return "\n".join(made) + "\n"


def _line(line: bytes, masker: SecretMask) -> str:
    try:
        return json.encode(masker.mask_value(json.decode(line))).decode()
    except (DecodeError, UnicodeDecodeError):
        return masker.mask(line.decode("utf-8", "replace"))


def _list_files(folder: Path) -> str:
    rows = [
        f"{format_bytes(path.stat().st_size):>10}  {path.relative_to(folder)}"
        for path in sorted(folder.rglob("*"))[:MAX_LISTED]
        if path.is_file()
    ]
    return "\n".join(rows) + "\n" if rows else "None.\n"
