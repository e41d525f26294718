"""The status line in the editor's upper border: model, folder, context usage."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tau.agent.events import (
    AgentEnd,
    AgentEvent,
    Compacted,
    JobChanged,
    MessageEnd,
    PermissionsChanged,
    QueueChanged,
    ServersChanged,
    ThinkingLevelChanged,
    TurnEnd,
)
from tau.base import log
from tau.base.clock import now_ms
from tau.base.late import late
from tau.base.text import clean_line, shortened
from tau.coding.session.session import Session
from tau.coding.session.stats import cache_hit_rate
from tau.config.interface_settings import Segment
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display, Tasks
from tau.modes.interactive.status.git_branch import GitCheckout, branch_of, is_dirty
from tau.tui.timer import Handle

if TYPE_CHECKING:
    from tau.coding.task.ports import AgentTeam

socket = late("socket")

AGENTS_S = 0.5
"""How long changes of agents are collected."""
FULL_PERCENT = 90
PATH_CHARS = 32
NAME_CHARS = 32
FILLING_PERCENT = 70
PLAN_PERCENT = 75
Preset = tuple[tuple[Segment, ...], tuple[Segment, ...]]
PRESETS: dict[str, Preset] = {
    "default": (
        ("model", "thinking", "mode", "session", "mcp"),
        ("planLimit", "contextPercent", "cost", "agents", "jobs", "git", "path"),
    ),
    "minimal": (("model", "mode"), ("planLimit", "contextPercent")),
    "compact": (("model", "mode"), ("planLimit", "contextPercent", "cost", "git")),
    "full": (
        ("model", "thinking", "mode", "session", "queue", "agents", "jobs", "mcp"),
        (
            *("tokensIn", "tokensOut", "cacheRead", "cacheHit", "contextPercent", "cost"),
            *("planLimit", "elapsed", "host", "git", "path"),
        ),
    ),
}
DROP_ORDER: tuple[Segment, ...] = (
    *("host", "elapsed", "time", "cacheWrite", "cacheRead", "cacheHit", "tokensIn", "tokensOut", "session"),
    *("mcp", "path", "queue", "thinking", "jobs", "git", "agents", "cost", "contextTokens"),
)
"""The order in which segments are dropped for lack of room; context usage stays longest."""
SEPARATORS = {"dot": " · ", "pipe": " | ", "slash": " / ", "powerline": " \ue0b1 ", "none": " "}
_REFRESH_ON = (
    *(TurnEnd, AgentEnd, MessageEnd, Compacted, JobChanged, QueueChanged),
    *(ThinkingLevelChanged, PermissionsChanged, ServersChanged),
)
_MODE_TOKENS = {"ask": "statusText", "plan": "planMode", "yolo": "warning"}


class StatusFacts(NamedTuple):
    """What the segments are made from, read once per refresh."""

    session: Session
    checkout: GitCheckout
    begun_s: float
    home: str
    linear: bool = False
    ellipsis: str = "…"


class SegmentText(NamedTuple):
    text: str
    token: str = "statusText"


def short_path(cwd: Path, home: str, ellipsis: str = "…") -> str:
    """The folder with `~` for home; only the last parts of a long path."""
    text = str(cwd)
    if home and (text == home or text.startswith(f"{home}/")):
        text = f"~{text[len(home) :]}"
    if len(text) <= PATH_CHARS:
        return text
    kept = text[-PATH_CHARS:]
    return f"{ellipsis}{kept[kept.find('/') :]}" if "/" in kept else shortened(cwd.name, PATH_CHARS)


def tokens(count: int) -> str:
    """1.2k, 15k, 2.3M: precise enough to compare."""
    if count < 1000:
        return str(count)
    if count < 100_000:
        return f"{count / 1000:.1f}k".replace(".0k", "k")
    return f"{round(count / 1000)}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M".replace(".0M", "M")


def elapsed(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _thinking(facts: StatusFacts) -> SegmentText:
    session = facts.session
    return SegmentText(f"thinking {session.thinking}" if session.model.reasoning else "")


def _mode(facts: StatusFacts) -> SegmentText:
    """The permission mode, unless it is the usual one."""
    mode = facts.session.permissions.mode
    return SegmentText(f"{mode} mode", _MODE_TOKENS[mode]) if mode in _MODE_TOKENS else SegmentText("")


def _mcp(facts: StatusFacts) -> SegmentText:
    """The MCP servers that cannot be used now."""
    servers = facts.session.servers
    rows = [] if servers is None else servers.status()
    bad = [row for row in rows if row.state in ("needs login", "failed", "reconnecting", "waiting for trust")]
    if not bad:
        return SegmentText("")
    if len(bad) > 1:
        return SegmentText(f"{len(bad)} MCP servers: see /mcp", "warning")
    return SegmentText(f"{shortened(bad[0].name, NAME_CHARS)} {bad[0].state}", "warning")


def _git(facts: StatusFacts) -> SegmentText:
    branch, dirty = facts.checkout
    if not branch:
        return SegmentText("")
    mark = (", changed" if facts.linear else "*") if dirty else ""
    return SegmentText(f"{branch}{mark}", "statusDirty" if dirty else "statusGit")


def _context_percent(facts: StatusFacts) -> SegmentText:
    usage = facts.session.compaction.usage()
    token = "error" if usage.percent >= FULL_PERCENT else "warning"
    return SegmentText(
        f"{usage.percent:.0f}% of {tokens(usage.window)}",
        "statusText" if usage.percent < FILLING_PERCENT else token,
    )


def _context_tokens(facts: StatusFacts) -> SegmentText:
    usage = facts.session.compaction.usage()
    return SegmentText(f"{tokens(usage.tokens)}/{tokens(usage.window)}")


def _plan_limit(facts: StatusFacts) -> SegmentText:
    """The limit of the plan that is used most, once little is left of it."""
    known = facts.session.models.plan_limits.get(facts.session.model.provider)
    limit = known.worst(now_ms()) if known is not None else None
    if limit is None or limit.used_percent < PLAN_PERCENT:
        return SegmentText("")
    token = "error" if limit.used_percent >= FULL_PERCENT else "warning"
    return SegmentText(f"{limit.name}: {limit.used_percent:.0f}% used", token)


def _counted(sign: str, word: str, count: Callable[[Session], int]) -> Callable[[StatusFacts], SegmentText]:
    def part(facts: StatusFacts) -> SegmentText:
        number = count(facts.session)
        if not number:
            return SegmentText("")
        in_words = facts.linear or (not sign.isascii() and facts.ellipsis.isascii())
        return SegmentText(f"{tokens(number)} {word}" if in_words else f"{sign}{tokens(number)}")

    return part


def _cache_hit(facts: StatusFacts) -> SegmentText:
    rate = cache_hit_rate(facts.session.stats.usage)
    return SegmentText(f"cache {rate:.0%}" if rate else "")


def _cost(facts: StatusFacts) -> SegmentText:
    cost = facts.session.stats.usage.cost.total
    return SegmentText(f"${cost:.2f}" if cost >= 0.01 else f"${cost:.4f}" if cost else "")


def _queue(facts: StatusFacts) -> SegmentText:
    waiting = len(facts.session.queue)
    return SegmentText(f"{waiting} queued" if waiting else "")


def _jobs(facts: StatusFacts) -> SegmentText:
    running = sum(job.running and job.kind != "task" for job in facts.session.jobs.list())
    return SegmentText(f"{running} running" if running else "")


def _agents(facts: StatusFacts) -> SegmentText:
    """Those that work, at any depth; first those that wait for the user."""
    team = None if facts.session.team is None else facts.session.team.made
    rows = [] if team is None else [row for row in team.rows() if row.state in ("queued", "running")]
    if not rows:
        return SegmentText("")
    waiting = sum(row.waiting for row in rows)
    text = f"{len(rows)} agent{'' if len(rows) == 1 else 's'}"
    return SegmentText(f"{text}, {waiting} waiting for you", "warning") if waiting else SegmentText(text)


def _name(facts: StatusFacts) -> SegmentText:
    name = facts.session.names.name or ""
    return SegmentText(
        name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1].rstrip()}{facts.ellipsis}"
    )


SEGMENTS: dict[Segment, Callable[[StatusFacts], SegmentText]] = {
    "model": lambda facts: SegmentText(facts.session.model.id, "statusModel"),
    "thinking": _thinking,
    "mode": _mode,
    "path": lambda facts: SegmentText(
        short_path(facts.session.cwd, facts.home, facts.ellipsis), "statusPath"
    ),
    "git": _git,
    "contextPercent": _context_percent,
    "contextTokens": _context_tokens,
    "planLimit": _plan_limit,
    "tokensIn": _counted("↑", "in", lambda session: session.stats.usage.input),
    "tokensOut": _counted("↓", "out", lambda session: session.stats.usage.output),
    "cacheRead": _counted("R", "from cache", lambda session: session.stats.usage.cache_read),
    "cacheWrite": _counted("W", "to cache", lambda session: session.stats.usage.cache_write),
    "cacheHit": _cache_hit,
    "cost": _cost,
    "time": lambda facts: SegmentText(time.strftime("%H:%M")),
    "elapsed": lambda facts: SegmentText(elapsed(time.monotonic() - facts.begun_s)),
    "session": _name,
    "jobs": _jobs,
    "agents": _agents,
    "queue": _queue,
    "mcp": _mcp,
    "host": lambda facts: SegmentText(socket.gethostname()),
}


class StatusLine:
    """Redrawn when something it shows changes; no timer runs."""

    def __init__(self, display: Display, current: CurrentSession, tasks: Tasks) -> None:
        self._display = display
        self._current = current
        self._tasks = tasks
        self._begun_s = time.monotonic()
        self._checkout = GitCheckout()
        self._home = str(Path.home())
        self._unsubscribe: Callable[[], None] = lambda: None
        self._refreshing: Handle | None = None

    def attach(self, session: Session) -> None:
        self._checkout = GitCheckout(branch_of(session.cwd))
        self._unsubscribe = session.subscribe(self._on_event)
        if session.team is not None:
            session.team.watch(self._watch_agents)
        self.refresh()
        self._tasks.start(self._check_git(session))

    def detach(self) -> None:
        self._unsubscribe()
        self._unsubscribe = lambda: None

    def refresh(self) -> None:
        """Update the line."""
        display, session = self._display, self._current.session
        if session is None:
            return
        chosen = self._current.settings.status_line
        preset = PRESETS.get(chosen.preset)
        left, right = preset or (tuple(chosen.left_segments), tuple(chosen.right_segments))
        theme = display.theme
        facts = StatusFacts(
            session, self._checkout, self._begun_s, self._home, theme.linear, theme.symbols.ellipsis
        )
        texts = {name: self._text(name, facts) for name in (*left, *right)}
        shown, *shorter = ((self._left(left, kept), self._line(right, kept)) for kept in _narrower(texts))
        display.editor.set_border_text(*shown, shorter)
        display.request_render()

    def _text(self, name: Segment, facts: StatusFacts) -> str:
        part = _part(name, facts)
        return self._display.theme[part.token](clean_line(part.text)) if part.text else ""

    def _line(self, names: Sequence[Segment], texts: Mapping[Segment, str]) -> str:
        theme = self._display.theme
        text_between = SEPARATORS[self._current.settings.status_line.separator]
        separator = theme["dim"](
            text_between if text_between.isascii() or not theme.symbols.ellipsis.isascii() else " | "
        )
        return separator.join(text for name in names if (text := texts.get(name)))

    def _left(self, names: Sequence[Segment], texts: Mapping[Segment, str]) -> str:
        """The left part, after the mode of Vim keys."""
        modal, line = self._display.editor.actions.modal, self._line(names, texts)
        return (
            line if modal is None else f"{self._display.theme['accent'](modal.mode.upper())} {line}".rstrip()
        )

    def _watch_agents(self, team: "AgentTeam") -> None:
        """Listens until the team ends with its session."""

        def listen(change: str, id: str, event: object) -> None:
            if change != "event" and self._refreshing is None:
                self._refreshing = self._display.timer.call_later(AGENTS_S, refresh)

        def refresh() -> None:
            self._refreshing = None
            self.refresh()

        team.subscribe(listen)

    def _on_event(self, event: AgentEvent) -> None:
        if isinstance(event, _REFRESH_ON):
            self.refresh()
        if isinstance(event, AgentEnd) and self._current.session is not None:
            self._tasks.start(self._check_git(self._current.session))

    async def _check_git(self, session: Session) -> None:
        """Ask git, and refresh if something changed."""
        branch = branch_of(session.cwd)
        checkout = GitCheckout(branch, bool(branch) and await is_dirty(session.cwd))
        if checkout != self._checkout and session is self._current.session:
            self._checkout = checkout
            self.refresh()


def _part(name: Segment, facts: StatusFacts) -> SegmentText:
    try:
        return SEGMENTS[name](facts)
    except Exception as error:
        log.warning(f"The {name} segment of the status line failed.", error)
        return SegmentText("")


def _narrower(texts: Mapping[Segment, str]) -> Iterator[dict[Segment, str]]:
    """All texts, then ever fewer; the least important go first."""
    kept = {name: text for name, text in texts.items() if text}
    yield kept
    for name in DROP_ORDER:
        if name in kept:
            kept = {other: text for other, text in kept.items() if other != name}
            yield kept
