"""Keys in their order: the flag, `auth.json`, the environment, `models.json`."""

import asyncio
from collections.abc import Mapping

from tau.ai.auth import is_variable, resolve_value
from tau.ai.catalog import Catalog
from tau.base.errors import UsageError
from tau.base.run import Runner
from tau.config.auth_file import AuthFile, check_sendable, stored_form


class KeyCredentials:
    """Implements `Credentials` for keys. `flags` and `models` hold one value per provider.

    A value is a literal, the name of a variable or a `!command`; what a variable holds is taken as it is.
    """

    def __init__(
        self,
        catalog: Catalog,
        auth: AuthFile,
        run: Runner,
        environ: Mapping[str, str],
        *,
        flags: Mapping[str, str] | None = None,
        models: Mapping[str, str] | None = None,
    ) -> None:
        self._catalog = catalog
        self._auth = auth
        self._run = run
        self._environ = environ
        self._flags = {} if flags is None else flags
        self._models = models or {}
        self._lock = asyncio.Lock()  # a command is run once, however many requests want its key

    async def get(self, provider: str) -> str | None:
        async with self._lock:
            return await self._find(provider, self._auth.get(provider))

    async def refresh(self, provider: str, rejected: str) -> str | None:
        """The key that is there now, if it is not the one that was refused."""
        async with self._lock:
            key = await self._find(provider, self._auth.get(provider))
            if key in (None, rejected):
                stored = await asyncio.to_thread(self._auth.get_settled, provider)
                key = await self._find(provider, stored, fresh=True)
            return key if key != rejected else None

    def available(self, provider: str) -> bool:
        """Whether a key is likely to be there; runs no command."""
        values = (self._flags.get(provider), self._auth.get(provider), self._models.get(provider))
        if any(value and not self._unset(value) for value in values):
            return True
        return any(self._environ.get(variable, "").strip() for variable in self._variables(provider))

    def providers_with_keys(self) -> list[str]:
        """In the order of the table."""
        return [provider for provider in self._catalog.providers if self.available(provider)]

    def where_to_put_key(self, provider: str) -> str:
        """What to say when there is no key: where one can stand, and what works without."""
        row = self._catalog.providers.get(provider)
        variables = self._variables(provider)
        ways = [f"set {' or '.join(variables)}"] if variables else []
        ways.append(f"put {stored_form(provider)} into {self._auth.path}")
        unset = [
            f" {place} names the variable {value}, which is not set."
            for place, value in (
                (str(self._auth.path), self._auth.get(provider)),
                ("models.json", self._models.get(provider)),
            )
            if value and self._unset(value)
        ]
        return (
            f"There is no key for {row.name if row else provider}: {', or '.join(ways)}.{''.join(unset)}"
            " Without a key, a model server on this machine (Ollama, LM Studio, llama.cpp, vLLM) is found by"
            " itself, and --provider demo answers with the offline demo model."
        )

    async def _find(self, provider: str, stored: str | None, *, fresh: bool = False) -> str | None:
        if flag := self._flags.get(provider):
            key = await resolve_value(flag, self._environ, self._run, fresh=fresh)
            if key is None:
                raise UsageError(f"--api-key names the variable {flag}, which is not set.")
            return check_sendable(key, "--api-key")
        if stored and (key := await resolve_value(stored, self._environ, self._run, fresh=fresh)):
            return check_sendable(key, str(self._auth.path))
        for variable in self._variables(provider):
            if key := self._environ.get(variable, "").strip():
                return check_sendable(key, variable)
        configured = self._models.get(provider)
        if configured and (key := await resolve_value(configured, self._environ, self._run, fresh=fresh)):
            return check_sendable(key, "models.json")
        return None

    def _variables(self, provider: str) -> list[str]:
        row = self._catalog.providers.get(provider)
        return row.key_variables if row else []

    def _unset(self, value: str) -> bool:
        return is_variable(value.strip()) and not self._environ.get(value.strip(), "").strip()
