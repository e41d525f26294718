"""A session as one HTML page: all branches, readable without scripts, safe to open."""

from collections.abc import Iterator
from html import escape

from msgspec import Struct

from tau.ai.wire import AssistantMessage, ToolCall, ToolResultMessage
from tau.base.clock import iso, now_ms
from tau.base.secrets import masked_text
from tau.base.version import VERSION
from tau.coding.export.entry_html import EntryView, note, outline_entry, render_entry
from tau.coding.export.exported_session import CONTENT_TYPES, BranchSegment, ExportedSession
from tau.coding.export.page import (
    data_file,
    fact,
    money_text,
    page_end,
    page_start,
    percent_text,
    tokens_text,
    usage_table,
)
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.stats import UsageStats
from tau.coding.session.tree_rows import labels_of

OUTLINE_ROWS = 2_000
OUTLINE_LEVELS = 6
FORK_LINKS = 20


class _Row(Struct, frozen=True):
    anchor: str
    text: str
    is_note: bool


def html_page(session: ExportedSession, stats: UsageStats) -> Iterator[str]:
    """The page in chunks. The last one reports how many secrets were masked."""
    return _Page(session, stats).pieces()


class _Page:
    def __init__(self, session: ExportedSession, stats: UsageStats) -> None:
        self._session = session
        self._stats = stats
        self._segments = session.segments()
        self._labels = {id: session.text(label) for id, label in labels_of(session.log).items()}
        self._rows: dict[int, list[_Row]] = {}  # outline rows by segment
        self._anchors = 0
        self._answering = False  # whether the previous entry is an answer too

    def pieces(self) -> Iterator[str]:
        title = self._session.title()
        script = data_file("page.js")
        yield page_start(title, script=script)
        yield "<main>\n"
        yield self._masthead(title)
        if not self._segments:
            yield '<p class="left-out">This session is empty.</p>\n'
        for segment in self._segments:
            yield from self._segment(segment)
        yield self._end()
        yield "</main>\n"
        yield from self._outline()
        yield page_end(script=script)

    def _masthead(self, title: str) -> str:
        log, summary, models = self._session.log, self._stats.summary(), self._stats.models
        tokens = summary.tokens
        sent = tokens.input + tokens.cache_read + tokens.cache_write
        names = [self._session.text(part.model) for part in models if part.model]
        more = f"and {len(names) - 1} more" if len(names) > 1 else ""
        total = summary.user_messages + summary.assistant_messages
        facts = [
            fact("Started", log.header.timestamp[:10], _span(self._session)),
            fact("Model", names[0] if names else "none", more),
            fact(
                "Messages",
                f"{total:,}",
                f"{summary.user_messages:,} yours, {summary.tool_calls:,} tool calls",
            ),
            fact(
                "Tokens",
                tokens_text(tokens.total),
                f"{tokens_text(sent)} in, {tokens_text(tokens.output)} out",
            ),
            fact("Cost", money_text(summary.cost), f"{percent_text(summary.cache_hit_rate)} cache hits"),
        ]
        rows = [
            (self._session.text(f"{part.provider}/{part.model}"), part.requests, part.usage)
            for part in models
        ]
        usage = (
            f'<details class="spent"><summary>Usage by model</summary>{usage_table("model", rows)}</details>'
        )
        return (
            f'<header class="masthead">\n<h1>{escape(title)}</h1>\n'
            f'<p class="where">{escape(self._session.text(log.header.cwd))}</p>\n'
            f'<dl class="facts">{"".join(facts)}</dl>\n{usage if rows else ""}\n'
            '<div class="tools" hidden><button type="button">Expand all</button>'
            '<button type="button">Light or dark</button></div>\n</header>\n'
        )

    def _segment(self, segment: BranchSegment) -> Iterator[str]:
        parent = f' data-parent="s{segment.parent}"' if segment.parent >= 0 else ""
        hidden = "" if segment.active else " hidden"
        yield f'<section class="segment" id="s{segment.index}"{parent}{hidden}>\n'
        self._answering = False
        if len(segment.siblings) > 1:
            yield self._fork(segment)
        yield from self._entries(segment)
        yield "</section>\n"

    def _fork(self, segment: BranchSegment) -> str:
        """Links to sibling branches; the script marks the current one."""
        links = []
        for number, index in enumerate(segment.siblings[:FORK_LINKS], 1):
            current = ' aria-current="true"' if index == segment.index else ""
            links.append(f'<a href="#s{index}"{current}>{number}</a>')
        more = len(segment.siblings) - FORK_LINKS
        rest = f" and {more} more in the outline" if more > 0 else ""
        return (
            f'<nav class="fork"><span>{len(segment.siblings)} branches</span>{"".join(links)}{rest}</nav>\n'
        )

    def _entries(self, segment: BranchSegment) -> Iterator[str]:
        """Pair calls with their results, which are separate entries."""
        waiting: tuple[EntryNode, s.KnownEntry] | None = None
        results: dict[str, ToolResultMessage] = {}
        notes: list[str] = []
        for node in segment.nodes:
            if self._anchors == 0 and waiting is None and node.type == "model_change":
                continue  # the page header names the first model
            entry = self._session.entry(node)
            if entry is None:
                notes.append(note(f"An entry of type {node.type}, unknown to this version"))
                continue
            result = _result(entry)
            if waiting is not None and result is not None and result.tool_call_id in _calls(waiting[1]):
                results[result.tool_call_id] = result
                continue
            if waiting is not None and node.type not in CONTENT_TYPES:
                notes += render_entry(entry, EntryView())
                continue
            if waiting is not None:
                yield self._render(segment, *waiting, results)
                waiting, results = None, {}
            yield from notes
            notes = []
            if _calls(entry):
                waiting = (node, entry)
            else:
                yield self._render(segment, node, entry, {})
        if waiting is not None:
            yield self._render(segment, *waiting, results)
        yield from notes

    def _render(
        self,
        segment: BranchSegment,
        node: EntryNode,
        entry: s.KnownEntry,
        results: dict[str, ToolResultMessage],
    ) -> str:
        self._anchors += 1
        anchor = f"e{self._anchors}"
        label = self._labels.get(node.id, "")
        is_answer = isinstance(entry, s.MessageEntry) and isinstance(entry.message, AssistantMessage)
        view = EntryView(anchor=anchor, label=label, results=results, continued=is_answer and self._answering)
        rendered = "".join(render_entry(entry, view))
        self._answering = is_answer or (self._answering and not rendered)
        rows = self._rows.setdefault(segment.index, [])
        outline = outline_entry(entry)
        if rendered and outline is not None:
            text, begins_turn = outline
            if begins_turn or label or not rows:
                rows.append(_Row(anchor, f"{label}: {text}" if label else text, not begins_turn))
        return rendered

    def _outline(self) -> Iterator[str]:
        """The start of each turn, branch by branch."""
        yield '<nav class="outline" id="outline" aria-label="Outline"><h2>Outline</h2>\n'
        children: dict[int, list[BranchSegment]] = {}
        for segment in self._segments:
            children.setdefault(segment.parent, []).append(segment)
        stack = [(segment, 0) for segment in reversed(children.get(-1, []))]
        left = OUTLINE_ROWS
        dropped = 0
        while stack:
            segment, above = stack.pop()
            depth = min(above + (len(segment.siblings) > 1), OUTLINE_LEVELS)
            for number, row in enumerate(self._rows.get(segment.index, ())):
                if left <= 0:
                    dropped += 1
                    continue
                left -= 1
                kinds = [f"d{depth}"] * bool(depth) + ["on"] * segment.active + ["aside"] * row.is_note
                kinds += ["first"] * (number == 0 and len(segment.siblings) > 1)
                yield (
                    f'<a class="{" ".join(kinds)}" data-segment="s{segment.index}" href="#{row.anchor}">'
                    f"{escape(row.text)}</a>\n"
                )
            stack += [(child, depth) for child in reversed(children.get(segment.index, []))]
        if dropped:
            yield f'<p class="left-out">{dropped:,} more are left out here.</p>\n'
        yield "</nav>\n"

    def _end(self) -> str:
        masked = masked_text(self._session.masker)
        return f'<footer class="end">Exported by tau {VERSION} on {_when(iso(now_ms()))}. {masked}</footer>\n'


def _result(entry: s.KnownEntry) -> ToolResultMessage | None:
    message = entry.message if isinstance(entry, s.MessageEntry) else None
    return message if isinstance(message, ToolResultMessage) else None


def _calls(entry: s.KnownEntry) -> set[str]:
    message = entry.message if isinstance(entry, s.MessageEntry) else None
    if not isinstance(message, AssistantMessage):
        return set()
    return {part.id for part in message.content if isinstance(part, ToolCall)}


def _when(timestamp: str) -> str:
    return f"{timestamp[:10]} {timestamp[11:16]} UTC" if len(timestamp) >= 16 else timestamp


def _span(session: ExportedSession) -> str:
    start = session.log.header.timestamp
    nodes = list(session.log.nodes())
    last = session.value(nodes[-1]) if nodes else None
    end = last.get("timestamp") if isinstance(last, dict) else None
    if not isinstance(end, str) or len(end) < 16 or len(start) < 16:
        return ""
    return f"{start[11:16]} to {end[11:16] if end[:10] == start[:10] else end[:10]} UTC"
