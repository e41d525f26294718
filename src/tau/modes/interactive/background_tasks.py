"""Work that goes on beside the keys."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tau.agent.abort import Aborted
from tau.base import log
from tau.base.errors import NothingToDo, TauError
from tau.base.tasks import spawn

if TYPE_CHECKING:
    from tau.modes.interactive.ports import Notices


class BackgroundTasks:
    """A mistake of the user's becomes a notice, a fault of ours too."""

    def __init__(self, group: asyncio.TaskGroup, notices: "Notices") -> None:
        self._group = group
        self._notices = notices
        self._started: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = spawn(self._group, self._guarded(work))
        task.add_done_callback(lambda _: work.close())  # for one that was cancelled before it began
        self._started.add(task)
        task.add_done_callback(self._started.discard)
        return task

    def cancel(self) -> None:
        """End all that was started here."""
        for task in self._started:
            task.cancel()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Aborted:
            self._notices.say("Stopped.")
        except NothingToDo as error:
            self._notices.say(str(error))
        except TauError as error:
            self._notices.show_error(str(error))
        except Exception as error:
            log.error("A part of the screen failed.", error)
            with suppress(Exception):
                self._notices.show_error(
                    f"This went wrong inside tau: {error!r}. The log has the details; /debug shows it."
                )
