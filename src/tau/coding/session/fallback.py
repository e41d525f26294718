"""Fallback models to use while the first one fails, and the return to it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct
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


class Fallbacks(Struct):
    """The chains of the setting retry.fallbackChains, and the model currently replaced.

    `resolve` finds a model by pattern; None if there is none or its key is missing. `roles` names the roles
    of a model. `use_model` switches the session to it. The replaced model is also logged, so that a resumed
    session can return to it.
    """

    retry: RetrySettings
    log: SessionLog
    model: Callable[[], Model]
    use_model: Callable[[Model], None]
    emit: Callable[[AgentEvent], None]
    resolve: _Resolve
    roles: Callable[[Model], Sequence[str]]
    clock_ms: Callable[[], int] = now_ms
    _first: Model | None = None  # the model being replaced
    _substitute: Model | None = None
    _role: str = ""
    _unproven: bool = False
    _blocked_until: dict[str, int] = {}  # until when not to use a model
    _tried: set[str] = set()  # since the last answer
    _restored: bool = False

    @property
    def _enabled(self) -> bool:
        return self.retry.enabled and self.retry.model_fallback

    async def apply(self, error: ProviderError) -> bool:
        """Switch to the next model of the chain; False if none is left."""
        failed = self.model()
        if not self._enabled:
            return False
        if self._substitute is None or self._substitute.key != failed.key:
            self._first, self._substitute = failed, None
        wait_ms = COOLDOWN_MS if error.retry_after is None else int(error.retry_after * 1000)
        self._blocked_until[failed.key] = self.clock_ms() + wait_ms
        self._tried.add(failed.key)
        first = self._first or failed
        self._role, chain = self._chain(first)
        for pattern in chain:
            if (other := await self._usable(pattern)) is not None:
                break
        else:
            return False
        self._tried.add(other.key)
        self._substitute, self._unproven = other, True
        self.use_model(other)
        self.log.append(
            CustomEntry(
                custom_type=ENTRY_TYPE,
                data={"from": first.key, "to": other.key, "until": self._blocked_until[first.key]},
            )
        )
        self.emit(FallbackApplied(failed.key, other.key, self._role))
        self.emit(Notice("warning", f"{sentence(str(error))} Switching to {other.key}."))
        return True

    def on_answer(self) -> None:
        """Note that the current model has answered."""
        self._tried.clear()
        if self._unproven and self._substitute is not None:
            self._unproven = False
            self.emit(FallbackSucceeded(self._substitute.key, self._role))

    async def before_prompt(self) -> None:
        """Return to the first model after its cooldown, unless the user has chosen another model."""
        self._tried.clear()
        if not self._enabled:
            return
        if not self._restored:
            self._restored = True
            await self._restore()
        first, substitute = self._first, self._substitute
        if first is None or substitute is None:
            return
        if self.model().key != substitute.key:
            self._reset()
            return
        available = self.clock_ms() >= self._blocked_until.get(first.key, 0)
        if self.retry.fallback_revert_policy == "cooldown-expiry" and available:
            self._reset()
            self.use_model(first)
            self.emit(Notice("info", f"Back to {first.key}."))

    def on_model_chosen(self) -> None:
        """Stay on the model that the user chose, even if it is the fallback."""
        if self._substitute is not None:
            self.log.append(CustomEntry(custom_type=ENTRY_TYPE, data={}))
        self._reset()
        self._blocked_until.clear()
        self._restored = True

    def _reset(self) -> None:
        self._first = self._substitute = None
        self._unproven = False

    def _chain(self, model: Model) -> tuple[str, list[str]]:
        """The chain's name and patterns: the model's own, one that matches it, its role's, or the default."""
        chains = self.retry.fallback_chains
        names = [name for name in (model.key, model.id) if name in chains]
        names += [name for name in chains if fnmatchcase(model.key, name) or fnmatchcase(model.id, name)]
        names += [role for role in self.roles(model) if role in chains]
        name = names[0] if names else DEFAULT_ROLE
        return name, chains.get(name, [])

    async def _usable(self, pattern: str) -> Model | None:
        try:
            model = await self.resolve(pattern)
        except (UsageError, ConfigError):
            return None
        if model is None or model.key in self._tried:
            return None
        return model if self.clock_ms() >= self._blocked_until.get(model.key, 0) else None

    async def _restore(self) -> None:
        """Restore the replaced model from the log, if its fallback is still in use."""
        for node in reversed(self.log.branch()):
            if node.type != "custom":
                continue
            entry = self.log.decode(node)
            if not isinstance(entry, CustomEntry) or entry.custom_type != ENTRY_TYPE:
                continue
            data = entry.data if isinstance(entry.data, dict) else {}
            current, until = self.model(), data.get("until")
            if data.get("to") == current.key and isinstance(until, int):
                first = await self._usable(str(data.get("from")))
                if first is not None and first.key == data.get("from"):
                    self._first, self._substitute = first, current
                    self._blocked_until[first.key] = until
            return
