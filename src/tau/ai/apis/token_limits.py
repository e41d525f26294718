"""Parses what a refusal says about tokens: the window, the longest answer, a plan's tokens per minute."""

import re

from msgspec import Struct

MIN_WINDOW_TOKENS = 512
MIN_ANSWER_TOKENS = 1024  # with room for less, the conversation must shrink

_N = r"[0-9][0-9,_]{0,11}"
_LARGE = r"[0-9][0-9,_]{2,11}"
_SIZE = r"(?: \([\w ]{1,40}\))?"
_OVERFLOW = re.compile(
    rf"(?:prompt|input)s?{_SIZE} (?:is |are )?too long|context[_ ](?:length|size)(?: has been)?[_ ]exceeded"
    r"|context(?:window|length)exceeded|(?:maximum|max|model'?s) context length|maximum prompt length"
    r"|exceeds? (?:the |your )?(?:available |model'?s |max(?:imum)? )?context (?:size|window|limit|length)"
    r"|(?:longer|greater|larger) than the (?:maximum |model'?s )?(?:context|model) (?:length|window|size)"
    r"|(?:exceed(?:s|ed)?|longer than) (?:the )?(?:model'?s )?max(?:imum)?[_ ]seq(?:uence)?[_ ]len"
    r"|context window (?:exceeds|exceeded|limit)|exceeded model token limit"
    r"|reduce the length of the (?:messages|input)"
    r"|input token count.{0,40} (?:exceeds the maximum|supports up to)|maximum allowed input length"
    r"|too large for model with \d+ maximum context"
    rf"|(?:prompt|input)[\w ]{{0,20}} tokens?[\w ]{{0,20}}(?:\({_N}\) )?(?:exceeds?|exceeded|cannot exceed)"
    rf"|prompt token count of {_N} exceeds"
    rf"|(?:prompt|input)(?: length)?(?: {_N})?{_SIZE} exceeds? (?:the )?max(?:imum)?"
    rf"|(?:length of )?prompt_tokens \({_N}\) must be less than|requested tokens \({_N}\) exceed"
    r"|tokens in request more than max tokens|range of input length should be"
    rf"|`inputs` must have less than {_N} tokens|`inputs` tokens \+ `max_new_tokens` must be"
    r"|too many tokens: |total tokens.{0,40} exceed max|context the overflows"
    r"|loaded with context length of only"
    r"|(?:request|body) too large for [\w.-]+ model\. max size",
    re.I,
)
# A server's own failures also mention the window; these say that the request does not fit.
_EXCEEDS = re.compile(r"exceed|too (?:long|large|many)|(?:longer|greater|larger|more) than|overflow", re.I)
_PER_MINUTE = re.compile(r"\b(?:TPM|tokens per (?:min(?:ute)?|day|hour)|rate[ _-]?limit)", re.I)
_TOO_MUCH_PER_MINUTE = re.compile(
    rf"(?:\bTPM\b|tokens per min(?:ute)?).{{0,60}}?limit:? ({_N})\b.{{0,40}}?requested:? ({_N})", re.I
)
# Prompt and answer do not fit together: w is the window, p the prompt, a the answer, t prompt and answer.
_TOGETHER = (
    rf"context length (?:is|of) (?P<w>{_N}) tokens.{{0,40}}requested (?:about |a total of )?(?P<t>{_N})"
    rf" tokens.{{0,160}}?\b(?P<a>{_N}) (?:tokens )?(?:in|for) (?:the )?(?:completion|output)",
    rf"context length is (?P<w>{_N}) tokens and your request has (?P<p>{_N}) input tokens",
    rf"context length is (?P<w>{_N}) tokens.{{0,40}}requested (?P<a>{_N}) output tokens and your prompt "
    rf"contains (?P<least>at least )?(?P<p>{_N}) input tokens",
    rf"exceed context limit: (?P<p>{_N}) \+ (?P<a>{_N}) > (?P<w>{_N})",
    rf"must be <= (?P<w>{_N})\. Given: (?P<p>{_N}) `inputs` tokens and (?P<a>{_N}) `max_new_tokens`",
)
_LONGEST_ANSWER = (
    rf"max_(?:completion_|output_|new_)?tokens\W{{0,3}} ?{_N} > ({_N}), which is the maximum",
    rf"supports at most ({_N}) (?:completion|output) tokens",
    rf"max_(?:completion_)?tokens\W{{0,2}} must be (?:less than or equal to|at most|<=) `?({_N})",
    rf"range of max_(?:completion_|output_)?tokens (?:should be|is) \[1, ?({_N})\]",
    rf"can only afford ({_N})",
)
_WINDOW = (  # "exceeded by 400 tokens" says how much is too much
    r"(?:context (?:window|size|length|limit)|n_ctx|context_length|maximum model length)"
    rf"[^0-9]{{0,40}}(?<!by )({_LARGE})",
    rf">\s*({_LARGE})(?:\s*tokens?)?(?:\s*\(?maximum|\s*$|\s*\.)",
    rf"(?:maximum|limit|at most|up to)[^0-9]{{0,30}}(?<!by )({_LARGE})\s*(?:input |prompt )?tokens",
    rf"range of input length should be \[1, ?({_LARGE})\]",
    rf"exceeds the limit of ({_LARGE})",
)
_REQUESTED = (
    r"(?:you requested|resulted in|prompt is too long:|prompt contains|n_prompt_tokens|request \("
    rf"|prompt token count of|prompt \((?:total )?length)[^0-9]{{0,20}}({_LARGE})",
    rf"({_LARGE})\s*(?:tokens?)?\s*>\s*[0-9]",
)


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
