"""Other models to go on with while one cannot be used, and the way back to it."""

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

COOLDOWN_MS = 5 * 60_000  # where the server names no wait
DEFAULT_ROLE = "default"
ENTRY_TYPE = "model_fallback"

_Resolve = Callable[[str], Awaitable[Model | None]]


def resolver(
    catalog: Catalog, credentials: KeyCredentials, environ: Mapping[str, str], run: Runner
) -> _Resolve:
    """Finds the model that a pattern means among those that can be used here."""

    async def resolve(pattern: str) -> Model | None:
        model = pick_model(catalog, pattern, prefer=credentials.providers_with_keys()).model
        row = catalog.provider(model.provider)
        if row is not None and not row.local and not credentials.available(row.id):
            return None
        return replace(model, headers=await resolve_headers(model.headers, environ, run))

    return resolve


class Fallbacks:
    """The chains of the setting retry.fallbackChains, and which model is being stood in for.

    `resolve` finds the model of a pattern, None where there is none or its key is missing. `use_model` makes
    it the session's. `role_of` names the role that a model plays; its chain counts if the model has none.
    What is stood in for is written to the log too, so that a resumed session finds its way back.
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
        self._first: Model | None = None  # the one that is being stood in for
        self._substitute: Model | None = None
        self._role = ""
        self._unproven = False
        self._resting: dict[str, int] = {}  # until when a model is left alone
        self._tried: set[str] = set()  # since the last answer
        self._recalled = False

    @property
    def _on(self) -> bool:
        return self._retry.enabled and self._retry.model_fallback

    async def apply(self, error: ProviderError) -> bool:
        """Go on with the next model of the chain; False where there is none left."""
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
        self._emit(Notice("warning", f"{sentence(str(error))} Going on with {other.key}."))
        return True

    def answered(self) -> None:
        """The model in use has answered."""
        self._tried.clear()
        if self._unproven and self._substitute is not None:
            self._unproven = False
            self._emit(FallbackSucceeded(self._substitute.key, self._role))

    async def before_prompt(self) -> None:
        """Return to the first model once it has rested; the user's own choice of a model ends all this."""
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
        """The user has named a model, perhaps the very one that stands in: there is nothing to return to."""
        if self._substitute is not None:
            self._log.append(CustomEntry(custom_type=ENTRY_TYPE, data={}))
        self._forget()
        self._resting.clear()
        self._recalled = True

    def _forget(self) -> None:
        self._first = self._substitute = None
        self._unproven = False

    def _chain(self, model: Model) -> tuple[str, list[str]]:
        """The name of the chain and its patterns: the model's own, one whose pattern fits, its role's."""
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
        """What an earlier life of this session stood in for, if it still does."""
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
