"""`tau stats`: cost and tokens by day, model and folder, as text, JSON or HTML."""

from collections.abc import Sequence
from pathlib import Path

from tau.base.clock import now_ms
from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.cli.json_output import write_json
from tau.cli.subcommand_flags import parse_subcommand
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


def run(words: Sequence[str]) -> int:
    """Raises UsageError and TauError."""
    parsed = parse_subcommand("stats", words)
    if parsed.words or (parsed.has("json") and parsed.has("html")):
        raise UsageError(usage_line("stats"))
    days = None if parsed.has("all") else _parse_days(parsed.value("days") or str(DAYS))
    now = now_ms()
    unreadable: list[Path] = []
    since = 0 if days is None else start_of_day(now, days)
    summary = summarize(iter_usage(session_store().root, since, unreadable.append), now, days)
    if parsed.has("json"):
        write_json(as_json(summary))
    elif parsed.has("html"):
        _write_page(summary, parsed.value("html") or PAGE, force=parsed.has("force"))
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


def _parse_days(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= MAX_DAYS:
        raise UsageError(f'--days takes a number from 1 to {MAX_DAYS}, not "{word}".')
    return int(word)
