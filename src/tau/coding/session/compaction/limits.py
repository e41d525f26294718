"""When a conversation is too long for a model: the threshold, and the limits that servers state."""

import re

from msgspec import Struct

from tau.config.settings import CompactionSettings

RESERVE_PERCENT = 15
SMALLEST_ROOM_TOKENS = 256  # with less room than this besides prompt and tools, no conversation is possible
USUAL_ROOM_TOKENS = 4_096
MIN_WINDOW_TOKENS = 512
RECOVERY = 0.8  # share of the limit that strategies without a summary must get below

# Not compiled, because they are needed only after a failure.
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
    """What a server said about a request that was too large; 0 if it did not say."""

    window: int = 0
    asked: int = 0


def parse_server_limit(text: str) -> ServerLimit:
    """Parse the token counts in an error about a request that is too large."""
    window, asked = _number(_WINDOW, text), _number(_ASKED, text)
    if window < MIN_WINDOW_TOKENS or (asked and asked < window):
        return ServerLimit()
    return ServerLimit(window, asked)


def threshold_tokens(settings: CompactionSettings, window: int) -> int:
    """The token count above which the settings ask for a compaction.

    The user's threshold wins; otherwise a reserve of 15% to 50% of the window stays free.
    """
    if settings.threshold_tokens > 0:
        return max(1, min(settings.threshold_tokens, window - 1))
    if settings.threshold_percent > 0:
        return max(1, window * settings.threshold_percent // 100)
    reserve = max(window * RESERVE_PERCENT // 100, settings.reserve_tokens)
    return max(window - reserve, window // 2)


def limit_tokens(settings: CompactionSettings, window: int, frame: int) -> int:
    """The threshold, given that the prompt and the tools take `frame` tokens, which cannot shrink."""
    room = min(max(window - frame, 0) // 2, USUAL_ROOM_TOKENS)
    return max(threshold_tokens(settings, window), frame + room)


def _number(patterns: tuple[str, ...], text: str) -> int:
    for pattern in patterns:
        if (found := re.search(pattern, text, re.IGNORECASE)) is not None:
            return int(found[1].replace(",", "").replace("_", ""))
    return 0
