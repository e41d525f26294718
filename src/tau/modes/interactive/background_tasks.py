"""Background tasks of the screen."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from tau.agent.abort import Aborted
from tau.base import log
from tau.base.errors import NothingToDo, TauError
from tau.base.tasks import spawn
from tau.modes.interactive.screen_protocols import Notices


class BackgroundTasks:
    """Reports both user errors and internal ones as notices."""

    def __init__(self, group: asyncio.TaskGroup, notices: Notices) -> None:
        self._group = group
        self._notices = notices
        self._started: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = spawn(self._group, self._guard(work))
        task.add_done_callback(lambda _: work.close())  # for one canceled before it started
        self._started.add(task)
        task.add_done_callback(self._started.discard)
        return task

    def cancel(self) -> None:
        """Cancel all tasks started here."""
        for task in self._started:
            task.cancel()

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Aborted:
            self._notices.say("Stopped.")
        except NothingToDo as error:
            self._notices.say(str(error))
        except TauError as error:
            self._notices.show_error(str(error))
        except Exception as error:
            log.error("A background task failed.", error)
            with suppress(Exception):
                self._notices.show_error(f"Internal error: {error!r}. See the log in /debug.")
