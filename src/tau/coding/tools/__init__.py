"""The tools of the coding agent by name, each loaded when it is wanted."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from tau.agent.tool import Tool
from tau.ai.model import Model
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.output import Limits

_bash = late("tau.coding.tools.bash")
_edit = late("tau.coding.tools.edit")
_read = late("tau.coding.tools.read")
_write = late("tau.coding.tools.write")


class ToolSettings(Struct, frozen=True, kw_only=True):
    """What the user's settings say about tools. `bash_timeout` is in seconds."""

    bash_timeout: int = 300
    read_lines: int = 300
    command_output: Limits = Limits()


Factory: TypeAlias = Callable[[ToolSettings], Tool[Any]]

# The order is that of every request, which keeps the prefix that servers cache.
TOOLS: dict[str, Factory] = {
    "read": lambda settings: _read.Read(settings),
    "bash": lambda settings: _bash.Bash(settings),
    "edit": lambda settings: _edit.Edit(settings),
    "write": lambda settings: _write.Write(settings),
}


# The demo model reads a prompt slowly and hardly ever calls a tool: two are enough to show what there is.
DEMO_TOOLS = ("read", "bash")


def tools_for(model: Model, tools: Sequence[Tool[Any]]) -> Sequence[Tool[Any]]:
    """Those of `tools` that a model is offered."""
    return [tool for tool in tools if tool.name in DEMO_TOOLS] if model.demo else tools


def create_tools(names: Sequence[str] | None = None, settings: ToolSettings | None = None) -> list[Tool[Any]]:
    """The named tools, or all, in their fixed order. Raises UsageError for a name that is not known."""
    unknown = [name for name in names or () if name not in TOOLS]
    if unknown:
        noun = "tool" if len(unknown) == 1 else "tools"
        raise UsageError(f"Unknown {noun}: {', '.join(unknown)}. Known tools: {', '.join(TOOLS)}.")
    chosen = settings or ToolSettings()
    return [create(chosen) for name, create in TOOLS.items() if names is None or name in names]
