"""Asks a provider's server for its models, and stores them where the catalog finds them."""

from collections.abc import Collection
from typing import Any, Literal

from msgspec import MsgspecError, Struct, json, to_builtins

from tau.ai.catalog import ModelRow, Provider
from tau.ai.cloud_credentials import expand_address
from tau.ai.local.discovery import probe_server
from tau.ai.model import Compat, Price
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.transport import Timeouts, Transport
from tau.base.errors import ConfigError
from tau.base.files import write_atomic
from tau.config.credentials import KeyCredentials
from tau.config.logins import key_headers
from tau.config.models_file import ProviderEntry
from tau.config.paths import Paths
from tau.config.settings import LocalSettings

DiscoveryType = Literal["ollama", "llama.cpp", "lm-studio", "vllm", "sglang", "openai-models-list", "proxy"]
LISTING: DiscoveryType = "openai-models-list"
TIMEOUT_S = 15.0
MAX_MODELS = 5_000
MAX_NAME_CHARS = 256


class _Pricing(Struct, frozen=True):
    """Dollars per token, as text."""

    prompt: str = "0"
    completion: str = "0"
    input_cache_read: str = "0"
    input_cache_write: str = "0"


class _Listed(Struct, frozen=True):
    """What servers add to `id` differs; OpenRouter and vLLM say the most."""

    id: str
    name: str = ""
    display_name: str = ""
    context_length: int | None = None
    max_model_len: int | None = None
    max_output_tokens: int | None = None
    pricing: _Pricing = _Pricing()
    supported_parameters: list[str] = []
    architecture: dict[str, Any] = {}


class _GoogleListed(Struct, frozen=True, rename="camel"):
    name: str
    display_name: str = ""
    input_token_limit: int = 128_000
    output_token_limit: int = 16_384


class _Listing(Struct, frozen=True):
    """Google lists `models`, everyone else `data`."""

    data: list[_Listed] | None = None
    models: list[_GoogleListed] | None = None


class _ProxyInfo(Struct, frozen=True):
    """Dollars per token."""

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    input_cost_per_token: float | None = None
    output_cost_per_token: float | None = None
    cache_read_input_token_cost: float | None = None
    cache_creation_input_token_cost: float | None = None
    supports_vision: bool | None = None
    supports_reasoning: bool | None = None


class _Proxied(Struct, frozen=True):
    model_name: str
    model_info: _ProxyInfo = _ProxyInfo()


class _ProxyListing(Struct, frozen=True):
    data: list[_Proxied]


async def refresh(
    http: Transport,
    provider: Provider,
    entry: ProviderEntry | None,
    keys: KeyCredentials,
    paths: Paths,
    *,
    local: LocalSettings,
    plain_hosts: Collection[str] = (),
) -> int:
    """Store the models that the provider's server lists, and return how many. Raises TauError.

    Without encryption, only these hosts get a key that is not in models.json beside their address.
    """
    discovery = entry.discovery if entry is not None else None
    if discovery is None and provider.cloud:
        raise ConfigError(f"{provider.name} has no list of models that tau can read.")
    kind = discovery.type if discovery else LISTING
    base = expand_address(provider.base_url, keys.environ, provider.id).rstrip("/")
    if kind in ("openai-models-list", "proxy"):
        key = await keys.get(provider.id)
        url = parse_url(base)
        is_safe = url.scheme == "https" or is_loopback(url) or url.host in plain_hosts
        if key and not is_safe and (entry is None or not isinstance(entry.api_key, str)):
            raise ConfigError(
                f"Your key for {provider.id} was not sent to {url.host}, because http:// is not encrypted:"
                f' use https://, or add "{url.host}" to the setting keys.plainHttpHosts.'
            )
        headers = key_headers(provider, key)
        if kind == "proxy":
            proxied = await _get(http, f"{base.removesuffix('/v1')}/model/info", headers, _ProxyListing)
            rows = [_proxy_row(one) for one in proxied.data]
        else:
            rows = await _listed(http, f"{base}/{_page(provider)}", headers)
    else:
        address = base.removesuffix("/v1")
        models = await probe_server(
            http, kind, address, TIMEOUT_S, num_ctx=local.num_ctx, images=local.images
        )
        if models is None:
            raise ConfigError(f"No {kind} server answers at {base}.")
        rows = [
            ModelRow(
                id=model.id,
                name=model.name,
                reasoning=model.reasoning,
                thinking_level_map=model.thinking_level_map,
                input=model.input,
                context_window=model.context_window,
                max_tokens=model.max_tokens,
                compat=_flags(model.compat),
            )
            for model in models
        ]
    found = {row.id: row for row in rows[:MAX_MODELS] if _is_usable(row)}
    path = paths.cache / "models" / f"{provider.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.encode(list(found.values())))
    return len(found)


def _is_usable(row: ModelRow) -> bool:
    """Whether it can be named and used: no server should list another."""
    is_named = bool(row.id.strip()) and len(row.id) <= MAX_NAME_CHARS and f"{row.id}{row.name}".isprintable()
    return is_named and row.context_window > 0 and row.max_tokens > 0


def _flags(compat: Compat) -> dict[str, object]:
    """Those that differ from the usual ones, as in files."""
    usual = to_builtins(Compat())
    return {name: value for name, value in to_builtins(compat).items() if value != usual[name]}


def _page(provider: Provider) -> str:
    if provider.api == "google-generative-ai":
        return "models?pageSize=1000"
    return provider.key_check if provider.key_check.endswith("models") else "models"


async def _listed(http: Transport, url: str, headers: dict[str, str]) -> list[ModelRow]:
    listing = await _get(http, url, headers, _Listing)
    if listing.data is None and listing.models is None:
        raise ConfigError(_no_list(url))
    return [*map(_listed_row, listing.data or ()), *map(_google_row, listing.models or ())]


def _no_list(url: str) -> str:
    return f"{url} does not list models; its models were not updated."


async def _get(http: Transport, url: str, headers: dict[str, str], kind: type[object]) -> Any:
    limits = Timeouts(connect=TIMEOUT_S, first_byte=TIMEOUT_S, idle=TIMEOUT_S)
    async with http.open("GET", url, headers=headers, body=None, timeouts=limits) as response:
        content = await response.read()
        if response.status != 200:
            raise ConfigError(f"{url} answered with status {response.status}; its models were not updated.")
    try:
        return json.decode(content, type=kind)
    except MsgspecError:
        raise ConfigError(_no_list(url)) from None


def _listed_row(one: _Listed) -> ModelRow:
    window = one.context_length or one.max_model_len or 128_000
    pricing = one.pricing
    return ModelRow(
        id=one.id,
        name=one.name or one.display_name or one.id,
        reasoning="reasoning" in one.supported_parameters,
        input=("text", "image") if "image" in one.architecture.get("input_modalities", ()) else ("text",),
        cost=Price(
            _dollars(pricing.prompt),
            _dollars(pricing.completion),
            _dollars(pricing.input_cache_read),
            _dollars(pricing.input_cache_write),
        ),
        context_window=window,
        max_tokens=min(one.max_output_tokens or 16_384, max(1, window // 2)),
    )


def _google_row(one: _GoogleListed) -> ModelRow:
    id = one.name.removeprefix("models/")
    return ModelRow(
        id=id,
        name=one.display_name or id,
        input=("text", "image"),
        context_window=one.input_token_limit,
        max_tokens=one.output_token_limit,
    )


def _proxy_row(one: _Proxied) -> ModelRow:
    info = one.model_info
    window = info.max_input_tokens or 128_000
    return ModelRow(
        id=one.model_name,
        name=one.model_name,
        reasoning=info.supports_reasoning is True,
        input=("text", "image") if info.supports_vision else ("text",),
        cost=Price(
            _dollars(info.input_cost_per_token),
            _dollars(info.output_cost_per_token),
            _dollars(info.cache_read_input_token_cost),
            _dollars(info.cache_creation_input_token_cost),
        ),
        context_window=window,
        max_tokens=min(info.max_output_tokens or 16_384, max(1, window // 2)),
    )


def _dollars(per_token: str | float | None) -> float:
    """Per million tokens. A router that has no fixed price says -1."""
    try:
        return max(0.0, round(float(per_token or 0) * 1_000_000, 6))
    except ValueError:
        return 0.0
