"""What a session does while nobody types: it is given a name, and a long conversation is compacted."""

import asyncio
from collections.abc import Callable

from tau.coding.session.session import Session


async def while_idle(session: Session, *, naming: bool, named: Callable[[], None] | None = None) -> None:
    """Run this while a person is waited for, and cancel it as soon as there is something to do.

    `naming`: the face shows the session's name, so that it is worth a request; `named` is called then.
    """
    if naming and session.names.enabled:
        with session.activities.quietly() as abort:
            await session.names.suggest(abort)
        if named is not None:
            named()
    compaction = session.compaction
    if compaction.settings.idle_enabled:
        await asyncio.sleep(compaction.settings.idle_timeout_seconds)
        with session.activities.begin() as abort:
            await compaction.idle(abort)
