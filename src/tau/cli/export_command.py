"""`tau export [ID|PATH] FILE`: a session as HTML, Markdown, JSON or in pi's format."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.secrets import SecretMask, masked_text
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.export.files import FORMATS, ExportFormat, exported, format_of, write_export
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import user_paths
from tau.config.secret_mask import make_mask
from tau.modes.output_stream import OutputStream, tell
from tau.sdk import session_store

STDOUT = "-"


class _ExportArgs(Struct, frozen=True):
    session: str | None
    file: Path | None
    format: ExportFormat
    mask: bool
    force: bool


def run(words: Sequence[str]) -> int:
    """Raises UsageError and SessionError."""
    args = _parse(words)
    store = session_store(os.environ)
    path = store.recent_path() if args.session is None else store.find_path(args.session)
    log = store.open(path, read_only=True)
    masker = make_mask(os.environ, user_paths(os.environ), tell) if args.mask else None
    try:
        _export(log, args, masker)
    finally:
        log.close()
    for warning in log.warnings:
        tell(warning)
    if args.file is not None:
        tell(f"Exported the session to {args.file}. {masked_text(masker)}")
    elif masker is not None:
        tell(masked_text(masker))
    return 0


def _export(log: SessionLog, args: _ExportArgs, masker: SecretMask | None) -> None:
    pieces = exported(log, args.format, masker)
    if args.file is None:
        out = OutputStream()
        for piece in pieces:
            out.write(piece)
        return
    try:
        write_export(args.file, pieces, force=args.force)
    except OSError as error:
        raise TauError(f"{args.file} cannot be written: {error.strerror or error}.") from error


def _parse(words: Sequence[str]) -> _ExportArgs:
    parsed = parse_subcommand("export", words)
    formats = [name for name in FORMATS if parsed.has(name)]
    if len(formats) > 1 or len(parsed.words) > 2:
        raise UsageError(usage_line("export"))
    session, file = _split_places(parsed.words)
    format = formats[0] if formats else None if file is None else format_of(file)
    if format is None:
        raise UsageError(usage_line("export"))
    return _ExportArgs(session, file, format, not parsed.has("raw"), parsed.has("force"))


def _split_places(places: Sequence[str]) -> tuple[str | None, Path | None]:
    """The session and the file; a single word is a file if it has an export suffix."""
    if len(places) == 2:
        session, file = places
        return session, None if file == STDOUT else typed_path(file)
    if not places or places[0] == STDOUT:
        return None, None
    path = typed_path(places[0])
    return (None, path) if format_of(path) is not None else (places[0], None)
