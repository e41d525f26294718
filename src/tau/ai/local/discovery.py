"""Finds running model servers on this machine by probing their default addresses."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from tau.ai.local.servers import (
    ServedModel,
    Server,
    ask_llama_cpp,
    ask_lm_studio,
    ask_ollama,
    ask_vllm,
    ollama_place,
)
from tau.ai.model import Compat, Model
from tau.ai.transport import Transport
from tau.base import log
from tau.base.tasks import spawn

DISCOVERY_TIMEOUT_S = 0.2
GUESSED_TOKENS = 4_096  # default of Ollama and LM Studio
SMALL_TOKENS = 16_384  # less is tight for coding
LOCAL_COMPAT = Compat(supports_reasoning_effort=False, cache_control=False)

USUAL_PLACES: Mapping[str, str] = {
    "ollama": "http://127.0.0.1:11434",
    "lm-studio": "http://127.0.0.1:1234",
    "llama.cpp": "http://127.0.0.1:8080",
    "vllm": "http://127.0.0.1:8000",
}
_NAMES = {"ollama": "Ollama", "lm-studio": "LM Studio", "llama.cpp": "llama.cpp", "vllm": "vLLM"}
_QUESTIONS: Mapping[str, Callable[[Server], Awaitable[None]]] = {
    "ollama": ask_ollama,
    "lm-studio": ask_lm_studio,
    "llama.cpp": ask_llama_cpp,
    "vllm": ask_vllm,
}
_LARGER = {
    "ollama": "start Ollama with OLLAMA_CONTEXT_LENGTH=32768",
    "lm-studio": "load the model with a larger context length in LM Studio",
    "llama.cpp": "start llama-server with -c 32768",
    "vllm": "start vLLM with a larger --max-model-len",
}


class DiscoveredServer(Struct, frozen=True, kw_only=True):
    """A server that answers. `note` is for the user and may be empty.

    If a server does not report a model's context size, `Model.context_window` is a conservative guess.
    """

    provider: str
    name: str
    base_url: str
    models: list[Model]
    note: str = ""


async def discover(
    http: Transport,
    environ: Mapping[str, str],
    timeout_s: float = DISCOVERY_TIMEOUT_S,
    places: Mapping[str, str] = USUAL_PLACES,
) -> list[DiscoveredServer]:
    """Return the servers that answer in time, in the order of `places`; never raises.

    Only this machine is probed, unless OLLAMA_HOST names another one.
    """
    servers: dict[str, Server] = {}
    async with asyncio.TaskGroup() as group:
        for provider, usual in places.items():
            place = ollama_place(environ, usual) if provider == "ollama" else usual
            servers[provider] = server = Server(http, place, timeout_s)
            spawn(group, _ask(provider, server, timeout_s))
    guess = _guess(environ)
    return [_found(id, server, guess) for id, server in servers.items() if server.entries is not None]


async def _ask(provider: str, server: Server, timeout_s: float) -> None:
    """What is learned before the timeout stays in `server`."""
    try:
        async with asyncio.timeout(timeout_s):
            await _QUESTIONS[provider](server)
    except TimeoutError:
        pass
    except Exception as error:
        log.debug(f"Probing {provider} at {server.place} failed.", error)


def _guess(environ: Mapping[str, str]) -> int:
    """Ollama's default comes from the server's variable, which is most likely set for us too."""
    told = environ.get("OLLAMA_CONTEXT_LENGTH", "").strip()
    return int(told) if told.isdecimal() and int(told) else GUESSED_TOKENS


def _found(provider: str, server: Server, ollama_guess: int) -> DiscoveredServer:
    guess = ollama_guess if provider == "ollama" else GUESSED_TOKENS
    base_url = f"{server.place}/v1"
    entries = list((server.entries or {}).values())
    models = [_model(provider, base_url, entry, guess) for entry in entries]
    return DiscoveredServer(
        provider=provider,
        name=_NAMES[provider],
        base_url=base_url,
        models=models,
        note=_note(provider, server, models),
    )


def _model(provider: str, base_url: str, entry: ServedModel, guess: int) -> Model:
    window = entry.tokens or min(guess, entry.trained_tokens or guess)
    return Model(
        id=entry.id,
        name=entry.id.rpartition("/")[2].removesuffix(".gguf") if provider == "llama.cpp" else entry.id,
        api="openai-completions",
        provider=provider,
        base_url=base_url,
        reasoning=entry.reasoning,
        input=("text", "image") if entry.images else ("text",),
        context_window=window,
        max_tokens=max(256, min(16_384, window // 4)),
        compat=LOCAL_COMPAT,
    )


def _note(provider: str, server: Server, models: list[Model]) -> str:
    name = _NAMES[provider]
    if not models:
        return f"{name} is running but has no chat model."
    if not server.tools:
        return f"{name}'s chat template lacks tools: start it with --jinja and a template that has them."
    small = min(model.context_window for model in models)
    if small < SMALL_TOKENS:
        return f"{name} serves only {small:,} tokens of context; for coding, {_LARGER[provider]}."
    return ""
