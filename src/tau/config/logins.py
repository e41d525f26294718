"""Logging in to providers and out of them, for every face of tau."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

from msgspec import Struct

from tau.ai.auth import CLAUDE_PLANS, Login, LoginTokens, is_variable, resolve_value
from tau.ai.catalog import Catalog, Provider, load_catalog
from tau.ai.cloud_credentials import expand_address
from tau.ai.http import HttpTransport
from tau.ai.oauth import browser_flow, device_flow
from tau.ai.oauth.tokens import Endpoints, LoginError, find_endpoints
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.transport import Timeouts, Transport
from tau.base import secrets
from tau.base.errors import ConfigError, ProviderError, UsageError
from tau.base.run import LocalRunner, Runner
from tau.config.auth_file import AuthFile, StoredCredential, check_sendable
from tau.config.login_renewal import resolve_login
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import Paths

CHECK_TIMEOUTS = Timeouts(connect=10, first_byte=15, idle=10)
KEY_HEADERS = {"anthropic-messages": "x-api-key", "google-generative-ai": "x-goog-api-key"}

_GEMINI = (
    "Google allows logins of Gemini CLI and Antigravity only in those products, and suspends accounts for"
    " other uses. Create an API key at https://aistudio.google.com/apikey and run tau login google, or use"
    " google-vertex."
)
_COPILOT = (
    "GitHub opens Copilot plans only to clients that it has agreed with, and tau is not one. Use an API key"
    " of the model's vendor instead, such as tau login openai, or run tau login openrouter."
)
_CHATGPT = (
    "OpenAI publishes no client id for ChatGPT plans: with a client of your own, run tau login openai-codex"
    " --client-id ID; otherwise, create an API key at https://platform.openai.com/api-keys and run tau login"
    " openai."
)
# Plans whose vendors do not open their login to other programs.
CLOSED_PLANS = {
    **dict.fromkeys(("claude", "claude-code", "claude-pro", "claude-max", "anthropic-oauth"), CLAUDE_PLANS),
    **dict.fromkeys(("gemini-cli", "google-gemini-cli", "antigravity", "google-antigravity"), _GEMINI),
    **dict.fromkeys(("copilot", "github-copilot"), _COPILOT),
    "openai-codex": _CHATGPT,
}
ALIASES = {"chatgpt": "openai-codex", "codex": "openai-codex", "gemini": "google", "kimi": "kimi-code"}

KeyState = Literal["valid", "rejected", "unchecked"]


class KeyCheck(Struct, frozen=True):
    """What a provider says about a key; `problem` is a sentence unless it is valid."""

    state: KeyState
    problem: str = ""


def key_headers(row: Provider, key: str | None) -> dict[str, str]:
    """Of a request for a page of the provider, such as the list of its models."""
    name = row.compat.key_header.lower() or KEY_HEADERS.get(row.api, "authorization")
    sent = {name: f"Bearer {key}" if name == "authorization" else key} if key else {}
    return {"accept": "application/json", "anthropic-version": "2023-06-01", **sent}


class Logins:
    """What a user may log in to, and what is stored. Raises ConfigError if a file is invalid."""

    def __init__(self, paths: Paths, environ: Mapping[str, str], run: Runner | None = None) -> None:
        self.catalog: Catalog = merge_models(load_catalog(), load_models_file(paths.models))
        self.auth = AuthFile(paths.auth)
        self._environ = environ
        self._run = run or LocalRunner()

    def find(self, name: str) -> Provider:
        """The provider of this name. Raises UsageError, which says why a plan's login is closed."""
        known = ALIASES.get(name.lower(), name)
        row = self.catalog.provider(known)
        if row is not None:
            return row
        if closed := CLOSED_PLANS.get(known.lower()):
            raise UsageError(closed)
        raise UsageError(f'Unknown provider "{name}"; choose from {", ".join(self.catalog.providers)}.')

    def variable(self, row: Provider) -> str:
        """The variable with a key of this provider, if one is set."""
        return next((name for name in row.key_variables if self._environ.get(name, "").strip()), "")

    async def check_key(self, row: Provider, stored: str) -> KeyCheck:
        """Ask the provider, for free, whether it accepts a key. Raises ConfigError for a failing command."""
        key = await resolve_value(stored, self._environ, self._run, fresh=True)
        if key is None:
            return KeyCheck("rejected", f"The variable {stored} is not set.")
        secrets.learn(check_sendable(key, stored if is_variable(stored) else "the input"))
        if not row.key_check:
            return KeyCheck("unchecked", f"{row.name} has no free request to check it with.")
        http = HttpTransport(self._environ)
        try:
            return await self._ask(http, row, key)
        except (ProviderError, ConfigError) as error:
            return KeyCheck("unchecked", str(error))
        finally:
            await http.close()

    async def _ask(self, http: Transport, row: Provider, key: str) -> KeyCheck:
        base = expand_address(row.base_url, self._environ, row.id)
        place = parse_url(base)
        if place.scheme != "https" and not is_loopback(place):
            return KeyCheck("unchecked", f"{place.host} is not encrypted.")
        headers = key_headers(row, key)
        url = f"{base.rstrip('/')}/{row.key_check}"
        async with http.open("GET", url, headers=headers, timeouts=CHECK_TIMEOUTS) as response:
            status = response.status
        if status in (401, 403) or (status == 400 and row.api == "google-generative-ai"):
            return KeyCheck("rejected", f"{row.name} rejects this key ({status}).")
        if status >= 300:
            return KeyCheck("unchecked", f"{row.name} answered {status}.")
        return KeyCheck("valid")

    async def store_key(self, row: Provider, key: str, *, add: bool = False) -> None:
        """Raises ConfigError."""
        await asyncio.to_thread(self.auth.set_key, row.id, key, add=add)

    def login_of(self, row: Provider, client_id: str = "") -> Login:
        """How to log in. Raises LoginError if that is not possible."""
        login = row.login
        if login is None:
            page = f" Create one at {row.key_page}." if row.key_page else ""
            raise LoginError(f"{row.name} has no login for other programs; it takes API keys.{page}")
        if login.kind == "oauth" and not (client_id or login.client_id):
            raise LoginError(
                CLOSED_PLANS.get(row.id)
                or f"{row.name} publishes no client id for tau: pass your own with --client-id, or set"
                f" providers.{row.id}.login.clientId in models.json."
            )
        return login

    @asynccontextmanager
    async def browser(self, row: Provider, client_id: str = "") -> AsyncIterator[browser_flow.BrowserLogin]:
        """A login that waits for a browser. Raises LoginError and ProviderError."""
        async with (
            self._connected(row, client_id) as (login, endpoints, http),
            browser_flow.browser_login(login, endpoints, http) as flow,
        ):
            yield flow

    @asynccontextmanager
    async def device(self, row: Provider, client_id: str = "") -> AsyncIterator["DeviceLogin"]:
        """A login with a code that the user types elsewhere. Raises LoginError and ProviderError."""
        async with self._connected(row, client_id) as (login, endpoints, http):
            code = await device_flow.start(login, endpoints, http)
            yield DeviceLogin(login, endpoints, http, code)

    @asynccontextmanager
    async def _connected(
        self, row: Provider, client_id: str
    ) -> AsyncIterator[tuple[Login, Endpoints, Transport]]:
        login = await resolve_login(self.login_of(row, client_id), self._environ, self._run, client_id)
        http = HttpTransport(self._environ)
        try:
            yield login, await find_endpoints(login, http), http
        finally:
            await http.close()

    async def store_login(
        self, row: Provider, tokens: LoginTokens, client_id: str = "", *, add: bool = False
    ) -> None:
        """Store what a login returned; that of OpenRouter is a key. Raises ConfigError."""
        if row.login is not None and row.login.kind == "openrouter":
            await self.store_key(row, tokens.access, add=add)
        else:
            await asyncio.to_thread(self.auth.set_login, row.id, tokens, client_id, add=add)


class DeviceLogin(Struct, frozen=True):
    """`code` is what to show."""

    login: Login
    endpoints: Endpoints
    http: Transport
    code: device_flow.DeviceCode

    async def finish(self) -> LoginTokens:
        return await device_flow.finish(self.login, self.endpoints, self.http, self.code)


def describe_credential(one: StoredCredential) -> str:
    """A credential for people: what it is, never the secret itself."""
    if one.tokens is not None:
        return one.tokens.account or "login"
    if one.value.startswith("!") or is_variable(one.value):
        return one.value if is_variable(one.value) else "a command"
    return f"…{one.value[-4:]}" if len(one.value) >= 16 else "…"
