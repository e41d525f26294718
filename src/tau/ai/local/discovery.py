"""Finds running model servers on this machine by probing their default addresses."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from tau.ai.local.socket_owner import socket_owner
from tau.ai.model import Compat, Model, ThinkingLevel
from tau.ai.proxy import is_loopback, parse_url, split_host
from tau.ai.transport import Timeouts, Transport
from tau.base import log
from tau.base.errors import TauError
from tau.base.tasks import spawn

DISCOVERY_TIMEOUT_S = 0.2
GUESSED_TOKENS = 4_096  # default of Ollama and LM Studio
SMALL_TOKENS = 16_384  # less is tight for coding
LOCAL_COMPAT = Compat(
    supports_reasoning_effort=False,
    cache_control=False,
    thinking_field="same",
    text_calls=True,
    think_tags="written",
)
# The only models whose thinking Ollama grades, and cannot turn off.
GRADED = ("gptoss", "gpt-oss")
GRADES: dict[ThinkingLevel, str | None] = {
    "off": None,
    "minimal": None,
    "low": "low",
    "medium": "medium",
    "high": "high",
}

MAX_MODELS = 100  # of one server; the rest is not listed
MAX_PROBED_MODELS = 8  # models of one server that are queried individually

T = TypeVar("T")

DEFAULT_ADDRESSES: Mapping[str, str] = {
    "ollama": "http://127.0.0.1:11434",
    "lm-studio": "http://127.0.0.1:1234",
    "llama.cpp": "http://127.0.0.1:8080",
    "vllm": "http://127.0.0.1:8000",
    "sglang": "http://127.0.0.1:30000",
}
_NAMES = {
    "ollama": "Ollama",
    "lm-studio": "LM Studio",
    "llama.cpp": "llama.cpp",
    "vllm": "vLLM",
    "sglang": "SGLang",
}
_ADVICE = {
    "ollama": "set local.numCtx to 32768",
    "lm-studio": "load the model with a larger context length in LM Studio",
    "llama.cpp": "start llama-server with -c 32768",
    "vllm": "start vLLM with a larger --max-model-len",
    "sglang": "start SGLang with a larger --context-length",
}


class ServedModel(Struct):
    """What is known about a served model so far. `tokens` is the served context size."""

    id: str
    tokens: int | None = None
    trained_tokens: int | None = None
    images: bool = False
    reasoning: bool = False
    is_graded: bool = False
    tools: bool = True
    parses: bool = False  # the server splits thinking off the text


class Server:
    """An address that may be a server. `entries` is None until it answers like one."""

    def __init__(self, http: Transport, address: str, timeout_s: float) -> None:
        self.entries: dict[str, ServedModel] | None = None
        self._http = http
        self.address = address
        self._timeouts = Timeouts(connect=timeout_s, first_byte=timeout_s, idle=timeout_s)

    async def ask(self, path: str, kind: type[T], body: object = None) -> T | None:
        """The answer, or None if it is not one of this kind."""
        try:
            async with self._http.open(
                "GET" if body is None else "POST",
                self.address + path,
                headers={"accept": "application/json", "content-type": "application/json"},
                body=None if body is None else json.encode(body),
                timeouts=self._timeouts,
            ) as response:
                return json.decode(await response.read(), type=kind) if response.status == 200 else None
        except (TauError, MsgspecError, OSError) as error:
            log.debug(f"{self.address}{path} is not a local model server: {error}")
            return None

    def list(self, ids: list[str]) -> None:
        self.entries = {id: ServedModel(id) for id in ids[:MAX_MODELS] if id}

    def entry(self, id: str) -> ServedModel | None:
        return None if self.entries is None else self.entries.get(id)

    def drop(self, id: str) -> None:
        """Remove a model that cannot chat."""
        if self.entries is not None:
            self.entries.pop(id, None)


class ModelMeta(Struct, frozen=True):
    n_ctx: int | None = None
    n_ctx_train: int | None = None


class ListedModel(Struct, frozen=True):
    id: str
    max_model_len: int | None = None
    meta: ModelMeta | None = None


class ModelsResponse(Struct, frozen=True):
    """`/v1/models`; only vLLM and llama.cpp report the context size."""

    data: list[ListedModel]


async def probe_listing(server: Server) -> ModelsResponse | None:
    listing = await server.ask("/v1/models", ModelsResponse)
    if listing is None:
        return None
    server.list([row.id for row in listing.data])
    for row in listing.data:
        if entry := server.entry(row.id):
            meta = row.meta or ModelMeta()
            entry.tokens = row.max_model_len or meta.n_ctx
            entry.trained_tokens = meta.n_ctx_train
    return listing


async def probe_vllm(server: Server) -> None:
    await probe_listing(server)


class SglangInfo(Struct, frozen=True):
    """`/model_info`, or `/get_server_info` of older versions, of the one loaded model."""

    model_path: str
    context_length: int | None = None
    reasoning_parser: str | None = None
    has_image_understanding: bool | None = None
    enable_multimodal: bool | None = None


async def probe_sglang(server: Server) -> None:
    """Only SGLang answers these."""
    info = await server.ask("/model_info", SglangInfo) or await server.ask("/get_server_info", SglangInfo)
    if info is None or await probe_listing(server) is None:
        return
    for entry in (server.entries or {}).values():
        entry.tokens = entry.tokens or info.context_length
        entry.images = bool(info.has_image_understanding or info.enable_multimodal)
        entry.reasoning = entry.parses = bool(info.reasoning_parser)


class LmStudioModel(Struct, frozen=True):
    id: str
    type: str = "llm"
    max_context_length: int | None = None
    loaded_context_length: int | None = None
    capabilities: list[str] | None = None


class LmStudioModels(Struct, frozen=True):
    data: list[LmStudioModel]


async def probe_lm_studio(server: Server) -> None:
    if await probe_listing(server) is None:
        return
    details = await server.ask("/api/v0/models", LmStudioModels)
    for row in details.data if details else ():
        if row.type == "embeddings":
            server.drop(row.id)
        elif entry := server.entry(row.id):
            entry.tokens = row.loaded_context_length
            entry.trained_tokens = row.max_context_length
            entry.images = row.type == "vlm"
            entry.tools = row.capabilities is None or "tool_use" in row.capabilities


class GenerationSettings(Struct, frozen=True):
    n_ctx: int | None = None


class TemplateCaps(Struct, frozen=True):
    supports_tools: bool | None = None


class Modalities(Struct, frozen=True):
    vision: bool = False


class ServerProps(Struct, frozen=True):
    default_generation_settings: GenerationSettings = GenerationSettings()
    chat_template_caps: TemplateCaps = TemplateCaps()
    modalities: Modalities = Modalities()


async def probe_llama_cpp(server: Server) -> None:
    """`/props` describes the one loaded model; a server with several lists their sizes."""
    if await probe_listing(server) is None or not server.entries:
        return
    details = await server.ask("/props", ServerProps)
    if details is None:
        return
    for entry in server.entries.values():
        entry.tools = details.chat_template_caps.supports_tools is not False
    if len(server.entries) == 1:
        (entry,) = server.entries.values()
        entry.tokens = details.default_generation_settings.n_ctx or entry.tokens
        entry.images = details.modalities.vision


class OllamaModel(Struct, frozen=True):
    name: str
    context_length: int | None = None


class OllamaModels(Struct, frozen=True):
    models: list[OllamaModel]


class OllamaDetails(Struct, frozen=True):
    capabilities: list[str] = []
    parameters: str = ""
    model_info: dict[str, Any] = {}


async def probe_ollama(server: Server) -> None:
    tags = await server.ask("/api/tags", OllamaModels)
    if tags is None:
        return
    server.list([row.name for row in tags.models])
    async with asyncio.TaskGroup() as group:
        spawn(group, _probe_running(server))
        for row in tags.models[:MAX_PROBED_MODELS]:
            spawn(group, _probe_details(server, row.name))


async def _probe_running(server: Server) -> None:
    """Only loaded models have a definite size."""
    running = await server.ask("/api/ps", OllamaModels)
    for row in running.models if running else ():
        if entry := server.entry(row.name):
            entry.tokens = row.context_length or entry.tokens


async def _probe_details(server: Server, id: str) -> None:
    details = await server.ask("/api/show", OllamaDetails, {"model": id})
    entry = server.entry(id)
    if details is None or entry is None:
        return
    if details.capabilities and "completion" not in details.capabilities:
        server.drop(id)
    entry.images = "vision" in details.capabilities
    entry.reasoning = entry.parses = "thinking" in details.capabilities
    entry.tools = not details.capabilities or "tools" in details.capabilities
    entry.is_graded = details.model_info.get("general.architecture") in GRADED
    for name, value in details.model_info.items():
        if name.endswith(".context_length") and isinstance(value, int):
            entry.trained_tokens = value
    for line in details.parameters.splitlines():
        name, _, text = line.partition(" ")
        if name == "num_ctx" and text.strip().isdigit():
            entry.tokens = entry.tokens or int(text)


def ollama_address(environ: Mapping[str, str], default: str) -> str:
    """The address in OLLAMA_HOST, parsed like Ollama does; a bind address means this machine."""
    given = environ.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not given:
        return default
    scheme, separator, rest = given.partition("://")
    if not separator:
        scheme, rest, default_port = "http", given, "11434"
    else:
        default_port = "443" if scheme == "https" else "80"
    address, slash, path = rest.partition("/")
    host, port = split_host(address)
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port or default_port}{slash}{path}".rstrip("/")


_PROBES: Mapping[str, Callable[[Server], Awaitable[None]]] = {
    "ollama": probe_ollama,
    "lm-studio": probe_lm_studio,
    "llama.cpp": probe_llama_cpp,
    "vllm": probe_vllm,
    "sglang": probe_sglang,
}


class DiscoveredServer(Struct, frozen=True, kw_only=True):
    """A server that answers. `note` is for the user and may be empty, `model_notes` are by model.

    If a server does not report a model's context size, `Model.context_window` is a conservative guess.
    """

    provider: str
    name: str
    base_url: str
    models: list[Model]
    note: str = ""
    model_notes: dict[str, str] = {}
    owner: int | None = None  # the user id of the listener; None if it is not known
    is_local: bool = True


async def discover(
    http: Transport,
    environ: Mapping[str, str],
    timeout_s: float = DISCOVERY_TIMEOUT_S,
    addresses: Mapping[str, str] = DEFAULT_ADDRESSES,
    num_ctx: int = 0,
    images: Sequence[str] = (),
) -> list[DiscoveredServer]:
    """Return the servers that answer in time, in the order of `addresses`; never raises.

    `num_ctx` is the context size that requests to Ollama ask for, if any. `images` are patterns of models
    that take images, even if their server does not say so.
    Only this machine is probed, unless OLLAMA_HOST names another one.
    """
    servers: dict[str, Server] = {}
    async with asyncio.TaskGroup() as group:
        for provider, default in addresses.items():
            address = ollama_address(environ, default) if provider == "ollama" else default
            servers[provider] = server = Server(http, address, timeout_s)
            spawn(group, _probe(provider, server, timeout_s))
    default_tokens = _default_tokens(environ)
    return [
        _describe_server(id, server, default_tokens, num_ctx, images)
        for id, server in servers.items()
        if server.entries is not None
    ]


async def probe_server(
    http: Transport,
    kind: str,
    address: str,
    timeout_s: float,
    *,
    num_ctx: int = 0,
    images: Sequence[str] = (),
) -> list[Model] | None:
    """The models of a server of this kind; None if it does not answer like one."""
    server = Server(http, address, timeout_s)
    await _probe(kind, server, timeout_s)
    if server.entries is None:
        return None
    return _describe_server(kind, server, GUESSED_TOKENS, num_ctx, images).models


def missing_server(provider: str, environ: Mapping[str, str]) -> str:
    """Why a named provider of this machine cannot be used; empty if it is none."""
    address = DEFAULT_ADDRESSES.get(provider)
    if address is None:
        return ""
    if provider == "ollama":
        address = ollama_address(environ, address)
    return (
        f"No {_NAMES[provider]} server answers at {address}: start it, or name its address with --base-url."
    )


async def _probe(provider: str, server: Server, timeout_s: float) -> None:
    """What is learned before the timeout stays in `server`."""
    try:
        async with asyncio.timeout(timeout_s):
            await _PROBES[provider](server)
    except TimeoutError:
        pass
    except Exception as error:
        log.debug(f"Probing {provider} at {server.address} failed.", error)


def _default_tokens(environ: Mapping[str, str]) -> int:
    """Ollama's default comes from the server's variable, which is most likely set for us too."""
    length = environ.get("OLLAMA_CONTEXT_LENGTH", "").strip()
    return int(length) if length.isdecimal() and int(length) else GUESSED_TOKENS


def _describe_server(
    provider: str, server: Server, ollama_guess: int, num_ctx: int = 0, images: Sequence[str] = ()
) -> DiscoveredServer:
    default_tokens = ollama_guess if provider == "ollama" else GUESSED_TOKENS
    base_url = f"{server.address}/v1"
    entries = list((server.entries or {}).values())
    for entry in entries:
        entry.images = entry.images or any(fnmatchcase(entry.id, pattern) for pattern in images)
    models = [_model(provider, base_url, entry, default_tokens, num_ctx) for entry in entries]
    url = parse_url(base_url)
    is_local = is_loopback(url)
    return DiscoveredServer(
        provider=provider,
        name=_NAMES[provider],
        base_url=base_url,
        models=models,
        note=_note(provider, entries, models),
        model_notes={entry.id: f"{entry.id} cannot call tools." for entry in entries if not entry.tools},
        owner=socket_owner(url.host, url.port) if is_local else None,
        is_local=is_local,
    )


def _model(provider: str, base_url: str, entry: ServedModel, default_tokens: int, num_ctx: int) -> Model:
    window = entry.tokens or min(default_tokens, entry.trained_tokens or default_tokens)
    model = Model(
        id=entry.id,
        name=entry.id.rpartition("/")[2].removesuffix(".gguf") if provider == "llama.cpp" else entry.id,
        api="ollama-chat" if provider == "ollama" else "openai-completions",
        provider=provider,
        base_url=base_url,
        reasoning=entry.reasoning,
        thinking_level_map=GRADES if entry.is_graded else {},
        input=("text", "image") if entry.images else ("text",),
        context_window=window,
        max_tokens=max(256, min(16_384, window // 4)),
        compat=replace(
            LOCAL_COMPAT,
            think_tags="" if entry.parses else LOCAL_COMPAT.think_tags,
            hides_abilities=provider == "vllm",
        ),
        unconfirmed=True,
    )
    return model.with_num_ctx(min(num_ctx, entry.trained_tokens or num_ctx))


def _note(provider: str, entries: list[ServedModel], models: list[Model]) -> str:
    name = _NAMES[provider]
    if not models:
        return f"{name} is running but has no chat model."
    if provider == "llama.cpp" and not any(entry.tools for entry in entries):
        return f"{name}'s chat template lacks tools: start it with --jinja and a template that has them."
    small = min(model.context_window for model in models)
    if small < SMALL_TOKENS:
        return f"{name} serves only {small:,} tokens of context; for coding, {_ADVICE[provider]}."
    return ""
