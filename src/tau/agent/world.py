"""The ports that a session's tools share, and the view of them that one call gets."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.agent.ports import Artifacts, FileSystem
from tau.agent.ui import Ui
from tau.ai.wire import ToolCall
from tau.base.errors import ToolError
from tau.base.run import Runner

NestedCall: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[ToolOutput]]


class World(Struct, frozen=True, kw_only=True):
    """The ports that tools may use."""

    cwd: Path
    fs: FileSystem
    run: Runner
    artifacts: Artifacts
    ui: Ui | None = None


class CallContext:
    """A `ToolContext` over a `World`, for one call."""

    def __init__(
        self,
        world: World,
        call: ToolCall,
        update: Callable[[ToolOutput], None],
        nested: NestedCall | None = None,
    ) -> None:
        self.call_id = call.id
        self.cwd = world.cwd
        self.fs = world.fs
        self.run = world.run
        self.artifacts = world.artifacts
        self.ui = world.ui
        self.update = update
        self._nested = nested

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if self._nested is None:
            raise ToolError("Other tools cannot be called from here.")
        return await self._nested(name, arguments)
