"""Commands about context and cost: the window, tools, tokens and money."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tau.ai.dialect import ToolSpec
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    PythonExecutionMessage,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.base.clock import now_ms
from tau.base.errors import UsageError
from tau.coding.cost_report.request_costs import iter_usage
from tau.coding.cost_report.summary import UsageSummary, start_of_day, summarize
from tau.coding.export.page import money_text, percent_text, tokens_text
from tau.coding.session.compaction.estimate import frame_tokens, json_tokens, message_tokens, text_tokens
from tau.coding.session.compaction.limits import limit_tokens
from tau.coding.session.session import Session
from tau.coding.session.stats import cache_hit_rate, counts
from tau.coding.session_index.labels import folder_text
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import columns, count, width_of
from tau.modes.interactive.selectors.session_actions import place_of

BAR_COLUMNS = 60
_SIGNS, _PLAIN_SIGNS = "█▓▒░▚▞▙▟▛▜", "#=+*%@o&$x"
_FILES = re.compile(r'<instructions path="([^"]*)">\n.*?\n</instructions>', re.DOTALL)
DAYS, MAX_DAYS = 30, 3_660
SHOWN_DAYS, SHOWN_SHARES = 7, 8


class ContextShare(NamedTuple):
    """One part of the context window; `sign` represents it in the bar."""

    name: str
    tokens: int
    sign: str


async def context(context: CommandContext, rest: str) -> None:
    """Show what fills the window, as a bar and in words."""
    session = context.require_session()
    usage = session.compaction.usage()
    window, used = usage.window, usage.tokens
    parts = _parts(session, used, _PLAIN_SIGNS if _is_plain(context) else _SIGNS)
    lines = [
        f"{session.setup().model.key}: about {used:,} of {window:,} tokens used, {usage.percent:g} %.",
    ]
    if not context.display.theme.linear:
        lines += ["", _bar(context, parts, window), ""]
    free = ContextShare("free", max(window - used, 0), _free_sign(context))
    rows = [
        (part.sign, part.name, tokens_text(part.tokens), _share(part.tokens, window))
        for part in (*parts, free)
    ]
    if context.display.theme.linear:
        rows = [("", name, f"{tokens} tokens", share) for _, name, tokens, share in rows]
    lines += columns(context.display, rows, right=(2,))
    lines += ["", *_advice(session, window)]
    context.say("\n".join(lines))


def _parts(session: Session, used: int, signs: str) -> list[ContextShare]:
    """Estimates, scaled to add up to the server's token count."""
    setup = session.setup()
    files = {found[1]: found[0] for found in _FILES.finditer(setup.system)}
    instructions = sum(map(text_tokens, files.values()))
    specs = [tool.spec.brief() if setup.model.demo else tool.spec for tool in setup.tools]
    found = {
        "system prompt": frame_tokens(setup.system, []) - instructions,
        _named_files(list(files)): instructions,
        count(len(specs), "tool"): sum(map(spec_tokens, specs)),
    }
    for message in session.log.messages():
        for kind, tokens in _kinds(message):
            found[kind] = found.get(kind, 0) + tokens
    estimated = sum(found.values())
    scale = used / estimated if estimated else 1.0
    return [
        ContextShare(name, round(tokens * scale), signs[place % len(signs)])
        for place, (name, tokens) in enumerate(item for item in found.items() if item[1] > 0)
    ]


def _kinds(message: AppMessage) -> Iterator[tuple[str, int]]:
    match message:
        case UserMessage():
            yield "your messages", message_tokens(message)
        case AssistantMessage():
            thinking = sum(
                text_tokens(part.thinking) for part in message.content if isinstance(part, ThinkingContent)
            )
            calls = sum(json_tokens(part.arguments) for part in message.content if isinstance(part, ToolCall))
            yield "answers", message_tokens(message) - thinking - calls
            yield "thinking", thinking
            yield "tool calls", calls
        case ToolResultMessage():
            yield "tool results", message_tokens(message)
        case BashExecutionMessage() | PythonExecutionMessage():
            yield "your commands", message_tokens(message)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            yield "summaries", message_tokens(message)
        case CustomMessage():
            yield "system notes", message_tokens(message)


def _named_files(paths: Sequence[str]) -> str:
    if not paths:
        return "instructions"
    names = ", ".join(dict.fromkeys(Path(path).name for path in paths))
    return f"{names} ({count(len(paths), 'file')})"


def spec_tokens(spec: ToolSpec) -> int:
    """Tokens of one tool description."""
    return frame_tokens("", [spec]) - frame_tokens("", [])


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


def _share(tokens: int, window: int) -> str:
    share = 100 * tokens / max(window, 1)
    return f"{share:.0f} %" if share >= 1 or not tokens else "under 1 %"


def _advice(session: Session, window: int) -> list[str]:
    settings = session.compaction.settings
    if not session.compaction.enabled or settings.strategy == "off":
        return ["Automatic compaction is off; use /compact."]
    setup = session.setup()
    specs = [tool.spec.brief() if setup.model.demo else tool.spec for tool in setup.tools]
    limit = limit_tokens(settings, window, frame_tokens(setup.system, specs))
    return [f"Compacts automatically above about {limit:,} tokens; /compact or /shake does it now."]


async def tools(context: CommandContext, rest: str) -> None:
    """List the tools of the next request, each with its first sentence and its token count."""
    setup = context.require_session().setup()
    if not setup.tools:
        context.say("The model has no tools.")
        return
    rows = []
    for tool in setup.tools:
        tokens = spec_tokens(tool.spec.brief() if setup.model.demo else tool.spec)
        rows.append((tool.name, f"{tokens:,}", first_sentence(tool.description)))
    total = sum(int(tokens.replace(",", "")) for _, tokens, _ in rows)
    plan = " Plan mode hides the others." if context.require_session().plan.on else ""
    head = f"{count(len(rows), 'tool').capitalize()}, about {total:,} tokens per request.{plan}"
    context.say("\n".join([head, *columns(context.display, rows, right=(1,), indent=2)]))


def first_sentence(text: str) -> str:
    """The first sentence of a Markdown description, on one line."""
    line = " ".join(text.strip().lstrip("# ").split("\n\n")[0].split())
    end = re.search(r"[.:](?=\s|$)", line)
    return line[: end.start() + 1].rstrip(":") if end else line


async def usage(context: CommandContext, rest: str) -> None:
    """Show tokens and cost of this session, by model."""
    stats = context.require_session().stats
    models = stats.models
    if not models:
        context.say("No usage yet.")
        return
    head = ("model", "requests", "input", "cached", "output", "cost")
    rows = [(_model(one.provider, one.model), *_figures(one.requests, one.usage)) for one in models]
    total = stats.usage
    if len(models) > 1:
        rows.append(("all", *_figures(sum(one.requests for one in models), total)))
    hits = percent_text(cache_hit_rate(total))
    note = f"{hits} of the input came from the cache. Total cost: {money_text(total.cost.total)}."
    context.say("\n".join([*_table(context, [head, *rows]), note]))


def _model(provider: str, model: str) -> str:
    return f"{provider}/{model}" if provider else model or "(unknown)"


def _figures(requests: int, usage: Usage) -> tuple[str, ...]:
    tokens = counts(usage)
    return (
        f"{requests:,}",
        tokens_text(tokens.input + tokens.cache_write),
        tokens_text(tokens.cache_read),
        tokens_text(tokens.output),
        money_text(usage.cost.total),
    )


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
    root = place_of(context.current).root

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
            (name, *_figures(share.requests, share.usage)) for name, share in zip(named, shares, strict=True)
        ]
        lines += ["", *_table(context, [(title, "requests", "input", "cached", "output", "cost"), *rows])]
    lines += ["", "For details run `tau stats`; add --html for charts."]
    return lines
