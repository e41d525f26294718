"""The status line in the editor's upper border: model, folder, context usage."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.events import (
    AgentEnd,
    AgentEvent,
    Compacted,
    MessageEnd,
    QueueChanged,
    ThinkingLevelChanged,
    TurnEnd,
)
from tau.base import log
from tau.base.text import clean_line
from tau.coding.session.session import Session
from tau.config.interface_settings import Segment
from tau.modes.interactive.status.git_branch import GitCheckout, branch_of, is_dirty
from tau.modes.interactive.status.segments import (
    GIVE_WAY,
    PRESETS,
    SEGMENTS,
    SEPARATORS,
    SegmentText,
    StatusFacts,
)

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display, Tasks

_TELLING = (TurnEnd, AgentEnd, MessageEnd, Compacted, QueueChanged, ThinkingLevelChanged)


class StatusLine:
    """Redrawn when something it shows changes; no timer runs."""

    def __init__(self, display: "Display", current: "CurrentSession", tasks: "Tasks") -> None:
        self._display = display
        self._current = current
        self._tasks = tasks
        self._begun_s = time.monotonic()
        self._checkout = GitCheckout()
        self._home = str(Path.home())
        self._stop: Callable[[], None] = _nothing

    def attach(self, session: Session) -> None:
        self._checkout = GitCheckout(branch_of(session.cwd))
        self._stop = session.subscribe(self._hear)
        self.refresh()
        self._tasks.start(self._look(session))

    def detach(self) -> None:
        self._stop()
        self._stop = _nothing

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
        shown, *shorter = ((self._line(left, kept), self._line(right, kept)) for kept in _narrower(texts))
        display.editor.set_border_text(*shown, shorter)
        display.request_render()

    def _text(self, name: Segment, facts: StatusFacts) -> str:
        part = _part(name, facts)
        return self._display.theme[part.token](clean_line(part.text)) if part.text else ""

    def _line(self, names: Sequence[Segment], texts: Mapping[Segment, str]) -> str:
        theme = self._display.theme
        wanted = SEPARATORS[self._current.settings.status_line.separator]
        separator = theme["dim"](
            wanted if wanted.isascii() or not theme.symbols.ellipsis.isascii() else " | "
        )
        return separator.join(text for name in names if (text := texts.get(name)))

    def _hear(self, event: AgentEvent) -> None:
        if isinstance(event, _TELLING):
            self.refresh()
        if isinstance(event, AgentEnd) and self._current.session is not None:
            self._tasks.start(self._look(self._current.session))

    async def _look(self, session: Session) -> None:
        """Ask git, and refresh if something changed."""
        branch = branch_of(session.cwd)
        found = GitCheckout(branch, bool(branch) and await is_dirty(session.cwd))
        if found != self._checkout and session is self._current.session:
            self._checkout = found
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
    for name in GIVE_WAY:
        if name in kept:
            kept = {other: text for other, text in kept.items() if other != name}
            yield kept


def _nothing() -> None:
    """There is no session to unsubscribe from."""
