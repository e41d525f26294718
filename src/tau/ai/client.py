"""Sends requests to model servers: finds the key and the dialect, and detects stalled answers."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tau.ai.apis import dialect
from tau.ai.auth import Credentials
from tau.ai.dialect import Delta, Endpoint, Request, Tokens
from tau.ai.model import Model
from tau.ai.proxy import is_loopback, parse_url
from tau.ai.stall_watch import StallWatch
from tau.ai.transport import Response, Timeouts, Transport
from tau.base.errors import ProviderError
from tau.base.late import late

text_calls = late("tau.ai.text_calls.answer")

MAX_KEYS = 16  # to try for one request
_ADVICE = "Serve the model with a larger context, or start a new session."


class _WatchedTransport(Struct, frozen=True):
    """Reports responses: their status and headers."""

    http: Transport
    seen: Callable[[int, Mapping[str, str]], None]

    @asynccontextmanager
    async def open(self, method: str, url: str, **more: Any) -> AsyncIterator[Response]:
        async with self.http.open(method, url, **more) as response:
            self.seen(response.status, response.headers)
            yield response

    async def close(self) -> None:
        await self.http.close()


class Client(Struct):
    """The agent loop calls `stream`. A failed key is replaced by another one if there is one.

    `address` is where a model's server is, for this user.
    `may_send_plain` says if the user allows a key over unencrypted HTTP to a host.
    `warn` reports that, and `warn_of_context` a local server that reads less than it was sent: such servers
    silently drop the start of a prompt that is too long. `on_headers` gets the headers of each response, with
    provider and key; `on_response` its status too.
    """

    http: Transport
    credentials: Credentials
    timeouts: Timeouts = Timeouts()
    warn: Callable[[str], None] = lambda warning: None
    warn_of_context: Callable[[str], None] = lambda warning: None
    may_send_plain: Callable[[Model, str], bool] = lambda model, host: False
    address: Callable[[Model], str] = lambda model: model.base_url
    on_headers: Callable[[str, str, Mapping[str, str]], None] | None = None
    on_response: Callable[[Model, int, Mapping[str, str]], None] | None = None
    on_refused: Callable[[str, str], None] | None = None  # a provider refused a key, and why
    _checked_messages: int = 0
    _has_warned: bool = False

    async def stream(self, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        if (address := self.address(model)) != model.base_url:
            model = replace(model, base_url=address)
        key = await self.credentials.get(model.provider)
        if key is not None:
            self._require_encryption(model)
        tried: list[str] = []
        renewed = False
        while True:
            started = False
            try:
                async with aclosing(self._attempt(model, request, key)) as deltas:
                    async for delta in deltas:
                        started = True
                        yield delta
                return
            except ProviderError as error:
                if key is None or not error.blames_key or len(tried) >= MAX_KEYS:
                    raise
                renew = error.status == 401 and not renewed
                renewed = renewed or renew
                other = await self._other_key(model.provider, key, error, renew=renew)
                if other is None or other in tried:
                    raise
                if started:  # streamed output cannot be undone here; the next attempt has the other key
                    raise ProviderError(str(error), status=error.status, retryable=True) from error
                tried.append(key)
                key = other

    def _require_encryption(self, model: Model) -> None:
        """Raises ProviderError instead of sending a key readable for everyone on the way."""
        url = parse_url(model.base_url)
        if url.scheme == "https" or is_loopback(url) or self.may_send_plain(model, url.host):
            return
        raise ProviderError(
            f"Your key for {model.provider} was not sent to {url.host}, because http:// is not encrypted:"
            f' use https://, or add "{url.host}" to the setting keys.plainHttpHosts.'
        )

    async def _other_key(self, provider: str, key: str, error: ProviderError, *, renew: bool) -> str | None:
        """A key to continue with now. If all are blocked, the error says when the first is free.

        With `renew`, the key is looked up again first: it may have been replaced.
        """
        if renew:
            renewed = await self.credentials.refresh(provider, key)
            if renewed not in (None, key):
                return renewed
        if error.key_refused and self.on_refused is not None:
            self.on_refused(provider, str(error))
        wait_s = error.retry_after
        retry = await self.credentials.rotate(provider, key, refused=error.key_refused, wait_s=wait_s)
        if retry.key is not None:
            why = "rejects the current key" if error.key_refused else "rate-limits the current key"
            self.warn(f"{provider} {why}; switching to another one from auth.json.")
        elif retry.wait_s is not None:
            raise ProviderError(
                str(error), status=error.status, retryable=True, retry_after=retry.wait_s
            ) from error
        return retry.key

    async def _attempt(self, model: Model, request: Request, key: str | None) -> AsyncGenerator[Delta, None]:
        headers = model.headers
        if model.compat.affinity_header and request.cache_key:
            headers = {model.compat.affinity_header: request.cache_key, **headers}
        endpoint = Endpoint(base_url=model.base_url, key=key, headers=headers)
        # Comparing costs as much as sending, so do it only when the conversation has doubled.
        check_size = (
            not self._has_warned
            and len(request.messages) >= 2 * self._checked_messages
            and is_loopback(parse_url(model.base_url))
        )
        read_tokens: int | None = None
        reads_text = model.compat.text_calls or model.compat.think_tags
        reader = text_calls.AnswerReader(model, request) if reads_text else None
        limits = self.timeouts
        http = self.http
        if (self.on_headers is not None and key is not None) or self.on_response is not None:
            http = _WatchedTransport(http, partial(self._report_response, model, key))
        deltas = dialect(model.api)(model, request, endpoint, http)
        watched = StallWatch(deltas, first_s=limits.first_byte, idle_s=limits.idle, what=model.key)
        async with aclosing(watched):
            async for delta in watched:
                if check_size and isinstance(delta, Tokens) and delta.input is not None:
                    read_tokens = delta.input + (delta.cache_read or 0) + (delta.cache_write or 0)
                if reader is None:
                    yield delta
                else:
                    for found in reader.read(delta):
                        yield found
        if check_size:
            self._checked_messages = len(request.messages)
            self._warn_of_truncation(model, request, read_tokens)

    def _report_response(
        self, model: Model, key: str | None, status: int, headers: Mapping[str, str]
    ) -> None:
        if self.on_headers is not None and key is not None:
            self.on_headers(model.provider, key, headers)
        if self.on_response is not None:
            self.on_response(model, status, headers)

    def _warn_of_truncation(self, model: Model, request: Request, read_tokens: int | None) -> None:
        sent = msgspec.json.encode((request.system, request.messages, request.tools), enc_hook=str)
        if b'"type":"image"' in sent:
            return  # an image's bytes say nothing about its tokens
        warning = context_warning(model.context_window, len(sent) // 4, read_tokens)
        if warning is not None:
            self._has_warned = True
            self.warn_of_context(warning)


def context_warning(
    served_window: int | None, prompt_tokens_estimate: int, reported_prompt_tokens: int | None
) -> str | None:
    """A warning if the server cannot hold, or did not read, the whole prompt.

    `reported_prompt_tokens` is what the server says it read, including cached tokens. Local servers silently
    drop the start, which has the instructions and the tools. The estimate (bytes / 4) is rough, so only a
    large difference counts.
    """
    if reported_prompt_tokens is not None and reported_prompt_tokens > 0:
        missing = prompt_tokens_estimate - reported_prompt_tokens
        if missing > 1_000 and reported_prompt_tokens * 2 < prompt_tokens_estimate:
            return (
                f"The server read only {reported_prompt_tokens:,} of about {prompt_tokens_estimate:,} "
                f"tokens: it dropped the start of the conversation. {_ADVICE}"
            )
        return None
    if served_window is not None and prompt_tokens_estimate > served_window:
        return (
            f"The prompt is about {prompt_tokens_estimate:,} tokens, but the server holds {served_window:,}: "
            f"its start will be lost. {_ADVICE}"
        )
    return None
