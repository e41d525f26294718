"""Completion values for command arguments: models, providers and sessions, loaded on first use."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tau.base.errors import TauError
from tau.base.late import late

if TYPE_CHECKING:
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display, Tasks
    from tau.modes.interactive.selectors.model_list import ModelList as KnownModels

appearance = late("tau.modes.interactive.themes.appearance")
model_list = late("tau.modes.interactive.selectors.model_list")
labels = late("tau.coding.session_index.labels")
session_actions = late("tau.modes.interactive.selectors.session_actions")

FRESH_S = 10.0
MAX_SESSIONS = 200
_Choice: TypeAlias = tuple[str, str]
"""What can be typed, and what it means."""


class ArgumentValues:
    """Caches each list for a few seconds. Loading is slow, so it runs in the background."""

    def __init__(self, display: "Display", current: "CurrentSession", tasks: "Tasks") -> None:
        self._display = display
        self._current = current
        self._tasks = tasks
        self._found: dict[str, tuple[float, Sequence[_Choice]]] = {}
        self._looking: set[str] = set()

    def models(self) -> Sequence[_Choice]:
        """As `provider/id`, usable ones first."""
        return self._get("models", self._read_models)

    def providers(self) -> Sequence[_Choice]:
        return self._get("providers", self._read_providers)

    def sessions(self) -> Sequence[_Choice]:
        """Ids and titles of the folder's other sessions, newest first."""
        current = self._current

        def read() -> Sequence[_Choice]:
            place = session_actions.place_of(current)
            found, _ = session_actions.list_sessions(place, everywhere=False, sort="time", progress=_nobody)
            shown = None if current.session is None else current.session.log.path
            return [
                (one.row.id, f"{one.title}, {labels.age_text(one.row.changed_ms)}")
                for one in found[:MAX_SESSIONS]
                if one.row.path != shown
            ]

        return self._get("sessions", read)

    def themes(self) -> Sequence[_Choice]:
        return [(name, "") for name in appearance.theme_names()]

    def _get(self, kind: str, read: Callable[[], Sequence[_Choice]]) -> Sequence[_Choice]:
        """The cached list; if it is stale, reload it and complete again afterwards."""
        now = self._display.timer.time()
        looked_at, found = self._found.get(kind, (now - 2 * FRESH_S, ()))
        if now - looked_at > FRESH_S and kind not in self._looking:
            self._looking.add(kind)
            self._tasks.start(self._look(kind, read))
        return found

    async def _look(self, kind: str, read: Callable[[], Sequence[_Choice]]) -> None:
        editor = self._display.editor
        asked = editor.text
        found: Sequence[_Choice] = ()
        try:
            found = await asyncio.to_thread(read)
        except TauError:
            pass  # running the command reports the error
        finally:
            self._looking.discard(kind)
        before = self._found.get(kind)
        self._found[kind] = (self._display.timer.time(), found)
        is_news = before is None or before[1] != found
        if is_news and found and editor.text == asked and not editor.completing.at:
            editor.completing.ask_now(lambda: (asked, len(asked)))
            self._display.request_render()

    def _models(self) -> "KnownModels":
        session = self._current.session
        found: KnownModels = model_list.known_models(
            self._current.paths, None if session is None else session.model
        )
        return found

    def _read_models(self) -> Sequence[_Choice]:
        known = self._models()
        rows = sorted(known.catalog.models, key=lambda model: model.provider not in known.usable)
        return [
            (model.key, model.name if model.provider in known.usable else f"{model.name} (no key)")
            for model in rows
        ]

    def _read_providers(self) -> Sequence[_Choice]:
        known = self._models()
        return [
            (id, f"{row.name} (has a key)" if id in known.usable else row.name)
            for id, row in known.catalog.providers.items()
            if not row.local
        ]


def _nobody(done: int, total: int) -> None:
    """Ignore the progress of reading sessions."""
