"""`tau stats`: cost and tokens by day, model and folder, as text, JSON or HTML."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, json

from tau.base.clock import now_ms
from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.cli.subcommand_help import usage_line
from tau.coding.cost_report.request_costs import iter_usage
from tau.coding.cost_report.summary import UsageSummary, as_json, start_of_day, summarize
from tau.coding.cost_report.table import usage_lines
from tau.modes.output_stream import OutputStream, tell
from tau.sdk.storage import session_store

chart = late("tau.coding.cost_report.chart")
export_files = late("tau.coding.export.files")

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
    args = _parse(words)
    now = now_ms()
    unreadable: list[Path] = []
    since = 0 if args.days is None else start_of_day(now, args.days)
    summary = summarize(iter_usage(session_store().root, since, unreadable.append), now, args.days)
    if args.json:
        OutputStream().write(json.format(json.encode(as_json(summary)), indent=2) + b"\n")
    elif args.page is not None:
        _write_page(summary, args.page, force=args.force)
    else:
        OutputStream().text("".join(f"{line}\n" for line in usage_lines(summary)))
    if unreadable:
        more = f" and {len(unreadable) - 1} more" if len(unreadable) > 1 else ""
        tell(f"Skipped unreadable session files: {unreadable[0]}{more}.")
    return 0


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
                raise UsageError(usage_line("stats"))
    if as_text_json and page is not None:
        raise UsageError(usage_line("stats"))
    return _StatsArgs(days, as_text_json, page, force)


def _parse_days(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= MAX_DAYS:
        raise UsageError(f'--days takes a number from 1 to {MAX_DAYS}, not "{word}".')
    return int(word)
