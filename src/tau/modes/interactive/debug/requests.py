"""Shows the last responses of model servers, event by event, with likely secrets masked."""

import time
from collections.abc import Callable

from tau.ai.exchange_log import ExchangeLog, current_log
from tau.base.secrets import SecretMask
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.debug.secrets import masker_for
from tau.modes.interactive.dialogs.pager import Pager, PagerAction, TextPager, show_pager
from tau.modes.interactive.screen_protocols import Display

MIN_PAUSE_S = 0.5
"""Refresh interval while responses arrive: cutting and masking them takes time."""


def responses_text(record: ExchangeLog | None, masker: SecretMask) -> str:
    """All recorded responses as one text."""
    if record is None:
        return ""
    parts: list[str] = []
    events = record.events()
    for exchange in record.exchanges:
        moment = time.strftime("%H:%M:%S", time.localtime(exchange.time_ms / 1000))
        status = exchange.status or "no response yet"
        head = f"=== {exchange.number}. {moment} {exchange.method} {exchange.url}: {status}"
        parts.append(f"{head}, {exchange.total_bytes:,} bytes ===")
        mine = [event.text for event in events if event.exchange == exchange.number]
        if not exchange.begun:
            parts.append("[beginning omitted]")
        parts += [masker.mask(text) for text in mine]
    return "\n\n".join(parts)


async def show_requests(context: CommandContext) -> None:
    """Show responses until closed, including new ones."""
    record = current_log()
    masker = masker_for(context.paths)

    def make(close: Callable[[], None]) -> Pager:
        pager = TextPager(
            context,
            "Raw model responses",
            lambda: responses_text(record, masker),
            does=(PagerAction("r", "refresh", lambda: pager.refresh("Refreshed.")),),
            empty="No requests yet.",
            on_close=close,
        )
        if record is not None:
            record.on_change = _DelayedRefresh(context.display, pager).request
        return pager

    try:
        await show_pager(context, make)
    finally:
        if record is not None:
            record.on_change = None


class _DelayedRefresh:
    """Refreshes the view shortly after data arrives, not for every byte."""

    def __init__(self, display: Display, pager: TextPager) -> None:
        self._display = display
        self._pager = pager
        self._waits = False

    def request(self) -> None:
        if not self._waits:
            self._waits = True
            self._display.timer.call_later(MIN_PAUSE_S, self._look)

    def _look(self) -> None:
        self._waits = False
        self._pager.refresh()
        self._display.request_render()
