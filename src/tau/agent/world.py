"""The ports put together: the world that a session's tools see, and the view that one call gets of it."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tau.agent.output import ToolOutput
from tau.agent.ports import Artifacts, FileSystem
from tau.agent.ui import Ui
from tau.ai.wire import ToolCall
from tau.base.run import Runner


class World(Struct, frozen=True, kw_only=True):
    """The ports that tools get to see."""

    cwd: Path
    fs: FileSystem
    run: Runner
    artifacts: Artifacts
    ui: Ui | None = None


class CallContext:
    """A `ToolContext` over a `World`, for one call."""

    def __init__(self, world: World, call: ToolCall, update: Callable[[ToolOutput], None]) -> None:
        self.call_id = call.id
        self.cwd = world.cwd
        self.fs = world.fs
        self.run = world.run
        self.artifacts = world.artifacts
        self.ui = world.ui
        self.update = update
