"""Tries search providers one after another until one answers."""

import asyncio
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from tau.backends.web.addresses import AllowedHosts, WebError, parse_web_url
from tau.backends.web.client import GuardedRequest, WebClient, WebResponse
from tau.backends.web.search import answer_engines, search_apis
from tau.backends.web.search.results import SearchError, SearchQuery, SearchResponse
from tau.base.sizes import MIB
from tau.base.text import clean_line, shortened
from tau.config.settings import Settings
from tau.config.web_access import SEARCH_KEYS, WebAccess

SECONDS, TOTAL_SECONDS = 10.0, 30.0
DEFAULT_REST_S, MAX_REST_S = 30.0, 3600.0
MAX_ANSWER_BYTES = 4 * MIB
LABELS = {
    **{name: name.capitalize() for name in SEARCH_KEYS},
    "zai": "Z.AI",
    "searxng": "SearXNG",
}
_HOSTS = {
    "perplexity": ("api.perplexity.ai",),
    "anthropic": ("api.anthropic.com",),
    "gemini": ("generativelanguage.googleapis.com",),
    "codex": ("chatgpt.com",),
    "zai": ("api.z.ai",),
}


class ProviderStatus(Struct, frozen=True, rename="camel"):
    name: str
    available: bool
    reason: str = ""


class SearchOutcome(Struct, frozen=True, kw_only=True):
    """`error` is set if no provider answered; then the response is empty."""

    response: SearchResponse
    error: str = ""


class WebSearch:
    """One per session. `route` changes addresses, for tests."""

    def __init__(
        self, settings: Settings, access: WebAccess, route: Callable[[str], str] = lambda address: address
    ) -> None:
        self._settings = settings
        self._access = access
        self._route = route
        self._resting: dict[str, float] = {}

    @property
    def statuses(self) -> list[ProviderStatus]:
        return [ProviderStatus(name, not (why := self.missing(name)), why) for name in SEARCH_KEYS]

    def names(self, forced: str = "") -> list[str]:
        """The providers to try: only the forced one if it is available, else all, the preferred one first."""
        preferred = self._settings.providers.web_search
        if forced and forced != "auto" and not self.missing(forced, chosen=True):
            return [forced]
        names = [name for name in SEARCH_KEYS if not self.missing(name)]
        if preferred != "auto" and not self.missing(preferred, chosen=True):
            names = [preferred, *(name for name in names if name != preferred)]
        return names

    def hosts(self) -> list[str]:
        """The hosts of the providers that may be asked."""
        return list(dict.fromkeys(host for name in self.names() for host in self._hosts_of(name)))

    async def search(self, query: SearchQuery, forced: str = "") -> SearchOutcome:
        names = self.names(forced)
        failed: list[tuple[str, str]] = []
        deadline = asyncio.get_running_loop().time() + TOTAL_SECONDS
        for name in names:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                failed.append((name, f"{LABELS[name]} was not asked: {TOTAL_SECONDS:g} s are over."))
                continue
            try:
                response = await self._ask(name, query, min(SECONDS, left))
            except (SearchError, WebError) as error:
                failed.append((name, _describe(name, error)))
            else:
                return SearchOutcome(response=response)
        if not failed:
            error_text = "No web search provider configured."
        elif len(failed) == 1:
            error_text = failed[0][1]
        else:
            reasons = "; ".join(f"{name}: {text}" for name, text in failed)
            error_text = f"All web search providers failed: {reasons}"
        last = failed[-1][0] if failed else "none"
        return SearchOutcome(response=SearchResponse(provider=last), error=error_text)

    async def _ask(self, name: str, query: SearchQuery, seconds: float) -> SearchResponse:
        rest = self._resting.get(name, 0) - time.monotonic()
        if rest > 0:
            raise SearchError(f"it is rate-limited for another {rest:.0f} s")
        endpoint = search_apis.searxng_options(self._settings.searxng, self._access.environ)[0]
        allowed = AllowedHosts([urlsplit(endpoint).netloc] if name == "searxng" else ())
        client = WebClient(allowed, lambda host: False, self._access.environ)

        async def send(address: str, request: GuardedRequest) -> WebResponse:
            routed = self._route(address)
            if routed != address:
                client.allowed.grant(*parse_web_url(routed).origin[1:])
            limited = replace(request, max_bytes=MAX_ANSWER_BYTES)
            return _checked(await client.fetch(parse_web_url(routed), limited, seconds=seconds))

        try:
            async with asyncio.timeout(seconds):
                response = await self._answer(name, query, send)
        except TimeoutError:
            raise SearchError(f"it did not answer within {seconds:.3g} s") from None
        except SearchError as error:
            if error.status == 429:
                wait = min(error.wait_s or DEFAULT_REST_S, MAX_REST_S)
                self._resting[name] = time.monotonic() + wait
            raise
        finally:
            await client.close()
        service = search_apis.SERVICES.get(name)
        if query.recency and name != "perplexity" and (service is None or service.recency is None):
            note = f"{LABELS[name]} ignores recency; check the dates"
            response = replace(response, notes=[*response.notes, note])
        return response

    async def _answer(self, name: str, query: SearchQuery, send: answer_engines.Send) -> SearchResponse:
        environ = self._access.environ
        key = "" if name == "searxng" else await self._access.key(name) or ""
        if name == "exa" and not key:
            return await answer_engines.search_exa(query, key, environ, send)
        if not key and name != "searxng":
            raise SearchError("it has no key")
        if name in answer_engines.MODELS:
            return await answer_engines.MODELS[name](query, key, environ, send)
        service, values = search_apis.SERVICES[name], {"key": key}
        more: dict[str, str] = {}
        if name == "searxng":
            values["endpoint"], headers, more = search_apis.searxng_options(self._settings.searxng, environ)
            service = replace(service, headers=headers)
        if name == "kimi":
            bases = (environ.get(f"{one}_SEARCH_BASE_URL") for one in ("MOONSHOT", "KIMI"))
            service = replace(service, url=next(filter(None, bases), service.url))
        response = await send(*search_apis.make_request(service, query, values, more))
        try:
            data = json.decode(response.body)
        except DecodeError:
            raise SearchError("its answer is cut off or not valid JSON", response.status) from None
        return search_apis.read_answer(name, service, query, data)

    def missing(self, name: str, *, chosen: bool = False) -> str:
        """Why a provider cannot be used; empty if it can."""
        settings = self._settings
        if name == "searxng":
            is_set = settings.searxng.endpoint or self._access.environ.get("SEARXNG_ENDPOINT", "").strip()
            return "" if is_set else "set searxng.endpoint or SEARXNG_ENDPOINT"
        if name == "exa" and not (settings.exa.enabled and settings.exa.enable_search):
            return "exa.enabled or exa.enableSearch is false"
        if self._access.has_key(name) or (
            name == "exa" and (chosen or settings.providers.web_search == "exa")
        ):
            return ""
        row = SEARCH_KEYS[name]
        ways = [f"set {' or '.join(row.variables)}"] if row.variables else []
        return " or ".join([*ways, *([f"run tau login {row.login}"] if row.login else ())])

    def _hosts_of(self, name: str) -> list[str]:
        environ = self._access.environ
        if name == "searxng":
            addresses = [search_apis.searxng_options(self._settings.searxng, environ)[0]]
        elif name == "perplexity" and environ.get("PERPLEXITY_COOKIES"):
            addresses = ["https://www.perplexity.ai/"]
        elif name == "anthropic":
            base = environ.get("ANTHROPIC_SEARCH_BASE_URL") or environ.get("ANTHROPIC_BASE_URL")
            addresses = [base or "https://api.anthropic.com"]
        elif name == "exa" and not self._access.has_key("exa"):
            addresses = ["https://mcp.exa.ai/"]
        elif name == "kimi":
            bases = (environ.get(f"{one}_SEARCH_BASE_URL") for one in ("MOONSHOT", "KIMI"))
            addresses = [next(filter(None, bases), search_apis.SERVICES[name].url)]
        elif name in _HOSTS:
            return list(_HOSTS[name])
        else:
            addresses = [search_apis.SERVICES[name].url]
        return [host for address in addresses if (host := urlsplit(address).hostname)]


def _checked(response: WebResponse) -> WebResponse:
    if response.ok:
        return response
    detail = shortened(clean_line(response.body[:500].decode("utf-8", "replace")), 200)
    wait: Mapping[str, str] = response.headers
    seconds = wait.get("retry-after", "")
    raise SearchError(
        f"it answered {response.status}{f' ({detail})' if detail else ''}",
        response.status,
        float(seconds) if seconds.isascii() and seconds.isdigit() else 0,
    )


def _describe(name: str, error: SearchError | WebError) -> str:
    status = error.status if isinstance(error, SearchError) else 0
    if name == "anthropic" and status == 404:
        return "Anthropic web search returned 404 (model or endpoint not found)."
    if status in (401, 403) and name != "zai":
        return f"{LABELS[name]} authorization failed ({status}); check its key."
    return f"{LABELS[name]}: {str(error).removesuffix('.')}."
