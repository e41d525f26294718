"""`tau search`: what the web_search tool finds, and which providers there are."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, ValidationError, convert, json

from tau.ai.wire import text_of
from tau.base.errors import UsageError
from tau.base.run import LocalRunner
from tau.cli.subcommand_help import usage_line
from tau.coding.tools.web_search import WebSearchTool
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.web_access import SEARCH_KEYS
from tau.modes.output_stream import OutputStream, tell
from tau.sdk.models import web_access

VALUES = ("--provider", "--recency", "--limit")
SWITCHES = ("--compact", "--json", "--providers")


def run(words: Sequence[str]) -> int:
    """Return the exit code: 0, or 1 if no provider answered. Raises UsageError."""
    query, options = _split(words)
    forced = options.get("--provider", "")
    if forced not in ("", "auto", *SEARCH_KEYS):
        raise UsageError(f'Unknown provider "{forced}"; use auto, {", ".join(SEARCH_KEYS)}.')
    if ("--providers" in options) == bool(query):
        raise UsageError(usage_line("search"))
    paths = user_paths(os.environ)
    settings = load_settings(paths, current_folder()).settings
    runner = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
    try:
        tool = WebSearchTool(settings, web_access(paths, os.environ, runner))
        return _list(tool, options) if "--providers" in options else _search(tool, query, forced, options)
    finally:
        runner.close()


def _split(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    rest, query, options = list(words), list[str](), dict[str, str]()
    while rest:
        word = rest.pop(0)
        name, sign, value = word.partition("=")
        if word == "--":
            query, rest = [*query, *rest], []
        elif not word.startswith("--"):
            query.append(word)
        elif name in SWITCHES and not sign:
            options[name] = ""
        elif name not in VALUES:
            raise UsageError(f'Unknown option "{name}"; see tau search --help.')
        elif sign or rest:
            options[name] = value if sign else rest.pop(0)
        else:
            raise UsageError(f"{name} needs a value.")
    return " ".join(query), options


def _list(tool: WebSearchTool, options: dict[str, str]) -> int:
    rows = tool.statuses
    if "--json" in options:
        _write_json(rows)
        return 0
    lines = (f"{row.name:<11} {'available' if row.available else f'no: {row.reason}'}\n" for row in rows)
    OutputStream().text("".join(lines))
    return 0


def _search(tool: WebSearchTool, query: str, forced: str, options: dict[str, str]) -> int:
    given: dict[str, Any] = {"query": query}
    if "--recency" in options:
        given["recency"] = options["--recency"]
    if "--limit" in options:
        limit = options["--limit"]
        given["limit"] = int(limit) if limit.isascii() and limit.isdigit() else limit
    try:
        params = convert(given, tool.params)
    except ValidationError as error:
        raise UsageError(f"{error}.") from None
    if forced not in ("", "auto") and (why := tool.missing(forced)):
        tell(f"{forced} is not available ({why}); trying the others.")
    output = asyncio.run(tool.search(params, forced))
    details = output.details
    if "--json" in options:
        _write_json(details)
    elif "--compact" in options and details.error is UNSET:
        OutputStream().text("".join(f"{source.url}  {source.title}\n" for source in details.sources))
    else:
        OutputStream().text(f"{text_of(output.content)}\n")
    return 0 if details.error is UNSET else 1


def _write_json(value: Any) -> None:
    OutputStream().write(json.format(json.encode(value), indent=2) + b"\n")
