"""Fallback models to use while the first one fails, and the return to it."""

from collections.abc import Awaitable, Callable, Mapping
from fnmatch import fnmatchcase

from msgspec.structs import replace

from tau.agent.events import AgentEvent, FallbackApplied, FallbackSucceeded, Notice
from tau.ai.auth import resolve_headers
from tau.ai.catalog import Catalog, pick_model
from tau.ai.model import Model
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, ProviderError, UsageError
from tau.base.run import Runner
from tau.base.text import sentence
from tau.coding.session.entries import CustomEntry
from tau.coding.session.storage.log import SessionLog
from tau.config.credentials import KeyCredentials
from tau.config.settings import RetrySettings

COOLDOWN_MS = 5 * 60_000  # if the server names no delay
DEFAULT_ROLE = "default"
ENTRY_TYPE = "model_fallback"

_Resolve = Callable[[str], Awaitable[Model | None]]


def make_resolver(
    catalog: Catalog, credentials: KeyCredentials, environ: Mapping[str, str], run: Runner
) -> _Resolve:
    """Make a function that finds the usable model for a pattern."""

    async def resolve(pattern: str) -> Model | None:
        model = pick_model(catalog, pattern, prefer=credentials.providers_with_keys()).model
        row = catalog.provider(model.provider)
        if row is not None and not row.local and not credentials.available(row.id):
            return None
        return replace(model, headers=await resolve_headers(model.headers, environ, run))

    return resolve


class Fallbacks:
    """The chains of the setting retry.fallbackChains, and the model currently replaced.

    `resolve` finds a model by pattern; None if there is none or its key is missing. `use_model` switches the
    session to it. `role_of` returns a model's role, whose chain applies if the model has none.
    The replaced model is also logged, so that a resumed session can return to it.
    """

    def __init__(
        self,
        retry: RetrySettings,
        log: SessionLog,
        *,
        model: Callable[[], Model],
        use_model: Callable[[Model], None],
        emit: Callable[[AgentEvent], None],
        resolve: _Resolve,
        role_of: Callable[[Model], str] = lambda model: DEFAULT_ROLE,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._retry = retry
        self._log = log
        self._model = model
        self._use_model = use_model
        self._emit = emit
        self._resolve = resolve
        self._role_of = role_of
        self._clock_ms = clock_ms
        self._first: Model | None = None  # the model being replaced
        self._substitute: Model | None = None
        self._role = ""
        self._unproven = False
        self._resting: dict[str, int] = {}  # until when not to use a model
        self._tried: set[str] = set()  # since the last answer
        self._recalled = False

    @property
    def _on(self) -> bool:
        return self._retry.enabled and self._retry.model_fallback

    async def apply(self, error: ProviderError) -> bool:
        """Switch to the next model of the chain; False if none is left."""
        failed = self._model()
        if not self._on:
            return False
        if self._substitute is None or self._substitute.key != failed.key:
            self._first, self._substitute = failed, None
        wait_ms = COOLDOWN_MS if error.retry_after is None else int(error.retry_after * 1000)
        self._resting[failed.key] = self._clock_ms() + wait_ms
        self._tried.add(failed.key)
        first = self._first or failed
        self._role, chain = self._chain(first)
        for pattern in chain:
            if (other := await self._usable(pattern)) is not None:
                break
        else:
            if self._substitute is None:
                self._first = None
            return False
        self._tried.add(other.key)
        self._substitute, self._unproven = other, True
        self._use_model(other)
        self._log.append(
            CustomEntry(
                custom_type=ENTRY_TYPE,
                data={"from": first.key, "to": other.key, "until": self._resting[first.key]},
            )
        )
        self._emit(FallbackApplied(failed.key, other.key, self._role))
        self._emit(Notice("warning", f"{sentence(str(error))} Switching to {other.key}."))
        return True

    def answered(self) -> None:
        """Note that the current model has answered."""
        self._tried.clear()
        if self._unproven and self._substitute is not None:
            self._unproven = False
            self._emit(FallbackSucceeded(self._substitute.key, self._role))

    async def before_prompt(self) -> None:
        """Return to the first model after its cooldown, unless the user has chosen another model."""
        self._tried.clear()
        if not self._on:
            return
        if not self._recalled:
            self._recalled = True
            await self._recall()
        first, substitute = self._first, self._substitute
        if first is None or substitute is None:
            return
        if self._model().key != substitute.key:
            self._forget()
            return
        rested = self._clock_ms() >= self._resting.get(first.key, 0)
        if self._retry.fallback_revert_policy == "cooldown-expiry" and rested:
            self._forget()
            self._use_model(first)
            self._emit(Notice("info", f"Back to {first.key}."))

    def user_chose(self) -> None:
        """Stay on the model that the user chose, even if it is the fallback."""
        if self._substitute is not None:
            self._log.append(CustomEntry(custom_type=ENTRY_TYPE, data={}))
        self._forget()
        self._resting.clear()
        self._recalled = True

    def _forget(self) -> None:
        self._first = self._substitute = None
        self._unproven = False

    def _chain(self, model: Model) -> tuple[str, list[str]]:
        """The chain's name and patterns: the model's own, one whose pattern matches, or its role's."""
        chains = self._retry.fallback_chains
        names = [name for name in (model.key, model.id) if name in chains]
        names += [name for name in chains if fnmatchcase(model.key, name) or fnmatchcase(model.id, name)]
        names += [name for name in (self._role_of(model), DEFAULT_ROLE) if name in chains]
        return (names[0], chains[names[0]]) if names else (DEFAULT_ROLE, [])

    async def _usable(self, pattern: str) -> Model | None:
        try:
            model = await self._resolve(pattern)
        except (UsageError, ConfigError):
            return None
        if model is None or model.key in self._tried:
            return None
        return model if self._clock_ms() >= self._resting.get(model.key, 0) else None

    async def _recall(self) -> None:
        """Restore the replaced model from the log, if its fallback is still in use."""
        for node in reversed(self._log.branch()):
            if node.type != "custom":
                continue
            entry = self._log.decode(node)
            if not isinstance(entry, CustomEntry) or entry.custom_type != ENTRY_TYPE:
                continue
            data = entry.data if isinstance(entry.data, dict) else {}
            current, until = self._model(), data.get("until")
            if data.get("to") == current.key and isinstance(until, int):
                first = await self._usable(str(data.get("from")))
                if first is not None and first.key == data.get("from"):
                    self._first, self._substitute = first, current
                    self._resting[first.key] = until
            return
