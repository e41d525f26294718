"""Programs that tau started with remote debugging, such as Electron apps."""

import asyncio
import os
import re
from pathlib import Path

from tau.base.errors import ToolError
from tau.base.run import Process, Runner
from tau.base.tasks import shielded, spawn
from tau.base.text import clean_line, shortened

START_S = 30.0
MAX_OUTPUT_BYTES = 16_384
_LISTENING = re.compile(rb"DevTools listening on ws://([^/\s]+)/")


class _App:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.output = b""
        self.is_over = False

    async def watch(self, path: str) -> None:
        """Read its output until it exits: it says there where it listens."""
        try:
            async with self.process as process:
                async for chunk in process.output():
                    self.output = (self.output + chunk)[-MAX_OUTPUT_BYTES:]
                    found = _LISTENING.search(self.output)
                    if found is not None and not self.endpoint.done():
                        self.endpoint.set_result(f"http://{found[1].decode('latin-1')}")
        finally:
            self.is_over = True
            if not self.endpoint.done():
                lines = self.output.decode("utf-8", "replace").strip().splitlines()
                said = f": {shortened(clean_line(lines[-1]), 300)}" if lines else ""
                self.endpoint.set_exception(ToolError(f"{path} exited before it could be attached to{said}"))
                self.endpoint.exception()  # nobody may be waiting


class SpawnedApps:
    """By the path of their program; they end with the session at the latest."""

    def __init__(self, runner: Runner, group: asyncio.TaskGroup) -> None:
        self._runner = runner
        self._group = group
        self._apps: dict[str, _App] = {}

    async def start(self, path: str, args: list[str], cwd: Path) -> str:
        """Where the app listens for a debugger; one that runs already is reused. Raises ToolError."""
        app = self._apps.get(path)
        if app is None or app.is_over:
            command = [check_program(path), "--remote-debugging-port=0", *args]
            try:
                process = await self._runner.start(command, cwd=cwd)
            except OSError as error:
                raise ToolError(f"Failed to start {path}: {error.strerror}.") from error
            app = self._apps[path] = _App(process)
            spawn(self._group, app.watch(path), name="browser-app")
        try:
            async with asyncio.timeout(START_S):
                return await asyncio.shield(app.endpoint)
        except TimeoutError:
            await shielded(self.end(path))
            raise ToolError(
                f"Timed out waiting for CDP endpoint of {path} after {START_S:g} s; does it support"
                " --remote-debugging-port?"
            ) from None

    async def end(self, path: str) -> None:
        app = self._apps.pop(path, None)
        if app is not None and not app.is_over:
            await app.process.kill()

    async def end_all(self) -> None:
        for path in list(self._apps):
            await self.end(path)


def check_program(path: str) -> str:
    """Raises ToolError for what cannot be started as an app."""
    if path.endswith(".app") and Path(path).is_dir():
        raise ToolError(f"{path} is an app bundle; name the program in its Contents/MacOS.")
    if not Path(path).is_file():
        raise ToolError(f"There is no program {path}.")
    if not os.access(path, os.X_OK):
        raise ToolError(f"{path} is not executable.")
    return path
