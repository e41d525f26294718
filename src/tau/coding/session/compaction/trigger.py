"""Decides whether a context must shrink, and by how much; learns window sizes from servers."""

from typing import Literal

from msgspec import Struct

from tau.agent.loop_owner import Setup
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage
from tau.base.late import late
from tau.coding.session.compaction.estimate import usage_tokens
from tau.coding.session.compaction.meter import ContextMeasurement
from tau.config.settings import CompactionSettings

token_limits = late("tau.ai.apis.token_limits")  # needed only after a failure

MAX_OVERFLOWS = 8  # in a row, without an answer in between
RESERVE_PERCENT = 15
SMALLEST_ROOM_TOKENS = 256  # with less room than this besides prompt and tools, no conversation is possible
USUAL_ROOM_TOKENS = 4_096
RECOVERY = 0.8  # share of the limit that strategies without a summary must get below
GROWTH = 1.1  # after a failure, try again once the context has grown by this factor
MAX_RATIO = 6  # of real to estimated tokens, for the worst texts

CompactionReason = Literal["threshold", "overflow", "idle", "incomplete"]


class CompactionTarget(Struct, frozen=True, kw_only=True):
    """The size to get below, in real tokens; `ratio` of them are one estimated token.

    `must`: if no model can summarize, cut without one.
    """

    limit: int
    window: int
    ratio: float
    ask_model: bool = True
    must: bool = True


class CompactionTrigger(Struct):
    """Remembers what did not fit and what did not help, so that nothing is tried forever."""

    settings: CompactionSettings
    _windows: dict[str, int] = {}  # learned from servers, if smaller than in the catalog
    _failed_at: dict[tuple[str, bool], int] = {}  # token counts at which nothing could be done
    _overflows: int = 0
    _last_counted: AssistantMessage | None = None

    def window(self, model: Model, reading: ContextMeasurement) -> int:
        """The window in tokens: from the catalog, or smaller if the server has shown so."""
        learned = self._windows.get(model.key, model.context_window)
        if reading.counted is not None and learned < model.context_window:
            used = usage_tokens(reading.counted.usage)
            if reading.counted.stop_reason != "length" and used > learned:
                learned = self._windows[model.key] = min(used, model.context_window)
        return min(learned, model.context_window)

    def default_target(
        self, setup: Setup, reading: ContextMeasurement, *, must: bool = True
    ) -> CompactionTarget:
        window = self.window(setup.model, reading)
        limit = limit_tokens(self.settings, window, reading.frame)
        return CompactionTarget(limit=limit, window=window, ratio=reading.ratio, must=must)

    def find_target(
        self, reason: CompactionReason, setup: Setup, reading: ContextMeasurement
    ) -> CompactionTarget | None:
        """The target, or None if there is nothing to do."""
        match reason:
            case "overflow":
                return self._after_overflow(setup, reading)
            case "incomplete":
                return self._after_cut_off(setup, reading)
            case "threshold":
                target = self.default_target(setup, reading)
                too_large = self.settings.strategy != "off" and reading.tokens > target.limit
            case "idle":
                target = self.default_target(setup, reading, must=False)
                too_large = reading.tokens >= self.settings.idle_threshold_tokens
        last = self._failed_at.get((setup.model.key, target.must), 0)
        return target if too_large and reading.tokens > last * GROWTH else None

    def record_failure(self, model: Model, reading: ContextMeasurement, target: CompactionTarget) -> bool:
        """Note that the target was missed; True if the user needs a notice."""
        key = (model.key, target.must)
        is_first = key not in self._failed_at
        self._failed_at[key] = reading.tokens
        return is_first and target.must

    def record_success(self, model: Model) -> None:
        self._failed_at.pop((model.key, True), None)
        self._failed_at.pop((model.key, False), None)

    def _after_overflow(self, setup: Setup, reading: ContextMeasurement) -> CompactionTarget | None:
        """The server refused the request: it is larger than estimated, or the window is smaller."""
        if reading.counted is not None and reading.counted is not self._last_counted:
            self._overflows = 0
        self._last_counted = reading.counted
        self._overflows += 1
        if self._overflows > MAX_OVERFLOWS:
            return None
        server = token_limits.parse_server_limit(_latest_error(reading))
        if server.requested and server.requested > MAX_RATIO * max(reading.estimated, reading.tokens):
            server = token_limits.ServerLimit()  # not a count of what we sent
        tokens = server.requested or reading.tokens
        window = self.window(setup.model, reading)
        if server.window:
            window = min(window, server.window)
        elif tokens <= window:
            window = max(tokens, token_limits.MIN_WINDOW_TOKENS)
        if window < setup.model.context_window:
            self._windows[setup.model.key] = window
        estimated = max(reading.estimated, 1)
        ratio = max(reading.ratio, tokens / estimated)
        if server.window and not server.requested:  # it did not fit, so its real size is at least the window
            ratio = max(ratio, window / estimated)
        limit = limit_tokens(self.settings, window, int(reading.frame * ratio))
        return CompactionTarget(
            limit=_at_most(reading, ratio, 0.5**self._overflows, limit),
            window=window,
            ratio=ratio,
            ask_model=self._overflows == 1,
        )

    def _after_cut_off(self, setup: Setup, reading: ContextMeasurement) -> CompactionTarget | None:
        """An answer ended because the window was full, not because it reached the output limit."""
        answer = reading.counted
        if answer is None or answer.stop_reason != "length":
            return None
        window = self.window(setup.model, reading)
        used = usage_tokens(answer.usage)
        if window - (used - answer.usage.output) >= setup.max_tokens:
            if answer.usage.output * 10 >= setup.max_tokens * 9:
                return None
            window = self._windows[setup.model.key] = max(used, token_limits.MIN_WINDOW_TOKENS)
        limit = limit_tokens(self.settings, window, reading.frame)
        limit = _at_most(reading, reading.ratio, 0.5, limit)
        return CompactionTarget(limit=limit, window=window, ratio=reading.ratio)


def _at_most(reading: ContextMeasurement, ratio: float, share: float, limit: int) -> int:
    """The limit, or a share of the conversation if that is less."""
    frame = reading.frame * ratio
    return min(limit, int(frame + max(reading.estimated * ratio - frame, 0) * share))


def _latest_error(reading: ContextMeasurement) -> str:
    """The server's error for the request that did not fit."""
    for item in reversed(reading.items[-3:]):
        message = item.message
        if isinstance(message, AssistantMessage) and message.stop_reason == "error":
            return message.error_message or ""
    return ""


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
