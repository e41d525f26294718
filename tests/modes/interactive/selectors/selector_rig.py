"""User actions on a selector: open it, look, press keys, see that it is gone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tau.ai.faux import FauxStep, Say
from tau.modes.interactive.app import App
from tests.modes.interactive.rig import Rig, rigged

Chooser = Callable[[App], Coroutine[Any, Any, None]]


@asynccontextmanager
async def open_conversation(
    folder: Path, *texts: str, answers: list[list[FauxStep]] | None = None, **options: Any
) -> AsyncIterator[Rig]:
    """A screen with a conversation: each text was sent and answered."""
    script = answers or [[Say(f"Answer {number}.")] for number in range(1, len(texts) + 2)]
    async with rigged(folder, script, **options) as rig:
        for text in texts:
            await rig.send(text)
            await rig.until(lambda text=text: _was_sent(rig, text), text)  # type: ignore[misc]
            await rig.idle()
        yield rig


def _was_sent(rig: Rig, text: str) -> bool:
    return any(text in str(message) for message in rig.session.log.messages())


@asynccontextmanager
async def opened(rig: Rig, choose: Chooser, shows: str) -> AsyncIterator[asyncio.Task[None]]:
    """The selector, as soon as this text is on the screen; it must be gone at the end."""
    task = rig.parts.tasks.start(choose(rig.context))
    await rig.show(shows)
    yield task
    await closed(rig, task)


async def closed(rig: Rig, task: asyncio.Task[None]) -> None:
    await rig.until(task.done, "the end of the selector")
    await rig.until(lambda: not rig.parts.dialogs.open, "the editor")


async def settled(rig: Rig) -> str:
    """The screen after all keys were handled and drawn."""
    return await rig.drawn()
