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

from tau.ai.apis import error_codes as codes
from tau.ai.apis import refusals, retry_after, token_limits
from tau.ai.transport import Response
from tau.base import secrets
from tau.base.errors import ErrorKind, ProviderError
from tau.base.sizes import KIB
from tau.base.text import clean_line, sentence, shortened

ID_FIELDS = ("request_id", "requestId", "requestID")
REQUEST_ID_HEADERS = ("request-id", "x-request-id", "x-amzn-requestid", "apim-request-id", "cf-ray")

MAX_SENTENCE_CHARS = 600
MAX_PAGE_CHARS = 64 * KIB  # of a web page, to look for its message
MAX_URL_CHARS = 200
MAX_ID_CHARS = 100
ANOTHER_KEY = "Set another with --api-key, in auth.json or in the provider's environment variable."

SMALLER_REQUEST = "Your plan allows less per minute: compact the conversation, or use another model."
CHECK_NETWORK = "Check your network, your proxy and the base URL."
ANOTHER_MODEL = "List models with tau --list-models."

_NO_MODEL = refusals.sentences("no_model")
_UNPAID = refusals.sentences("unpaid")
_LONG_TEXT = refusals.sentences("long_text")
_DAILY = refusals.sentences("daily")
_MEDIA = refusals.sentences("media")
_BAD_CALL = refusals.sentences("bad_call")
_STALE = refusals.sentences("stale")
_SECRET = re.compile(
    r"\b(?:sk|rk|gsk|csk|xai|hf|tgp|fw|nvapi|pplx)[-_][\w*.…-]{6,}|\bAIza[\w-]{10,}|\beyJ[\w-]{10,}(?:\.[\w-]+)*"
    r"|(?<=bearer )[^\s\"',]+",
    re.I,
)


class ErrorBody(Struct, frozen=True):
    """A parsed error body. `kinds` are its types and codes in lower case, `code` its number if any.

    `param` is the part of the request it blames; `daily`: it names a daily limit; `generation`: what the
    model wrote that the server could not read; `is_page`: it is a web page, so no model server wrote it.
    """

    sentence: str
    kinds: frozenset[str] = frozenset()
    code: int | None = None
    delay_s: float | None = None
    param: str = ""
    daily: bool = False
    generation: str = ""
    is_page: bool = False
    is_json: bool = True
    request_id: str = ""


async def error_from_response(
    response: Response, *, provider: str, key: str | None, answer_tokens: int = 0, utc_offset_h: float = 0
) -> ProviderError:
    """The error for a status of 300 or more; `answer_tokens` is the requested limit.

    Times without a zone are of `utc_offset_h`.
    """
    status, headers = response.status, response.headers
    if status < 400:
        place = headers.get("location", "").partition("?")[0].partition("#")[0]  # a query may have secrets
        what = f"redirects to {shortened(place, MAX_URL_CHARS) or 'another address'}; is the base URL right?"
        return ProviderError(f"{provider} {_redact_keys(what, key)}", status=status)
    try:
        body = await response.read()
    except ProviderError:  # the status says enough
        body = b""
    return error_from_status(
        status,
        headers,
        body,
        now=time.time(),
        provider=provider,
        key=key,
        answer_tokens=answer_tokens,
        utc_offset_h=utc_offset_h,
    )


def error_from_document(body: bytes, *, provider: str, key: str | None) -> ProviderError:
    """The error for a document that came instead of a stream and is no answer."""
    parsed = parse_error_body(body)
    said = _redact_keys(parsed.sentence, key)
    if parsed.is_page:
        return ProviderError(
            f"{provider} sent a web page instead of an answer ({said}); is the base URL right?"
        )
    if parsed.is_json and (said or parsed.kinds):
        return error_from_event(body, provider=provider, key=key)
    return ProviderError(f"{provider} sent a document instead of a stream; is the base URL right?")


def error_from_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float,
    provider: str = "",
    key: str | None = None,
    answer_tokens: int = 0,
    utc_offset_h: float = 0,
) -> ProviderError:
    """The error for an HTTP status of 400 or more. `now` is Unix time in seconds."""
    parsed = parse_error_body(body)
    reason = sentence(_redact_keys(parsed.sentence or _status_phrase(status), key))
    may_retry = status in codes.RETRYABLE_STATUS or (
        status not in codes.KEY_STATUS and bool(parsed.kinds & codes.OVERLOAD_KINDS)
    )
    return _build_error(
        _format_message(provider or "The server", status, reason, parsed),
        status,
        parsed,
        may_retry=may_retry,
        wait_s=retry_after.seconds(
            headers,
            parsed.delay_s,
            now=now,
            reset_time=retry_after.find_reset_time(parsed.sentence),
            utc_offset_h=utc_offset_h,
        ),
        answer_tokens=answer_tokens,
        request_id=next(filter(None, map(headers.get, REQUEST_ID_HEADERS)), parsed.request_id),
    )


def error_from_event(body: bytes, *, provider: str = "", key: str | None = None) -> ProviderError:
    """The error for an event in the middle of an answer.

    The request was accepted, so an unknown failure is the server's and may be temporary.
    """
    parsed = parse_error_body(body)
    status = parsed.code if parsed.code is not None and 400 <= parsed.code < 600 else None
    if status is None and parsed.kinds & codes.RATE_KINDS:
        status = 429
    if status is not None:
        may_retry = status in codes.RETRYABLE_STATUS
    else:
        may_retry = bool(parsed.kinds & codes.SERVER_KINDS) or not parsed.kinds & codes.FINAL_KINDS
    reason = sentence(_redact_keys(parsed.sentence or "no reason given", key))
    message = f"{provider or 'The server'} aborted its answer: {reason}"
    return _build_error(message, status, parsed, may_retry=may_retry, wait_s=parsed.delay_s)


def _build_error(
    message: str,
    status: int | None,
    parsed: ErrorBody,
    *,
    may_retry: bool,
    wait_s: float | None,
    answer_tokens: int = 0,
    request_id: str = "",
) -> ProviderError:
    """The cause decides before the status: billing, the size of the request, an image in it."""
    overflow = _is_overflow(status, parsed)
    is_media = not overflow and _is_media(status, parsed)
    exceeds_plan = token_limits.exceeds_minute(parsed.sentence)
    if exceeds_plan:
        message = f"{message} {SMALLER_REQUEST}"
    is_unpaid = status == 402 or exceeds_plan or _is_unpaid(parsed)
    declined = bool(parsed.kinds & codes.FILTER_KINDS)
    retryable = may_retry and not (overflow or is_media or is_unpaid or declined)
    if request_id := shortened(clean_line(request_id or parsed.request_id), MAX_ID_CHARS):
        message = f"{message.removesuffix('.')} (request {request_id})."
    exhausted = retryable and (parsed.daily or (wait_s is None and status == 429 and _names_day(parsed)))
    return ProviderError(
        message,
        status=status,
        retryable=retryable,
        retry_after=wait_s if retryable and not exhausted else None,
        overflow=overflow,
        quota=is_unpaid or exhausted,
        media=is_media,
        answer_limit=token_limits.parse_answer_limit(parsed.sentence, answer_tokens),
        window=token_limits.parse_shared_window(parsed.sentence) or None,
        bad_call=_describe_bad_call(parsed),
        blames_network=status == 403 and parsed.is_page,
        kind=_kind(status, parsed, overflow=overflow, unpaid=is_unpaid, exhausted=exhausted),
        request_id=request_id,
    )


def _kind(
    status: int | None, parsed: ErrorBody, *, overflow: bool, unpaid: bool, exhausted: bool
) -> ErrorKind:
    if overflow:
        return "overflow"
    if _is_stale(status, parsed):
        return "staleReasoning"
    if unpaid:
        return "payment"
    if exhausted:
        return "quota"
    for known, kind in codes.KIND_BY_CODE:
        if parsed.kinds & known:
            return kind
    if status is None:
        return "invalid" if parsed.kinds & codes.FINAL_KINDS else "bug"
    return codes.KIND_BY_STATUS.get(status, "invalid" if status < 500 else "bug")


def _is_stale(status: int | None, parsed: ErrorBody) -> bool:
    """Opaque reasoning of an earlier answer is refused, perhaps because the key has changed."""
    if status is not None and status not in codes.STALE_STATUS:
        return False
    return bool(parsed.kinds & codes.STALE_KINDS) or _STALE.search(parsed.sentence) is not None


def cut_off(provider: str) -> ProviderError:
    """The connection closed before the answer ended."""
    return ProviderError(f"The answer from {provider} was cut off.", retryable=True)


def declined(provider: str, why: str) -> ProviderError:
    """The model or a filter declined to answer; retrying would not help."""
    return ProviderError(f"{provider} declined to answer: {why}", kind="contentFilter")


def parse_error_body(body: bytes) -> ErrorBody:
    """Parse the vendor's message and codes from any known shape."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = _plain(body.decode("utf-8", "replace"))
        is_page = body.lstrip().startswith(b"<")
        return ErrorBody(text, delay_s=retry_after.in_text(text), is_page=is_page, is_json=False)
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        text = _plain(value)
        return ErrorBody(text, delay_s=retry_after.in_text(text))
    if not isinstance(value, dict):
        return ErrorBody("")
    return _from_object(value)


def _from_object(value: dict[str, Any]) -> ErrorBody:
    error = value.get("error")
    if isinstance(error, str):
        error = {"message": error, "code": value.get("code"), "type": value.get("type")}
    if not isinstance(error, dict):
        error = value
    message = next(_sentences(error, value), "")
    if isinstance(error.get("metadata"), dict) and isinstance(raw := error["metadata"].get("raw"), str):
        inner = parse_error_body(raw.encode("utf-8", "replace"))
        message = inner.sentence or message  # a router wraps the vendor's error
    code = _number(error.get("code"))
    named = (error.get("type"), error.get("code"), error.get("status"))
    kinds = frozenset(kind.lower() for kind in named if isinstance(kind, str))
    delay = retry_after.in_details(error)
    text = _plain(message)
    generation = error.get("failed_generation")
    return ErrorBody(
        text,
        kinds,
        code,
        retry_after.in_text(text) if delay is None else delay,
        param if isinstance(param := error.get("param"), str) else "",
        _is_daily(error.get("details")),
        shortened(" ".join(generation.split()), MAX_SENTENCE_CHARS) if isinstance(generation, str) else "",
        request_id=next((id for name in ID_FIELDS if isinstance(id := value.get(name), str)), ""),
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
    text = text[:MAX_PAGE_CHARS]
    if "<" in text and (title := _between(text, "<title", "</title").partition(">")[2].strip()):
        text = title
    elif "<html" in text.lower() or text.lstrip().startswith("<"):
        text = _without_markup(text)
    return shortened(" ".join(text.split()), MAX_SENTENCE_CHARS)


def _between(text: str, start: str, end: str) -> str:
    lower = text.lower()
    begin = lower.find(start)
    stop = lower.find(end, begin)
    return text[begin:stop] if 0 <= begin < stop else ""


def _without_markup(text: str) -> str:
    """The text of a page. In linear time, which regular expressions would not take."""
    first, *parts = text.split("<")
    kept = [first]
    hidden = ""  # in a script or a style sheet
    for part in parts:
        tag, _, rest = part.partition(">")
        name = tag.split(None, 1)[0].lower() if tag.strip() else ""
        if hidden:
            hidden = "" if name == f"/{hidden}" else hidden
        elif name in ("script", "style"):
            hidden = name
        if not hidden:
            kept.append(rest)
    return " ".join(kept)


def _redact_keys(text: str, key: str | None) -> str:
    """Remove keys from the text: servers echo them, even shortened, and we never do."""
    if key and len(key) > 3:
        text = text.replace(key, "[key]")
    return secrets.mask(_SECRET.sub("[key]", text))


def _status_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "no reason given"


def _format_message(provider: str, status: int, reason: str, parsed: ErrorBody) -> str:
    if status == 401:
        return f"{provider} rejected the API key (401): {reason} {ANOTHER_KEY}"
    if status == 403 and parsed.is_page:
        return f"A proxy or firewall refused the request to {provider} (403): {reason} {CHECK_NETWORK}"
    if status == 403:
        return f"{provider} does not allow this with the current API key (403): {reason} {ANOTHER_KEY}"
    no_model = _is_no_model(status, parsed)
    return f"{provider} answered {status}: {reason}{f' {ANOTHER_MODEL}' if no_model else ''}"


def _is_no_model(status: int, parsed: ErrorBody) -> bool:
    """The server answers, but does not have the requested model."""
    if status == 404:
        return "model" in parsed.sentence.lower() or "model_not_found" in parsed.kinds
    return status == 400 and (
        "model_not_found" in parsed.kinds or _NO_MODEL.search(parsed.sentence) is not None
    )


def _is_overflow(status: int | None, parsed: ErrorBody) -> bool:
    if (status is not None and status not in codes.OVERFLOW_STATUS) or parsed.kinds & codes.RATE_KINDS:
        return False
    if parsed.kinds & codes.OVERFLOW_KINDS - {"request_too_large"}:
        return True
    if "string_above_max_length" in parsed.kinds:
        return _LONG_TEXT.search(f"{parsed.param} {parsed.sentence}") is not None
    if token_limits.is_overflow(parsed.sentence, server_error=status == 500):
        return True
    too_large = status == 413 or "request_too_large" in parsed.kinds
    return too_large and not _is_media(status, parsed) and not token_limits.is_rate_limit(parsed.sentence)


def _is_media(status: int | None, parsed: ErrorBody) -> bool:
    if status not in codes.MEDIA_STATUS:
        return False
    return (
        bool(parsed.kinds & codes.MEDIA_KINDS)
        or _MEDIA.search(f"{parsed.sentence} {parsed.param}") is not None
    )


def _is_unpaid(parsed: ErrorBody) -> bool:
    """Waiting does not fix billing; but a server that names a delay means a rate limit."""
    if parsed.kinds & codes.QUOTA_KINDS:
        return True
    return parsed.delay_s is None and _UNPAID.search(parsed.sentence) is not None


def _describe_bad_call(parsed: ErrorBody) -> str:
    """What to tell the model about a call that the server could not read; empty if it is not about one."""
    if "tool_use_failed" not in parsed.kinds and not _BAD_CALL.search(parsed.sentence):
        return ""
    wrote = f" You wrote: {parsed.generation}" if parsed.generation else ""
    return f"the server rejected it: {sentence(parsed.sentence)}{wrote}"


def _names_day(parsed: ErrorBody) -> bool:
    return _DAILY.search(parsed.sentence) is not None
