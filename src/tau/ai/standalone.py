"""Models without a session: `tau.ai.stream` and `tau.ai.complete`."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.assembler import Assembler
from tau.ai.auth import KeyRetry
from tau.ai.catalog import Provider, load_catalog, pick_model
from tau.ai.client import Client
from tau.ai.dialect import Delta, Request
from tau.ai.http import HttpTransport
from tau.ai.model import Model
from tau.ai.normalization import normalize_history, without_opaque_reasoning
from tau.ai.stream_events import AssistantMessageEvent
from tau.ai.wire import AssistantMessage, UserMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, ProviderError


class VariableCredentials(Struct, frozen=True):
    """Keys from the variables of the providers, or the one that was given."""

    providers: Mapping[str, Provider]
    environ: Mapping[str, str]
    key: str | None = None

    async def get(self, provider: str) -> str | None:
        row = self.providers.get(provider)
        names = row.key_variables if row else []
        found = self.key or next(filter(None, (self.environ.get(name, "").strip() for name in names)), None)
        if found is None and names and not (row and row.local):
            raise ConfigError(f"No API key for {provider}: set {' or '.join(names)}, or pass key.")
        return found

    async def refresh(self, provider: str, rejected: str) -> str | None:
        return None

    async def rotate(self, provider: str, failed: str, *, refused: bool, wait_s: float | None) -> KeyRetry:
        return KeyRetry()


async def stream(
    model: str | Model,
    prompt: str | Request,
    *,
    system: str = "",
    key: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AsyncGenerator[AssistantMessageEvent | AssistantMessage, None]:
    """Yield the events of an answer, then the message. Raises TauError.

    `model` is a pattern such as `anthropic/claude-haiku-4-5`, or a `Model` of your own. `prompt` is text, or
    a `Request` with messages and tools. No file is read and nothing is retried, except without earlier
    reasoning that the server no longer accepts.
    """
    catalog = load_catalog()
    usable = [
        id for id, row in catalog.providers.items() if any(environ.get(name) for name in row.key_variables)
    ]
    match = pick_model(catalog, model, prefer=usable) if isinstance(model, str) else None
    chosen = match.model if match is not None else model
    assert isinstance(chosen, Model)
    if isinstance(prompt, Request):
        request = prompt
    else:
        thinking = (match.thinking if match is not None else None) or "off"
        request = Request(
            system=system,
            messages=[UserMessage(prompt, now_ms())],
            tools=[],
            max_tokens=chosen.max_tokens,
            thinking=chosen.clamp_thinking(thinking),
        )
    http = HttpTransport(environ)
    client = Client(http, VariableCredentials(catalog.providers, environ, key))
    assembler = Assembler(chosen, now_ms())
    try:
        async with aclosing(_answer(client, chosen, request)) as deltas:
            async for delta in deltas:
                for event in assembler.feed(delta):
                    yield event
    finally:
        await http.close()
    if assembler.done is None:
        raise ProviderError("The answer is incomplete.", retryable=True)
    yield assembler.message(assembler.stop_reason)


async def _answer(client: Client, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
    started = False
    try:
        async with aclosing(client.stream(model, request)) as deltas:
            async for delta in deltas:
                started = True
                yield delta
        return
    except ProviderError as error:
        bare = [without_opaque_reasoning(message, model) for message in request.messages]
        if started or error.kind != "staleReasoning" or not any(bare):
            raise
        log.warning(f"{model.key} refused its earlier reasoning; asking again without it: {error}")
    kept = [new or old for new, old in zip(bare, request.messages, strict=True)]
    request = replace(request, messages=normalize_history(kept, model))
    async with aclosing(client.stream(model, request)) as deltas:
        async for delta in deltas:
            yield delta


async def complete(
    model: str | Model,
    prompt: str | Request,
    *,
    system: str = "",
    key: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AssistantMessage:
    """Return the whole answer; see `stream`."""
    async with aclosing(stream(model, prompt, system=system, key=key, environ=environ)) as events:
        async for event in events:
            if isinstance(event, AssistantMessage):
                return event
    raise ProviderError("The answer is incomplete.", retryable=True)
