"""lspmux, which lets several clients share one language server: whether it runs, and how to use it."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from tau.base.errors import TauError
from tau.base.programs import find_program
from tau.base.run import Limits, Runner

SUPPORTED = frozenset({"rust-analyzer"})
STATE_S = 300.0  # how long an answer holds
LIVENESS_S = 1.0
LspmuxState = Literal["missing", "stopped", "active"]
TEXTS: dict[LspmuxState, str] = {
    "missing": "",
    "stopped": "lspmux: installed but server not running",
    "active": "lspmux: active (multiplexing enabled)",
}


class Lspmux:
    """Off with TAU_DISABLE_LSPMUX=1."""

    def __init__(self, cwd: Path, runner: Runner, environ: Mapping[str, str]) -> None:
        self._cwd, self._runner, self._environ = cwd, runner, environ
        self._known: tuple[LspmuxState, float] | None = None
        self._program = ""

    async def state(self) -> LspmuxState:
        if self._known is None or self._known[1] < time.monotonic():
            self._known = (await self._look(), time.monotonic() + STATE_S)
        return self._known[0]

    async def wrap(self, name: str, argv: Sequence[str]) -> list[str]:
        """The command that starts a server, through lspmux if it runs and knows the server."""
        if name not in SUPPORTED or await self.state() != "active":
            return list(argv)
        return [self._program, "client", "--server-path", argv[0], "--", *argv[1:]]

    async def _look(self) -> LspmuxState:
        self._program = find_program("lspmux", environ=self._environ) or ""
        if not self._program or self._environ.get("TAU_DISABLE_LSPMUX") == "1":
            return "missing"
        try:
            process = await self._runner.start(
                [self._program, "status"], cwd=self._cwd, limits=Limits(timeout=LIVENESS_S, grace=0.1)
            )
            async with process:
                async for _ in process.output():
                    pass
                return "active" if (await process.wait()).code == 0 else "stopped"
        except (OSError, TauError):
            return "stopped"
