"""Runs browser calls in a session of the product, with the system's Chromium."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.ai.faux import Faux, Say, Use
from tau.ai.wire import ImageContent, ToolResultMessage, text_of
from tau.coding.untrusted_text import unfence
from tau.config.web_access import BROWSER_VARIABLE

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


class Result:
    """What one call returned."""

    def __init__(self, message: ToolResultMessage) -> None:
        self.text = unfence(text_of(message.content))
        self.raw = text_of(message.content)
        self.images = [part for part in message.content if isinstance(part, ImageContent)]
        self.details: Any = message.details
        self.is_error = message.is_error


def run(code: str, **more: Any) -> Use:
    return Use("browser", action="run", code=code, **more)


def open_page(url: str = "", **more: Any) -> Use:
    return Use("browser", action="open", **({"url": url} if url else {}), **more)


def browse(
    folder: Path,
    calls: Sequence[Use],
    settings: dict[str, Any] | None = None,
    *,
    watch: Callable[[Any], None] = lambda session: None,
    **options: Any,
) -> list[Result]:
    """The results of the calls, made one after another in one session."""

    async def main() -> list[Result]:
        steps = [*([call] for call in calls), [Say("done")]]
        made = tau.SessionOptions(
            cwd=folder, stream=Faux(steps).stream, save=False, settings=settings or {}, **options
        )
        async with tau.create_session(made) as session:
            watch(session)
            await session.prompt("go")
            return [
                Result(message)
                for message in session.log.messages()
                if isinstance(message, ToolResultMessage)
            ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BROWSER_VARIABLE, CHROMIUM or "")
        return asyncio.run(main())
