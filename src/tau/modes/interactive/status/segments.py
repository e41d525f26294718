"""The segments of the status line: each turns session state into a few words and a theme token."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tau.base.late import late
from tau.base.text import shortened
from tau.coding.session.session import Session
from tau.coding.session.stats import cache_hit_rate
from tau.config.interface_settings import Segment
from tau.modes.interactive.status.git_branch import GitCheckout

socket = late("socket")

FULL_PERCENT = 90
PATH_CHARS = 32
NAME_CHARS = 32
FILLING_PERCENT = 70


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
    return f"{round(count / 1000)}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def elapsed(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _model(facts: StatusFacts) -> SegmentText:
    return SegmentText(facts.session.model.id, "statusModel")


def _thinking(facts: StatusFacts) -> SegmentText:
    session = facts.session
    return SegmentText(f"thinking {session.thinking}" if session.model.reasoning else "")


def _mode(facts: StatusFacts) -> SegmentText:
    return SegmentText("plan mode", "planMode") if facts.session.plan.on else SegmentText("")


def _path(facts: StatusFacts) -> SegmentText:
    return SegmentText(short_path(facts.session.cwd, facts.home, facts.ellipsis), "statusPath")


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
    running = sum(1 for job in facts.session.jobs.list() if job.status == "running")
    return SegmentText(f"{running} running" if running else "")


def _name(facts: StatusFacts) -> SegmentText:
    name = facts.session.names.name or ""
    return SegmentText(
        name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1].rstrip()}{facts.ellipsis}"
    )


SEGMENTS: dict[Segment, Callable[[StatusFacts], SegmentText]] = {
    "model": _model,
    "thinking": _thinking,
    "mode": _mode,
    "path": _path,
    "git": _git,
    "contextPercent": _context_percent,
    "contextTokens": _context_tokens,
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
    "queue": _queue,
    "host": lambda facts: SegmentText(socket.gethostname()),
}

Preset = tuple[tuple[Segment, ...], tuple[Segment, ...]]
PRESETS: dict[str, Preset] = {
    "default": (
        ("model", "thinking", "mode", "session"),
        ("contextPercent", "cost", "jobs", "git", "path"),
    ),
    "minimal": (("model", "mode"), ("contextPercent",)),
    "compact": (("model", "mode"), ("contextPercent", "cost", "git")),
    "full": (
        ("model", "thinking", "mode", "session", "queue", "jobs"),
        (
            "tokensIn",
            "tokensOut",
            "cacheRead",
            "cacheHit",
            "contextPercent",
            "cost",
            "elapsed",
            "host",
            "git",
            "path",
        ),
    ),
}
GIVE_WAY: tuple[Segment, ...] = (
    *("host", "elapsed", "time", "cacheWrite", "cacheRead", "cacheHit", "tokensIn", "tokensOut", "session"),
    *("path", "queue", "thinking", "jobs", "git", "cost", "contextTokens"),
)
"""The order in which segments are dropped for lack of room; context usage stays longest."""
SEPARATORS = {"dot": " · ", "pipe": " | ", "slash": " / ", "powerline": " \ue0b1 ", "none": " "}
