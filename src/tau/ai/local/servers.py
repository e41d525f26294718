"""Queries each kind of local server about its models."""

from asyncio import TaskGroup
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, json

from tau.ai.proxy import split_host
from tau.ai.transport import Timeouts, Transport
from tau.base import log
from tau.base.errors import TauError
from tau.base.tasks import spawn

MAX_MODELS = 100  # of one server; the rest is not listed
MAX_QUESTIONS = 8  # models of one server that are queried individually

T = TypeVar("T")


class ServedModel(Struct):
    """What is known about a served model so far. `tokens` is the served context size."""

    id: str
    tokens: int | None = None
    trained_tokens: int | None = None
    images: bool = False
    reasoning: bool = False


class Server:
    """An address that may be a server. `entries` is None until it answers like one."""

    def __init__(self, http: Transport, place: str, timeout_s: float) -> None:
        self.entries: dict[str, ServedModel] | None = None
        self.tools = True
        self._http = http
        self.place = place
        self._timeouts = Timeouts(connect=timeout_s, first_byte=timeout_s, idle=timeout_s)

    async def ask(self, path: str, kind: type[T], body: object = None) -> T | None:
        """The answer, or None if it is not one of this kind."""
        try:
            async with self._http.open(
                "GET" if body is None else "POST",
                self.place + path,
                headers={"accept": "application/json", "content-type": "application/json"},
                body=None if body is None else json.encode(body),
                timeouts=self._timeouts,
            ) as response:
                return json.decode(await response.read(), type=kind) if response.status == 200 else None
        except (TauError, MsgspecError, OSError) as error:
            log.debug(f"{self.place}{path} is not a local model server: {error}")
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


async def ask_listing(server: Server) -> ModelsResponse | None:
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


async def ask_vllm(server: Server) -> None:
    await ask_listing(server)


class LmStudioModel(Struct, frozen=True):
    id: str
    type: str = "llm"
    max_context_length: int | None = None
    loaded_context_length: int | None = None


class LmStudioModels(Struct, frozen=True):
    data: list[LmStudioModel]


async def ask_lm_studio(server: Server) -> None:
    if await ask_listing(server) is None:
        return
    told = await server.ask("/api/v0/models", LmStudioModels)
    for row in told.data if told else ():
        if row.type == "embeddings":
            server.drop(row.id)
        elif entry := server.entry(row.id):
            entry.tokens = row.loaded_context_length
            entry.trained_tokens = row.max_context_length
            entry.images = row.type == "vlm"


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


async def ask_llama_cpp(server: Server) -> None:
    """`/props` describes the one loaded model; a server with several lists their sizes."""
    if await ask_listing(server) is None or not server.entries:
        return
    told = await server.ask("/props", ServerProps)
    if told is None:
        return
    server.tools = told.chat_template_caps.supports_tools is not False
    if len(server.entries) == 1:
        (entry,) = server.entries.values()
        entry.tokens = told.default_generation_settings.n_ctx or entry.tokens
        entry.images = told.modalities.vision


class OllamaModel(Struct, frozen=True):
    name: str
    context_length: int | None = None


class OllamaModels(Struct, frozen=True):
    models: list[OllamaModel]


class OllamaDetails(Struct, frozen=True):
    capabilities: list[str] = []
    parameters: str = ""
    model_info: dict[str, Any] = {}


async def ask_ollama(server: Server) -> None:
    tags = await server.ask("/api/tags", OllamaModels)
    if tags is None:
        return
    server.list([row.name for row in tags.models])
    async with TaskGroup() as group:
        spawn(group, _ask_running(server))
        for row in tags.models[:MAX_QUESTIONS]:
            spawn(group, _ask_details(server, row.name))


async def _ask_running(server: Server) -> None:
    """Only loaded models have a definite size."""
    running = await server.ask("/api/ps", OllamaModels)
    for row in running.models if running else ():
        if entry := server.entry(row.name):
            entry.tokens = row.context_length or entry.tokens


async def _ask_details(server: Server, id: str) -> None:
    details = await server.ask("/api/show", OllamaDetails, {"model": id})
    entry = server.entry(id)
    if details is None or entry is None:
        return
    if details.capabilities and "completion" not in details.capabilities:
        server.drop(id)
    entry.images = "vision" in details.capabilities
    entry.reasoning = "thinking" in details.capabilities
    for name, value in details.model_info.items():
        if name.endswith(".context_length") and isinstance(value, int):
            entry.trained_tokens = value
    for line in details.parameters.splitlines():
        name, _, text = line.partition(" ")
        if name == "num_ctx" and text.strip().isdigit():
            entry.tokens = entry.tokens or int(text)


def ollama_place(environ: Mapping[str, str], usual: str) -> str:
    """The address in OLLAMA_HOST, parsed like Ollama does; a bind address means this machine."""
    given = environ.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not given:
        return usual
    scheme, separator, rest = given.partition("://")
    if not separator:
        scheme, rest, default_port = "http", given, "11434"
    else:
        default_port = "443" if scheme == "https" else "80"
    place, slash, path = rest.partition("/")
    host, port = split_host(place)
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port or default_port}{slash}{path}".rstrip("/")
