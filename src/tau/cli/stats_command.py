"""`tau stats`: cost and tokens by day, model and folder, as text, JSON or HTML."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, json

from tau.base.clock import now_ms
from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.cost_report.request_costs import iter_usage
from tau.coding.cost_report.summary import UsageSummary, as_json, start_of_day, summarize
from tau.coding.cost_report.table import usage_lines
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.modes.output_stream import OutputStream, tell

chart = late("tau.coding.cost_report.chart")
export_files = late("tau.coding.export.files")

USAGE = (
    "Usage: tau stats [--days N|--all] [--json|--html [FILE] [--force]]; the default is the last "
    "30 days, and --html without a file writes tau-stats.html here."
)
DAYS = 30
MAX_DAYS = 3_660
PAGE = "tau-stats.html"
STDOUT = "-"


class _StatsArgs(Struct, frozen=True):
    days: int | None  # None: all
    json: bool
    page: str | None
    force: bool


def run(words: Sequence[str]) -> int:
    """Raises UsageError and TauError."""
    wanted = _parse(words)
    now = now_ms()
    unreadable: list[Path] = []
    since = 0 if wanted.days is None else start_of_day(now, wanted.days)
    summary = summarize(iter_usage(_sessions(), since, unreadable.append), now, wanted.days)
    if wanted.json:
        OutputStream().write(json.format(json.encode(as_json(summary)), indent=2) + b"\n")
    elif wanted.page is not None:
        _write_page(summary, wanted.page, force=wanted.force)
    else:
        OutputStream().text("".join(f"{line}\n" for line in usage_lines(summary)))
    if unreadable:
        more = f" and {len(unreadable) - 1} more" if len(unreadable) > 1 else ""
        tell(f"Skipped unreadable session files: {unreadable[0]}{more}.")
    return 0


def _sessions() -> Path:
    """The session folder."""
    paths = user_paths(os.environ)
    folder = load_settings(paths, current_folder()).settings.session_dir
    return typed_path(folder) if folder else paths.sessions


def _write_page(summary: UsageSummary, name: str, *, force: bool) -> None:
    pieces = (piece.encode("utf-8", "replace") for piece in chart.chart_page(summary))
    if name == STDOUT:
        out = OutputStream()
        for piece in pieces:
            out.write(piece)
        return
    path = typed_path(name)
    try:
        export_files.write_export(path, pieces, force=force)
    except OSError as error:
        raise TauError(f"{path} cannot be written: {error.strerror or error}.") from error
    tell(f"Wrote usage from {summary.first_day} to {summary.last_day} to {path}.")


def _parse(words: Sequence[str]) -> _StatsArgs:
    rest = list(words)
    days: int | None = DAYS
    as_text_json = force = False
    page: str | None = None
    while rest:
        match rest.pop(0):
            case "--json":
                as_text_json = True
            case "--force":
                force = True
            case "--all":
                days = None
            case "--days" if rest:
                days = _parse_days(rest.pop(0))
            case word if word.startswith("--days="):
                days = _parse_days(word.removeprefix("--days="))
            case "--html":
                page = PAGE if page is None else page
            case word if (word == STDOUT or not word.startswith("-")) and page == PAGE:
                page = word
            case _:
                raise UsageError(USAGE)
    if as_text_json and page is not None:
        raise UsageError(USAGE)
    return _StatsArgs(days, as_text_json, page, force)


def _parse_days(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= MAX_DAYS:
        raise UsageError(f'--days takes a number from 1 to {MAX_DAYS}, not "{word}".')
    return int(word)
