"""Gives a session its debuggers, if the folder has programs that an installed debug adapter knows."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base import log
from tau.base.late import late
from tau.base.run import Runner
from tau.config.paths import Paths

if TYPE_CHECKING:
    from tau.backends.dap.sessions import DebugSessions

configs = late("tau.backends.dap.config")
pools = late("tau.backends.dap.sessions")


async def open_debuggers(
    cwd: Path,
    paths: Paths,
    environ: Mapping[str, str],
    runner: Runner,
    services: AsyncExitStack,
    *,
    trusted: bool,
) -> "DebugSessions | None":
    """None if none can be used here."""
    # Not in a thread: it looks at a few files, and a first thread costs more time and memory than that.
    found = configs.find_adapters(cwd, paths, environ, trusted=trusted, fitting_only=True)
    for problem in found.problems:
        log.warning(problem)
    if not found.fits:
        return None
    sessions = pools.DebugSessions(cwd, runner, paths, environ, found, trusted=trusted)
    return await services.enter_async_context(sessions)
