"""Parses what a refusal says about tokens: the window, the longest answer, a plan's tokens per minute."""

import re

from msgspec import Struct

from tau.ai.apis import refusals

MIN_WINDOW_TOKENS = 512
MIN_ANSWER_TOKENS = 1024  # with room for less, the conversation must shrink

_N = r"[0-9][0-9,_]{0,11}"
_OVERFLOW = refusals.sentences("overflow")
_EXCEEDS = refusals.sentences("exceeds")
_PER_MINUTE = refusals.sentences("per_minute")
_TOO_MUCH_PER_MINUTE = re.compile(
    rf"(?:\bTPM\b|tokens per min(?:ute)?).{{0,60}}?limit:? ({_N})\b.{{0,40}}?requested:? ({_N})", re.I
)
# Prompt and answer do not fit together: w is the window, p the prompt, a the answer, t prompt and answer.
_TOGETHER = refusals.limits("together")
_LONGEST_ANSWER = refusals.limits("longest_answer")
_WINDOW = refusals.limits("window")
_REQUESTED = refusals.limits("requested")


class ServerLimit(Struct, frozen=True):
    """The window, and the size of the prompt that did not fit; 0 if the server did not say."""

    window: int = 0
    requested: int = 0


def is_overflow(text: str, *, server_error: bool) -> bool:
    """Whether a refusal means that the request does not fit into the window."""
    if _OVERFLOW.search(text) is None or is_rate_limit(text):
        return False
    return not server_error or _EXCEEDS.search(text) is not None


def is_rate_limit(text: str) -> bool:
    return _PER_MINUTE.search(text) is not None


def exceeds_minute(text: str) -> bool:
    """Whether one request takes more tokens than a plan allows per minute: waiting does not help."""
    found = _TOO_MUCH_PER_MINUTE.search(text)
    return found is not None and _int(found[2]) > _int(found[1])


def parse_answer_limit(text: str, asked_tokens: int) -> int | None:
    """The longest answer the server would allow for the same prompt; None if it does not say.

    `asked_tokens` is how long the answer was allowed to be.
    """
    limit = 0
    if (found := _TOO_MUCH_PER_MINUTE.search(text)) is not None and exceeds_minute(text):
        limit = asked_tokens - (_int(found[2]) - _int(found[1])) if asked_tokens else 0
    elif (found := _together(text)) is not None:
        groups = found.groupdict()
        # "At least": the server stopped counting, so the prompt may be longer.
        limit = _int(groups["a"]) // 2 if groups.get("least") else _int(groups["w"]) - _prompt(groups)
    else:
        limit = _first(_LONGEST_ANSWER, text)
    return limit if limit >= MIN_ANSWER_TOKENS else None


def parse_server_limit(text: str) -> ServerLimit:
    """Parse the token counts in an error about a request that is too large."""
    if (found := _together(text)) is not None:
        groups = found.groupdict()
        return ServerLimit(_int(groups["w"]), 0 if groups.get("least") else _prompt(groups))
    window, requested = _first(_WINDOW, text), _first(_REQUESTED, text)
    if window < MIN_WINDOW_TOKENS or (requested and requested < window):
        return ServerLimit()
    return ServerLimit(window, requested)


def parse_shared_window(text: str) -> int:
    """The window that prompt and answer did not fit into together; 0 if the error is about something else."""
    found = _together(text)
    return 0 if found is None else _int(found["w"])


def _together(text: str) -> re.Match[str] | None:
    return next(filter(None, (re.search(pattern, text, re.I) for pattern in _TOGETHER)), None)


def _prompt(groups: dict[str, str]) -> int:
    return _int(groups["p"]) if groups.get("p") else _int(groups["t"]) - _int(groups["a"])


def _first(patterns: tuple[str, ...], text: str) -> int:
    for pattern in patterns:
        if (found := re.search(pattern, text, re.I)) is not None:
            return _int(found[1])
    return 0


def _int(digits: str) -> int:
    return int(digits.replace(",", "").replace("_", ""))
