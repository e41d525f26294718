"""Turns an error response into one `ProviderError`: the vendor's message, and whether to retry.

Only explicit signals count: the status, error codes and known wordings. Numbers that happen to be in a text
do not.
"""

import re
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from tau.ai.apis import media, retry_after
from tau.ai.transport import Response
from tau.base.errors import ProviderError
from tau.base.text import sentence, shortened

RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
KEY_STATUS = frozenset({401, 403})
OVERFLOW_STATUS = frozenset({400, 413, 422})
OVERLOAD_KINDS = frozenset(
    {
        "overloaded_error",
        "engine_overloaded_error",
        "server_is_overloaded",
        "rate_limit_error",
        "rate_limit_exceeded",
        "too_many_requests",
        "resource_exhausted",
        "unavailable",
    }
)
SERVER_KINDS = OVERLOAD_KINDS | {
    "api_error",
    "timeout_error",
    "server_error",
    "internal_error",
    "internal_server_error",
    "service_unavailable",
}
FINAL_KINDS = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "billing_error",
        "invalid_api_key",
        "model_not_found",
        "invalid_argument",
    }
)
QUOTA_KINDS = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
        "exceeded_current_quota_error",
    }
)
OVERFLOW_KINDS = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "request_too_large",
        "string_above_max_length",
    }
)

RATE_KINDS = frozenset({"rate_limit_error", "rate_limit_exceeded", "too_many_requests"})

MAX_SENTENCE_CHARS = 600
ANOTHER_KEY = "Set another with --api-key, in auth.json or in the provider's environment variable."

ANOTHER_MODEL = "List models with tau --list-models."

_NO_MODEL = re.compile(
    r"\bmodel\b.{0,120}\b(?:not found|(?:does )?not exist|not (?:a )?valid|unknown)"
    r"|\b(?:unknown|invalid|no such) model\b|\bnot a valid model\b",
    re.I,
)
_QUOTA = re.compile(
    r"credit balance is too low|insufficient (?:balance|credits|funds)|out of credits|requires more credits"
    r"|check your plan and billing|billing (?:hard )?limit|spending limit|payment required",
    re.I,
)
_DAILY = re.compile(r"\b(?:per[- ](?:day|week|month)|daily|weekly|monthly|[RT]PD)\b", re.I)
_OVERFLOW = re.compile(
    r"prompt is too long|prompt too long|input is too long|context[_ ]length[_ ]exceeded"
    r"|(?:maximum|max|model'?s) context length|maximum prompt length"
    r"|exceeds? (?:the |your )?(?:available |model'?s )?context (?:size|window|limit|length)"
    r"|(?:longer|greater|larger) than the (?:model'?s )?context (?:length|window|size)"
    r"|context window exceeds|exceeded model token limit|reduce the length of the messages"
    r"|input token count.{0,40} exceeds the maximum|maximum allowed input length"
    r"|too large for model with \d+ maximum context",
    re.I,
)
_SECRET = re.compile(
    r"\b(?:sk|rk|gsk|csk|xai|hf|tgp|fw|nvapi|pplx)[-_][\w*.…-]{6,}|\bAIza[\w-]{10,}|\beyJ[\w-]{10,}(?:\.[\w-]+)*"
    r"|(?<=bearer )[^\s\"',]+",
    re.I,
)
_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.I | re.S)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.I | re.S)


class ErrorBody(Struct, frozen=True):
    """A parsed error body. `kinds` are its types and codes in lower case, `code` its number if any.

    `param` is the part of the request it blames; `daily`: it names a daily limit.
    """

    sentence: str
    kinds: frozenset[str] = frozenset()
    code: int | None = None
    delay_s: float | None = None
    param: str = ""
    daily: bool = False


async def refusal(response: Response, *, provider: str, key: str | None) -> ProviderError:
    """The error for a response that is not an event stream."""
    status, headers = response.status, response.headers
    body = await response.read()
    if status >= 400:
        return failure(status, headers, body, now=time.time(), provider=provider, key=key)
    if status >= 300:
        what = f"redirects to {headers.get('location', 'another address')}; is the base URL right?"
        return ProviderError(f"{provider} {_safe(what, key)}", status=status)
    if headers.get("content-type", "").startswith("application/json"):
        return stream_failure(body, provider=provider, key=key)
    page = _safe(complaint(body).sentence, key)
    return ProviderError(f"{provider} sent a web page instead of an answer ({page}); is the base URL right?")


def failure(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float,
    provider: str = "",
    key: str | None = None,
) -> ProviderError:
    """The error for an HTTP status of 400 or more. `now` is Unix time in seconds."""
    said = complaint(body)
    reason = sentence(_safe(said.sentence or _phrase(status), key))
    may_pass = status in RETRYABLE_STATUS or (status not in KEY_STATUS and bool(said.kinds & OVERLOAD_KINDS))
    return _judged(
        _worded(provider or "The server", status, reason, no_model=_is_no_model(status, said)),
        status,
        said,
        may_pass=may_pass,
        wait_s=retry_after.seconds(headers, said.delay_s, now=now),
    )


def stream_failure(body: bytes, *, provider: str = "", key: str | None = None) -> ProviderError:
    """The error for an event in the middle of an answer.

    The request was accepted, so an unknown failure is the server's and may be temporary.
    """
    said = complaint(body)
    status = said.code if said.code is not None and 400 <= said.code < 600 else None
    if status is None and said.kinds & RATE_KINDS:
        status = 429
    if status is not None:
        may_pass = status in RETRYABLE_STATUS
    else:
        may_pass = bool(said.kinds & SERVER_KINDS) or not said.kinds & FINAL_KINDS
    reason = sentence(_safe(said.sentence or "no reason given", key))
    message = f"{provider or 'The server'} aborted its answer: {reason}"
    return _judged(message, status, said, may_pass=may_pass, wait_s=said.delay_s)


def _judged(
    message: str, status: int | None, said: ErrorBody, *, may_pass: bool, wait_s: float | None
) -> ProviderError:
    """The cause decides before the status: billing, the size of the request, an image in it."""
    overflow = _is_overflow(status, said)
    unwanted = not overflow and _is_media(status, said)
    unpaid = status == 402 or _is_unpaid(said)
    passing = may_pass and not overflow and not unwanted and not unpaid
    used_up = passing and (said.daily or (wait_s is None and status == 429 and _names_day(said)))
    return ProviderError(
        message,
        status=status,
        retryable=passing,
        retry_after=wait_s if passing and not used_up else None,
        overflow=overflow,
        quota=unpaid or used_up,
        media=unwanted,
    )


def cut_off(provider: str) -> ProviderError:
    """The connection closed before the answer ended."""
    return ProviderError(f"The answer from {provider} was cut off.", retryable=True)


def refused(provider: str, why: str) -> ProviderError:
    """The model or a filter declined to answer; retrying would not help."""
    return ProviderError(f"{provider} declined to answer: {why}")


def complaint(body: bytes) -> ErrorBody:
    """Parse the vendor's message and codes from any known shape."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = _plain(body.decode("utf-8", "replace"))
        return ErrorBody(text, delay_s=retry_after.in_text(text))
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        return ErrorBody(_plain(value), delay_s=retry_after.in_text(value))
    if not isinstance(value, dict):
        return ErrorBody("")
    return _from_object(value)


def _from_object(value: dict[str, Any]) -> ErrorBody:
    error = value.get("error")
    if isinstance(error, str):
        error = {"message": error, "code": value.get("code"), "type": value.get("type")}
    if not isinstance(error, dict):
        error = value
    said = next(_sentences(error, value), "")
    if isinstance(error.get("metadata"), dict) and isinstance(raw := error["metadata"].get("raw"), str):
        inner = complaint(raw.encode("utf-8", "replace"))
        said = inner.sentence or said  # a router wraps the vendor's error
    code = _number(error.get("code"))
    named = (error.get("type"), error.get("code"), error.get("status"))
    kinds = frozenset(kind.lower() for kind in named if isinstance(kind, str))
    delay = retry_after.in_details(error)
    return ErrorBody(
        _plain(said),
        kinds,
        code,
        retry_after.in_text(said) if delay is None else delay,
        param if isinstance(param := error.get("param"), str) else "",
        _is_daily(error.get("details")),
    )


def _is_daily(details: Any) -> bool:
    """Google names the exceeded limits; the delay next to them does not apply to daily ones."""
    for detail in details if isinstance(details, list) else ():
        violations = detail.get("violations") if isinstance(detail, dict) else None
        for violation in violations if isinstance(violations, list) else ():
            if isinstance(violation, dict) and "perday" in str(violation.get("quotaId", "")).lower():
                return True
    return False


def _sentences(error: dict[str, Any], value: dict[str, Any]) -> Iterator[str]:
    for place in (error, value):
        for name in ("message", "detail", "error_description", "msg", "title"):
            found = place.get(name)
            if isinstance(found, list) and found:
                found = found[0].get("msg") if isinstance(found[0], dict) else found[0]
            if isinstance(found, str) and found.strip():
                yield found
    errors = value.get("errors")
    if isinstance(errors, list) and errors:
        first = errors[0]
        yield str(first.get("message", "")) if isinstance(first, dict) else str(first)


def _number(item: object) -> int | None:
    if isinstance(item, str) and item.isascii() and item.isdigit():
        return int(item)
    return item if isinstance(item, int) else None


def _plain(text: str) -> str:
    """One line without markup, truncated to a readable length."""
    if "<" in text and (title := _TITLE.search(text)) and title[1].strip():
        text = title[1]
    elif "<html" in text.lower() or text.lstrip().startswith("<"):
        text = _MARKUP.sub(" ", text)
    return shortened(" ".join(text.split()), MAX_SENTENCE_CHARS)


def _safe(text: str, key: str | None) -> str:
    """Remove keys from the text: servers echo them, we never do."""
    if key and len(key) > 3:
        text = text.replace(key, "[key]")
    return _SECRET.sub("[key]", text)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "no reason given"


def _worded(provider: str, status: int, reason: str, *, no_model: bool) -> str:
    if status == 401:
        return f"{provider} rejected the API key (401): {reason} {ANOTHER_KEY}"
    if status == 403:
        return f"{provider} does not allow this with the current API key (403): {reason} {ANOTHER_KEY}"
    return f"{provider} answered {status}: {reason}{f' {ANOTHER_MODEL}' if no_model else ''}"


def _is_no_model(status: int, said: ErrorBody) -> bool:
    """The server answers, but does not have the requested model."""
    if status == 404:
        return "model" in said.sentence.lower() or "model_not_found" in said.kinds
    return status == 400 and ("model_not_found" in said.kinds or _NO_MODEL.search(said.sentence) is not None)


def _is_overflow(status: int | None, said: ErrorBody) -> bool:
    if status is not None and status not in OVERFLOW_STATUS:
        return False
    if bool(said.kinds & OVERFLOW_KINDS - {"request_too_large"}) or _OVERFLOW.search(said.sentence):
        return True
    too_large = status == 413 or "request_too_large" in said.kinds
    return too_large and not _is_media(status, said)


def _is_media(status: int | None, said: ErrorBody) -> bool:
    return media.is_refused(status, said.kinds, f"{said.sentence} {said.param}")


def _is_unpaid(said: ErrorBody) -> bool:
    """Waiting does not fix billing; but a server that names a delay means a rate limit."""
    if said.kinds & QUOTA_KINDS:
        return True
    return said.delay_s is None and _QUOTA.search(said.sentence) is not None


def _names_day(said: ErrorBody) -> bool:
    return _DAILY.search(said.sentence) is not None
