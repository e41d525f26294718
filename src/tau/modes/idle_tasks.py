"""Idle work of a session: naming it, and compacting a long conversation."""

import asyncio
from collections.abc import Callable

from tau.coding.session.session import Session


async def while_idle(session: Session, *, naming: bool, named: Callable[[], None] | None = None) -> None:
    """Run this while waiting for the user, and cancel it when there is something to do.

    `naming`: the mode shows the session name, so it is worth a request; `named` is then called.
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
