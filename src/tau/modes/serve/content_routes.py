"""What a session consists of: messages, entries, artifacts, exports, completions."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tau.coding.session.storage.log import SessionLog
from tau.modes.serve.operation import ApiCall
from tau.modes.serve.transcript import MessagePage, message_page


@contextmanager
def readable_log(call: ApiCall) -> Iterator[SessionLog]:
    """The log of a session, even if another process writes it."""
    live = call.pool.live.get(call.id)
    if live is not None:
        yield live.host.session.log
        return
    log = call.pool.store.open(call.pool.find(call.id), read_only=True)
    try:
        yield log
    finally:
        log.close()


async def get_messages(call: ApiCall) -> MessagePage:
    def read() -> MessagePage:
        with readable_log(call) as log:
            return message_page(log, call.query.limit, call.query.before)

    return read() if call.id in call.pool.live else await asyncio.to_thread(read)
