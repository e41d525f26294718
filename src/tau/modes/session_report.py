"""What modes say about a session: its facts, its context window, its tokens and cost."""

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
from tau.base.clock import from_iso, now_ms
from tau.base.late import late
from tau.base.sizes import format_bytes
from tau.base.text import clean_line
from tau.coding.approval.decision_log import decisions
from tau.coding.export.page import money_text, percent_text, tokens_text
from tau.coding.session.compaction.estimate import frame_tokens, json_tokens, message_tokens, text_tokens
from tau.coding.session.compaction.trigger import limit_tokens
from tau.coding.session.session import Session
from tau.coding.session.stats import cache_hit_rate, counts

plan_usage = late("tau.config.plan_usage")

_FILES = re.compile(
    r'<instructions path="([^"]*)"(?: trusted="no" id="(\w+)")?>\n(.*?)\n</instructions(?(2) id="\2")>',
    re.DOTALL,
)
_CUT = re.compile(r"\[\S.* truncated: (\S+ \S+ of \S+ \S+) shown\]\Z")

USAGE_HEAD = ("model", "requests", "input", "cached", "output", "cost")


def count(number: int, noun: str) -> str:
    """`1 file`, `12 files`, `no files`."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s" if number else f"no {noun}s"


def info_rows(session: Session) -> list[tuple[str, str]]:
    """The facts about a session, by name."""
    log, stats = session.log, session.stats.summary()
    tokens = stats.tokens
    cached = f"{stats.cache_hit_rate * 100:.0f}% of the input from the cache"
    messages = (
        f"{count(stats.user_messages, 'message')} from you",
        count(stats.assistant_messages, "answer"),
        count(stats.tool_calls, "tool call"),
    )
    rows = [
        ("Name", log.name or "none; set one with /name"),
        ("ID", log.header.id),
        ("File", _file(log.path)),
        ("Folder", str(session.cwd)),
        *(("Added folder", str(folder)) for folder in (session.folders.added if session.folders else ())),
        ("Started", f"{_age(now_ms() - from_iso(log.header.timestamp))} ago"),
        ("Model", session.model.key + (f", thinking {session.thinking}" if session.model.reasoning else "")),
        ("Messages", ", ".join(messages)),
        ("Entries", f"{sum(1 for _ in log.nodes()):,}"),
        ("Tokens", f"{tokens_text(tokens.total)}: {tokens_text(tokens.output)} output, {cached}"),
        ("Cost", money_text(stats.cost)),
        ("Permissions", _permissions(session)),
    ]
    if isinstance(log.header.parent_session, str):
        rows.append(("Copied from", log.header.parent_session))
    return rows


def _permissions(session: Session) -> str:
    """The mode, and what was decided about calls that it does not simply allow."""
    found = list(decisions(session.log))
    asked = sum(decision.by == "user" for decision in found)
    refused = sum(not decision.allowed for decision in found)
    return f"{session.permissions.mode} mode; {count(asked, 'question')}, {count(refused, 'refused call')}"


def _file(path: Path | None) -> str:
    if path is None:
        return "none; the session is not saved"
    try:
        return f"{path} ({format_bytes(path.stat().st_size)})"
    except OSError:
        return f"{path} (not written yet)"


def _age(ms: int) -> str:
    """`a few seconds`, `12 minutes`, `3 hours`, `5 days`."""
    seconds = max(ms, 0) // 1000
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return count(seconds // size, unit)
    return "a few seconds"


def usage_rows(session: Session) -> tuple[list[tuple[str, ...]], str]:
    """The figures of each model under USAGE_HEAD, empty if there are none, and a sentence about all."""
    stats = session.stats
    rows = [(_model(one.provider, one.model), *figures(one.requests, one.usage)) for one in stats.models]
    total = stats.usage
    if len(rows) > 1:
        rows.append(("all", *figures(sum(one.requests for one in stats.models), total)))
    hits = percent_text(cache_hit_rate(total))
    misses = "; ".join(
        f"{clean_line(reason).replace('_', ' ')} ({count(requests, 'request')}, {tokens_text(tokens)} tokens)"
        for reason, (requests, tokens) in stats.cache_misses.items()
    )
    why = f" Cache misses, as the server explains them: {misses}." if misses else ""
    return rows, f"{hits} of the input came from the cache.{why} Total cost: {money_text(total.cost.total)}."


def limit_lines(session: Session) -> list[str]:
    """What is left of the plans and rate limits that this session used."""
    known = list(session.models.plan_limits.values())
    return list(plan_usage.usage_lines(known, now_ms())) if known else []


def _model(provider: str, model: str) -> str:
    return f"{provider}/{model}" if provider else model or "(unknown)"


def figures(requests: int, usage: Usage) -> tuple[str, ...]:
    """The cells of one row of usage."""
    tokens = counts(usage)
    return (
        f"{requests:,}",
        tokens_text(tokens.input + tokens.cache_write),
        tokens_text(tokens.cache_read),
        tokens_text(tokens.output),
        money_text(usage.cost.total),
    )


class ContextShare(NamedTuple):
    """One part of the context window; `sign` represents it in the bar."""

    name: str
    tokens: int
    sign: str


def context_parts(session: Session, used: int, signs: str) -> list[ContextShare]:
    """Estimates, scaled to add up to the server's token count."""
    setup = session.setup()
    files = {found[1]: found[0] for found in _FILES.finditer(setup.system)}
    instructions = sum(map(text_tokens, files.values()))
    specs = setup.specs()
    shares = {
        "system prompt": frame_tokens(setup.system, []) - instructions,
        _file_names(list(files)): instructions,
        count(len(specs), "tool"): sum(map(spec_tokens, specs)),
    }
    for message in session.log.messages():
        for kind, tokens in _kinds(message):
            shares[kind] = shares.get(kind, 0) + tokens
    estimated = sum(shares.values())
    scale = used / estimated if estimated else 1.0
    return [
        ContextShare(name, round(tokens * scale), signs[place % len(signs)])
        for place, (name, tokens) in enumerate(item for item in shares.items() if item[1] > 0)
    ]


def file_rows(session: Session) -> list[tuple[str, str]]:
    """The files with instructions in the context, each with its size and what was cut."""
    nested = [
        message.content
        for message in session.log.messages()
        if isinstance(message, CustomMessage) and message.custom_type == "nested-context"
    ]
    rows = []
    for text in (session.setup().system, *(content for content in nested if isinstance(content, str))):
        for path, _, body in _FILES.findall(text):
            cut = _CUT.search(body)
            size = format_bytes(len(body.encode())) if cut is None else f"cut: {cut[1]}"
            rows.append((path, f"{size}, about {count(text_tokens(body), 'token')}"))
    return rows


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


def _file_names(paths: Sequence[str]) -> str:
    if not paths:
        return "instructions"
    names = ", ".join(dict.fromkeys(Path(path).name for path in paths))
    return f"{names} ({count(len(paths), 'file')})"


def spec_tokens(spec: ToolSpec) -> int:
    """Tokens of one tool description."""
    return frame_tokens("", [spec]) - frame_tokens("", [])


def share_text(tokens: int, window: int) -> str:
    """A share of the window."""
    share = 100 * tokens / max(window, 1)
    return f"{share:.0f}%" if share >= 1 or not tokens else "under 1%"


def advice(session: Session, window: int) -> str:
    """When the context will be compacted."""
    settings = session.compaction.settings
    if not session.compaction.enabled or settings.strategy == "off":
        return "Automatic compaction is off; use /compact."
    setup = session.setup()
    limit = limit_tokens(settings, window, frame_tokens(setup.system, setup.specs()))
    return f"Compacts automatically above about {limit:,} tokens; /compact or /shake does it now."
