"""`tau export [ID|PATH] FILE`: a session as HTML, Markdown, JSON or in pi's format."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.coding.export.files import FORMATS, MASKED, ExportFormat, exported, format_of, write_export
from tau.coding.export.secrets import Masker, known_secrets, masked_text
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import user_paths
from tau.modes.output_stream import OutputStream, tell
from tau.sdk import session_store

USAGE = (
    "Usage: tau export [ID|PATH] FILE.html, FILE.md or FILE.json, or tau export --html, --markdown, "
    "--json or --pi [ID|PATH] [FILE]. Exports the latest session in this folder by default, to standard "
    "output without a file or with -. --mask and --no-mask control secret masking; --force overwrites."
)
STDOUT = "-"


class _ExportArgs(Struct, frozen=True):
    session: str | None
    file: Path | None
    format: ExportFormat
    mask: bool
    force: bool


def run(words: Sequence[str]) -> int:
    """Raises UsageError and SessionError."""
    wanted = _parse(words)
    store = session_store(os.environ)
    path = store.recent_path() if wanted.session is None else store.find_path(wanted.session)
    log = store.open(path, read_only=True)
    masker = Masker(_known_secrets()) if wanted.mask else None
    try:
        _export(log, wanted, masker)
    finally:
        log.close()
    for warning in log.warnings:
        tell(warning)
    if wanted.file is not None:
        tell(f"Exported the session to {wanted.file}. {masked_text(masker)}")
    elif masker is not None:
        tell(masked_text(masker))
    return 0


def _known_secrets() -> list[str]:
    return known_secrets(os.environ, user_paths(os.environ).auth, tell)


def _export(log: SessionLog, wanted: _ExportArgs, masker: Masker | None) -> None:
    pieces = exported(log, wanted.format, masker)
    if wanted.file is None:
        out = OutputStream()
        for piece in pieces:
            out.write(piece)
        return
    try:
        write_export(wanted.file, pieces, force=wanted.force)
    except OSError as error:
        raise TauError(f"{wanted.file} cannot be written: {error.strerror or error}.") from error


def _parse(words: Sequence[str]) -> _ExportArgs:
    places: list[str] = []
    options: set[str] = set()
    for word in words:
        if word.startswith("--"):
            options.add(word)
        else:
            places.append(word)
    known = {f"--{name}" for name in FORMATS} | {"--mask", "--no-mask", "--force"}
    if options - known:
        raise UsageError(f'Unknown option "{min(options - known)}". {USAGE}')
    formats = [name for name in FORMATS if f"--{name}" in options]
    if len(formats) > 1 or len(places) > 2 or {"--mask", "--no-mask"} <= options:
        raise UsageError(USAGE)
    session, file = _split_places(places)
    format = formats[0] if formats else None if file is None else format_of(file)
    if format is None:
        raise UsageError(USAGE)
    mask = "--no-mask" not in options and (format in MASKED or "--mask" in options)
    return _ExportArgs(session, file, format, mask, "--force" in options)


def _split_places(places: Sequence[str]) -> tuple[str | None, Path | None]:
    """The session and the file; a single word is a file if it has an export suffix."""
    if len(places) == 2:
        session, file = places
        return session, None if file == STDOUT else typed_path(file)
    if not places or places[0] == STDOUT:
        return None, None
    path = typed_path(places[0])
    return (None, path) if format_of(path) is not None else (places[0], None)
