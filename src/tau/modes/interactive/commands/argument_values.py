"""Completion values for command arguments: models, providers and sessions, loaded on first use."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display, Tasks

appearance = late("tau.modes.interactive.themes.appearance")
model_list = late("tau.modes.model_list")
review_targets = late("tau.modes.review_targets")
labels = late("tau.coding.session_index.labels")
session_actions = late("tau.modes.interactive.selectors.session_actions")

FRESH_S = 10.0
MAX_SESSIONS = 200
_Choice: TypeAlias = tuple[str, str]
"""What can be typed, and what it means."""


class ArgumentValues:
    """Caches each list for a few seconds. Loading is slow, so it runs in the background."""

    def __init__(self, display: Display, current: CurrentSession, tasks: Tasks) -> None:
        self._display = display
        self._current = current
        self._tasks = tasks
        self._cache: dict[str, tuple[float, Sequence[_Choice]]] = {}
        self._loading: set[str] = set()

    def models(self) -> Sequence[_Choice]:
        """As `provider/id`, usable ones first."""
        return self._get("models", self._read_models)

    def providers(self) -> Sequence[_Choice]:
        return self._get("providers", self._read_providers)

    def sessions(self) -> Sequence[_Choice]:
        """Ids and titles of the folder's other sessions, newest first."""
        current = self._current

        def read() -> Sequence[_Choice]:
            location = session_actions.location_of(current)
            items, _ = session_actions.list_sessions(location, everywhere=False, sort="time")
            shown = None if current.session is None else current.session.log.path
            return [
                (item.row.id, f"{item.title}, {labels.age_text(item.row.changed_ms)}")
                for item in items[:MAX_SESSIONS]
                if item.row.path != shown
            ]

        return self._get("sessions", read)

    def review_targets(self) -> Sequence[_Choice]:
        """Branches and recent commits."""
        return self._get_async("review targets", lambda: review_targets.list_targets(self._current.cwd))

    def themes(self) -> Sequence[_Choice]:
        return [(name, "") for name in appearance.theme_names()]

    def _get(self, kind: str, read: Callable[[], Sequence[_Choice]]) -> Sequence[_Choice]:
        return self._get_async(kind, lambda: asyncio.to_thread(read))

    def _get_async(self, kind: str, read: Callable[[], Awaitable[Sequence[_Choice]]]) -> Sequence[_Choice]:
        """The cached list; if it is stale, reload it and complete again afterwards."""
        now = self._display.timer.time()
        loaded_at, choices = self._cache.get(kind, (now - 2 * FRESH_S, ()))
        if now - loaded_at > FRESH_S and kind not in self._loading:
            self._loading.add(kind)
            self._tasks.start(self._load(kind, read))
        return choices

    async def _load(self, kind: str, read: Callable[[], Awaitable[Sequence[_Choice]]]) -> None:
        editor = self._display.editor
        asked = editor.text
        choices: Sequence[_Choice] = ()
        try:
            choices = await read()
        except TauError:
            pass  # running the command reports the error
        finally:
            self._loading.discard(kind)
        before = self._cache.get(kind)
        self._cache[kind] = (self._display.timer.time(), choices)
        is_news = before is None or before[1] != choices
        if is_news and choices and editor.text == asked and not editor.completing.at:
            editor.completing.ask_now(lambda: (asked, len(asked)))
            self._display.request_render()

    def _models(self) -> "model_list.ModelList":
        session = self._current.session
        return model_list.known_models(self._current.paths, None if session is None else session.model)

    def _read_models(self) -> Sequence[_Choice]:
        models = self._models()
        rows = sorted(models.catalog.models, key=lambda model: model.provider not in models.usable)
        return [
            (model.key, model.name if model.provider in models.usable else f"{model.name} (no key)")
            for model in rows
        ]

    def _read_providers(self) -> Sequence[_Choice]:
        models = self._models()
        return [
            (id, f"{row.name} (has a key)" if id in models.usable else row.name)
            for id, row in models.catalog.providers.items()
            if not row.local
        ]
