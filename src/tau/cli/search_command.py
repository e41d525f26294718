"""`tau search`: what the web_search tool finds, and which providers there are."""

import asyncio
import os
from collections.abc import Sequence

from msgspec import UNSET, ValidationError, convert

from tau.ai.wire import text_of
from tau.base.errors import UsageError
from tau.base.run import LocalRunner
from tau.cli.json_output import write_json
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.tools.web_search import WebSearchTool
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.web_access import SEARCH_KEYS
from tau.modes.output_stream import OutputStream, tell
from tau.sdk.models import web_access


def run(words: Sequence[str]) -> int:
    """Return the exit code: 0, or 1 if no provider answered. Raises UsageError."""
    parsed = parse_subcommand("search", words)
    query, forced = " ".join(parsed.words), parsed.value("provider") or ""
    if forced not in ("", "auto", *SEARCH_KEYS):
        raise UsageError(f'Unknown provider "{forced}"; use auto, {", ".join(SEARCH_KEYS)}.')
    if parsed.has("providers") == bool(query):
        raise UsageError(usage_line("search"))
    paths = user_paths(os.environ)
    settings = load_settings(paths, current_folder()).settings
    runner = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
    try:
        tool = WebSearchTool(settings, web_access(paths, os.environ, runner))
        return _list(tool, parsed) if parsed.has("providers") else _search(tool, query, forced, parsed)
    finally:
        runner.close()


def _list(tool: WebSearchTool, parsed: ParsedArgs) -> int:
    rows = tool.statuses
    if parsed.has("json"):
        return write_json(rows)
    lines = (f"{row.name:<11} {'available' if row.available else f'no: {row.reason}'}\n" for row in rows)
    OutputStream().text("".join(lines))
    return 0


def _search(tool: WebSearchTool, query: str, forced: str, parsed: ParsedArgs) -> int:
    given: dict[str, object] = {"query": query}
    if recency := parsed.value("recency"):
        given["recency"] = recency
    if limit := parsed.value("limit"):
        given["limit"] = int(limit) if limit.isascii() and limit.isdigit() else limit
    try:
        params = convert(given, tool.params)
    except ValidationError:
        raise UsageError("--recency is day, week, month or year, and --limit a number.") from None
    if forced not in ("", "auto") and (why := tool.missing(forced)):
        tell(f"{forced} is not available ({why}); trying the others.")
    output = asyncio.run(tool.search(params, forced))
    details = output.details
    if parsed.has("json"):
        write_json(details)
    elif parsed.has("compact") and details.error is UNSET:
        OutputStream().text("".join(f"{source.url}  {source.title}\n" for source in details.sources))
    else:
        OutputStream().text(f"{text_of(output.content)}\n")
    return 0 if details.error is UNSET else 1
