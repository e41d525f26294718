"""When a conversation is too long for a model: the threshold, and what servers tell about their windows."""

import re

from msgspec import Struct

from tau.config.settings import CompactionSettings

RESERVE_PERCENT = 15
SMALLEST_ROOM_TOKENS = 256  # less than this beside the prompt and the tools is no conversation
USUAL_ROOM_TOKENS = 4_096
MIN_WINDOW_TOKENS = 512
RECOVERY = 0.8  # what strategies without a summary must get below, as a share of the limit

# Patterns as texts: they are needed after a failure only.
_WINDOW = (
    r"(?:maximum context length|context (?:window|size|length|limit)|n_ctx|context_length)"
    r"[^0-9]{0,40}([0-9][0-9,_]{2,11})",
    r">\s*([0-9][0-9,_]{2,11})(?:\s*tokens?)?(?:\s*\(?maximum|\s*$|\s*\.)",
    r"(?:maximum|limit|at most|up to)[^0-9]{0,30}([0-9][0-9,_]{2,11})\s*(?:input |prompt )?tokens",
)
_ASKED = (
    r"(?:you requested|resulted in|prompt is too long:|prompt contains|n_prompt_tokens|request \()"
    r"[^0-9]{0,20}([0-9][0-9,_]{2,11})",
    r"([0-9][0-9,_]{2,11})\s*(?:tokens?)?\s*>\s*[0-9]",
)


class ServerLimit(Struct, frozen=True):
    """What a server said when a request was too large for it; 0 where it did not say."""

    window: int = 0
    asked: int = 0


def stated(text: str) -> ServerLimit:
    """The numbers of tokens in a complaint about a request that is too large."""
    window, asked = _number(_WINDOW, text), _number(_ASKED, text)
    if window < MIN_WINDOW_TOKENS or (asked and asked < window):
        return ServerLimit()
    return ServerLimit(window, asked)


def threshold_tokens(settings: CompactionSettings, window: int) -> int:
    """Above this many tokens a conversation is compacted, by the settings alone.

    What the user sets wins; else the reserve, at least 15 % of the window and at most half of it, stays free.
    """
    if settings.threshold_tokens > 0:
        return max(1, min(settings.threshold_tokens, window - 1))
    if settings.threshold_percent > 0:
        return max(1, window * settings.threshold_percent // 100)
    reserve = max(window * RESERVE_PERCENT // 100, settings.reserve_tokens)
    return max(window - reserve, window // 2)


def limit_tokens(settings: CompactionSettings, window: int, frame: int) -> int:
    """The same where `frame` tokens are the prompt and the tools, which nothing makes smaller."""
    room = min(max(window - frame, 0) // 2, USUAL_ROOM_TOKENS)
    return max(threshold_tokens(settings, window), frame + room)


def _number(patterns: tuple[str, ...], text: str) -> int:
    for pattern in patterns:
        if (found := re.search(pattern, text, re.IGNORECASE)) is not None:
            return int(found[1].replace(",", "").replace("_", ""))
    return 0
