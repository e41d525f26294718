"""Commands about context and cost: the window, tools, tokens and money."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from tau.base.clock import now_ms
from tau.base.errors import UsageError
from tau.coding.cost_report.request_costs import iter_usage
from tau.coding.cost_report.summary import UsageSummary, start_of_day, summarize
from tau.coding.export.page import money_text, tokens_text
from tau.coding.session_index.labels import folder_text
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns, width_of
from tau.modes.interactive.selectors.session_actions import location_of
from tau.modes.session_report import (
    USAGE_HEAD,
    ContextShare,
    advice,
    context_parts,
    count,
    figures,
    file_rows,
    limit_lines,
    share_text,
    spec_tokens,
    usage_rows,
)

BAR_COLUMNS = 60
_SIGNS, _PLAIN_SIGNS = "█▓▒░▚▞▙▟▛▜", "#=+*%@o&$x"
DAYS, MAX_DAYS = 30, 3_660
SHOWN_DAYS, SHOWN_SHARES = 7, 8


async def context(context: CommandContext, rest: str) -> None:
    """Show what fills the window, as a bar and in words."""
    session = context.require_session()
    usage = session.compaction.usage()
    window, used = usage.window, usage.tokens
    parts = context_parts(session, used, _PLAIN_SIGNS if _is_plain(context) else _SIGNS)
    lines = [
        f"{session.setup().model.key}: about {used:,} of {window:,} tokens used, {usage.percent:g}%.",
    ]
    if not context.display.theme.linear:
        lines += ["", _bar(context, parts, window), ""]
    free = ContextShare("free", max(window - used, 0), _free_sign(context))
    rows = [
        (part.sign, part.name, tokens_text(part.tokens), share_text(part.tokens, window))
        for part in (*parts, free)
    ]
    if context.display.theme.linear:
        rows = [("", name, f"{tokens} tokens", share) for _, name, tokens, share in rows]
    lines += columns(context.display, rows, right=(2,))
    files = [(size, path) for path, size in file_rows(session)]
    lines += ["", "Instructions:", *columns(context.display, files, indent=2)] if files else []
    lines += ["", advice(session, window)]
    context.say("\n".join(lines))


def _bar(context: CommandContext, parts: Sequence[ContextShare], window: int) -> str:
    """Each part in proportion to its share, but never invisible."""
    length = min(width_of(context.display), BAR_COLUMNS)
    cells = ""
    for part in parts:
        cells += part.sign * max(round(part.tokens / max(window, 1) * length), 1)
    cells = cells[:length]
    return cells + _free_sign(context) * (length - len(cells))


def _is_plain(context: CommandContext) -> bool:
    return context.display.theme.symbols.bullet.isascii()


def _free_sign(context: CommandContext) -> str:
    return "." if _is_plain(context) else "·"


async def tools(context: CommandContext, rest: str) -> None:
    """List the tools of the next request, each with its first sentence and its token count."""
    setup = context.require_session().setup()
    offered = setup.offered_tools()
    if not offered:
        context.say("The model has no tools.")
        return
    tokens = [spec_tokens(spec) for spec in setup.specs()]
    rows = [
        (tool.name, f"{own:,}", first_sentence(tool.description))
        for tool, own in zip(offered, tokens, strict=True)
    ]
    plan = " Plan mode hides the others." if context.require_session().plan.on else ""
    head = f"{count(len(rows), 'tool').capitalize()}, about {sum(tokens):,} tokens per request.{plan}"
    context.say("\n".join([head, *columns(context.display, rows, right=(1,), indent=2)]))


def first_sentence(text: str) -> str:
    """The first sentence of a Markdown description, on one line, without its period."""
    line = " ".join(text.strip().lstrip("# ").split("\n\n")[0].split())
    end = re.search(r"[.:](?=\s|$)", line)
    return line[: end.start()] if end else line


async def usage(context: CommandContext, rest: str) -> None:
    """Show tokens and cost of this session by model, and plan limits."""
    session = context.require_session()
    rows, note = usage_rows(session)
    limits = limit_lines(session)
    if not rows and not limits:
        context.say("No usage yet.")
        return
    table = [*_table(context, [USAGE_HEAD, *rows]), note] if rows else []
    context.say("\n".join([*table, *limits]))


def _table(context: CommandContext, rows: Sequence[Sequence[str]]) -> list[str]:
    """The name comes last, where it can be truncated."""
    if context.display.theme.linear or width_of(context.display) < 60:
        head, *others = rows
        return [
            f"{row[0]}: {row[1]} {'request' if row[1] == '1' else head[1]}, "
            + ", ".join(f"{cell} {name}" for cell, name in zip(row[2:], head[2:], strict=True))
            for row in others
        ]
    turned = [(*row[1:], row[0]) for row in rows]
    return columns(context.display, turned, right=range(len(rows[0]) - 1))


async def stats(context: CommandContext, rest: str) -> None:
    """Show tokens and cost of all sessions in the last days."""
    days = _days(rest)
    now = now_ms()
    root = location_of(context.current).root

    def read() -> tuple[UsageSummary, int]:
        unreadable: list[Path] = []
        since = 0 if days is None else start_of_day(now, days)
        return summarize(iter_usage(root, since, unreadable.append), now, days), len(unreadable)

    context.activity.show("Reading sessions", stop_key_action="")
    try:
        summary, unreadable = await asyncio.to_thread(read)
    finally:
        context.activity.hide()
    context.say("\n".join(_stats_lines(context, summary)))
    if unreadable:
        context.say(f"{count(unreadable, 'session file').capitalize()} could not be read.", "warning")


def _days(rest: str) -> int | None:
    if rest == "all":
        return None
    if not rest:
        return DAYS
    if not rest.isdecimal() or not 1 <= int(rest) <= MAX_DAYS:
        raise UsageError(f"Usage: /stats, /stats DAYS (1 to {MAX_DAYS:,}) or /stats all.")
    return int(rest)


def _stats_lines(context: CommandContext, summary: UsageSummary) -> list[str]:
    total = summary.total
    span = f"{summary.first_day} to {summary.last_day}"
    if not total.requests:
        return [f"No usage from {span}."]
    home = str(Path.home())
    days = [day for day in summary.days if day.requests]
    lines = [
        f"{span}: {count(summary.sessions, 'session')}, {count(total.requests, 'request')}, "
        f"{tokens_text(total.tokens)} tokens, {money_text(total.usage.cost.total)}."
    ]
    for title, shares in (
        ("day", days[-SHOWN_DAYS:]),
        ("model", summary.models[:SHOWN_SHARES]),
        ("folder", summary.folders[:SHOWN_SHARES]),
    ):
        named = (folder_text(share.name, home) if title == "folder" else share.name for share in shares)
        rows = [
            (name, *figures(share.requests, share.usage)) for name, share in zip(named, shares, strict=True)
        ]
        lines += ["", *_table(context, [(title, *USAGE_HEAD[1:]), *rows])]
    lines += ["", "For details run `tau stats`; add --html for charts."]
    return lines
