"""Dialogs and status as requests to the program that drives the session."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET, Struct

from tau.agent.events import Notice
from tau.agent.ui import NoticeLevel
from tau.modes.rpc.frames import UiRequest, UiResponse
from tau.modes.rpc.replies import PendingReplies


class RpcUi:
    """Implements `tau.agent.ui.Ui`. A dialog that nobody answers in time is cancelled."""

    def __init__(self, send: Callable[[Struct], None], dialog_timeout_s: float) -> None:
        self._send = send
        self._dialog_timeout_s = dialog_timeout_s
        self._replies = PendingReplies[UiResponse]("ui")
        self._has_said_unsupported = False

    def answer(self, response: UiResponse) -> None:
        self._replies.resolve(response.id, response)

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        reply = await self._ask(timeout, method="select", title=title, options=list(options))
        return reply.value if reply is not None and reply.value in options else None

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        reply = await self._ask(timeout, method="confirm", title=title, message=message)
        return None if reply is None else reply.confirmed

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        reply = await self._ask(timeout, method="input", title=title, placeholder=placeholder or UNSET)
        return None if reply is None else reply.value

    async def editor(self, title: str, prefill: str = "") -> str | None:
        reply = await self._ask(None, method="editor", title=title, prefill=prefill or UNSET)
        return None if reply is None else reply.value

    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        self._show(method="notify", message=message, notify_type=level)

    def status(self, key: str, text: str | None) -> None:
        self._show(method="setStatus", status_key=key, status_text=text)

    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        self._show(method="setWidget", widget_key=key, widget_lines=None if lines is None else list(lines))

    def title(self, text: str) -> None:
        self._show(method="setTitle", title=text)

    def set_editor_text(self, text: str) -> None:
        self._show(method="set_editor_text", text=text)

    async def custom(self, component: Any) -> Any:
        """There is no screen: say so once."""
        if not self._has_said_unsupported:
            self._has_said_unsupported = True
            self._send(
                Notice("warning", "An extension wants to draw on a screen, which RPC mode does not have.")
            )
        return None

    def _show(self, **fields: Any) -> None:
        self._send(UiRequest(id=self._replies.new_id(), **fields))

    async def _ask(self, timeout_s: float | None, **fields: Any) -> UiResponse | None:
        """The reply; None if there is none in time or the user cancels."""
        id = self._replies.new_id()
        limit_s = self._dialog_timeout_s if timeout_s is None else timeout_s
        shown = UNSET if timeout_s is None else round(timeout_s * 1000)
        self._send(UiRequest(id=id, timeout=shown, **fields))
        try:
            async with asyncio.timeout(limit_s or None):
                reply = await self._replies.wait(id)
        except TimeoutError:
            self._cancel(id)
            return None
        except asyncio.CancelledError:
            self._cancel(id)
            raise
        return None if reply.cancelled else reply

    def _cancel(self, id: str) -> None:
        self._send(UiRequest(id=self._replies.new_id(), method="cancel", target_id=id))
