"""The tools of the coding agent by name, each loaded when it is wanted."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Struct

from tau.agent.owner import Complete
from tau.agent.tool import Tool
from tau.ai.model import Model
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.output import OutputLimits
from tau.coding.pending_changes import PendingChanges
from tau.coding.resources import SessionResources
from tau.config.settings import SummarizeSettings

if TYPE_CHECKING:
    from tau.coding.edits.change import FileChange
    from tau.coding.edits.transaction import Guard

_ask = late("tau.coding.tools.ask")
_ast_edit = late("tau.coding.tools.ast_edit")
_ast_grep = late("tau.coding.tools.ast_grep")
_bash = late("tau.coding.tools.bash")
_checkpoint = late("tau.coding.tools.checkpoint")
_edit = late("tau.coding.tools.edit")
_edit_hashline = late("tau.coding.tools.edit_hashline")
_edit_patch = late("tau.coding.tools.edit_patch")
_eval = late("tau.coding.tools.eval")
_find = late("tau.coding.tools.find")
_generated = late("tau.coding.edits.generated")
_inspect_image = late("tau.coding.tools.inspect_image")
_job = late("tau.coding.tools.job")
_read = late("tau.coding.tools.read")
_resolve = late("tau.coding.tools.resolve")
_rewind = late("tau.coding.tools.rewind")
_search = late("tau.coding.tools.search")
_ssh = late("tau.coding.tools.ssh")
_todo = late("tau.coding.tools.todo")
_write = late("tau.coding.tools.write")

EditMode = Literal["hashline", "replace", "apply_patch", "patch"]
EDIT_MODES: tuple[EditMode, ...] = get_args(EditMode)


class ToolSettings(Struct, frozen=True, kw_only=True):
    """What the user's settings say about tools."""

    bash_timeout_s: int = 300
    read_lines: int = 300
    command_output: OutputLimits = OutputLimits()
    edit_mode: EditMode = "hashline"
    fuzzy_match: bool = True
    fuzzy_threshold: float = 0.95
    guard_generated: bool = True
    hash_lines: bool = True
    summaries: SummarizeSettings | None = SummarizeSettings()
    lines_before: int = 1
    lines_after: int = 3
    resize_images: bool = True
    block_images: bool = False
    inspect_images: bool = False
    intercept_commands: bool = False
    strip_head_tail: bool = True
    auto_background_ms: int | None = None
    background: bool = True
    poll_wait: str = "30s"
    eval_python: bool = True
    eval_js: bool = True
    python: str | None = None
    kernel_mode: Literal["session", "per-call"] = "session"
    max_concurrency: int = 32
    todo: bool = True
    checkpoint: bool = False
    can_ask: bool = False  # somebody sits at the other end
    ask_timeout_s: int = 0


class ToolParts:
    """What the tools of one session are made of; `previews` is shared by those that propose and apply.

    `complete` sends a request on the side and gives the whole answer; without it, what needs it is not there.
    """

    def __init__(
        self,
        settings: ToolSettings,
        complete: Complete | None = None,
        *,
        outside: SessionResources | None = None,
        previews: PendingChanges | None = None,
    ) -> None:
        self.settings = settings
        self.complete = complete
        self.outside = outside or SessionResources()
        self.previews = PendingChanges() if previews is None else previews
        self.names: Sequence[str] = tuple(TOOLS)  # of the tools that are made


Factory: TypeAlias = Callable[[ToolParts], Tool[Any]]

# The order is that of every request, which keeps the prefix that servers cache.
TOOLS: dict[str, Factory] = {
    "read": lambda parts: _read.Read(parts.settings),
    "bash": lambda parts: _bash_tool(parts),
    "edit": lambda parts: _edit_tool(parts.settings),
    "write": lambda parts: _write.Write(parts.settings),
    "search": lambda parts: _search.Search(
        before=parts.settings.lines_before,
        after=parts.settings.lines_after,
        tagged=parts.settings.hash_lines,
    ),
    "find": lambda _: _find.Find(),
    "ast_grep": lambda parts: _ast_grep.AstGrep(tagged=parts.settings.hash_lines),
    "ast_edit": lambda parts: _ast_edit.AstEdit(parts.previews, _guard(parts.settings)),
    "resolve": lambda parts: _resolve.Resolve(parts.previews),
    "job": lambda parts: _job.JobTool(_job.POLL_WAITS_S[parts.settings.poll_wait]),
    "eval": lambda parts: _eval_tool(parts),
    "ssh": lambda parts: _ssh_tool(parts),
    "todo": lambda _: _todo.Todo(),
    "checkpoint": lambda _: _checkpoint.MarkCheckpoint(),
    "rewind": lambda _: _rewind.Rewind(),
    "inspect_image": lambda parts: _inspect_image.InspectImage(
        parts.complete,
        block_images=parts.settings.block_images,
        auto_resize=parts.settings.resize_images,
    ),
    "ask": lambda parts: _ask.Ask(parts.settings.ask_timeout_s),
}
# Offered only where it is asked for by name, or where this says so.
OPTIONAL: dict[str, Callable[[ToolParts], bool]] = {
    "ssh": lambda parts: bool(parts.outside.hosts),
    "todo": lambda parts: parts.settings.todo,
    "checkpoint": lambda parts: parts.settings.checkpoint,
    "rewind": lambda parts: parts.settings.checkpoint,
    "inspect_image": lambda parts: parts.settings.inspect_images,
    "ask": lambda parts: parts.settings.can_ask,
}


def _bash_tool(parts: ToolParts) -> Tool[Any]:
    settings = parts.settings
    options = _bash.BashOptions(
        intercept=settings.intercept_commands,
        strip_limits=settings.strip_head_tail,
        auto_background_ms=settings.auto_background_ms,
        background=settings.background,
        tools=parts.names,
    )
    tool: Tool[Any] = _bash.Bash(settings, shell=parts.outside.shell, options=options)
    return tool


def _eval_tool(parts: ToolParts) -> Tool[Any]:
    settings = parts.settings
    cells = _eval.EvalOptions(
        py=settings.eval_python,
        js=settings.eval_js,
        interpreter=settings.python,
        kernel_mode=settings.kernel_mode,
        max_concurrency=settings.max_concurrency,
    )
    tool: Tool[Any] = _eval.Eval(parts.outside.kernels, settings, cells, parts.complete)
    return tool


def _ssh_tool(parts: ToolParts) -> Tool[Any]:
    outside = parts.outside
    tool: Tool[Any] = _ssh.Ssh(outside.hosts, outside.connections, parts.settings.command_output)
    return tool


def _edit_tool(settings: ToolSettings) -> Tool[Any]:
    """The one tool `edit`, in the mode that is set."""
    guard = _guard(settings)
    tool: Tool[Any]
    match settings.edit_mode:
        case "hashline":
            tool = _edit_hashline.HashlineEdit(guard)
        case "replace":
            tool = _edit.Edit(guard, fuzzy=settings.fuzzy_match, threshold=settings.fuzzy_threshold)
        case "apply_patch" | "patch":
            tool = _edit_patch.PatchEdit(settings.edit_mode, guard)
    return tool


def _guard(settings: ToolSettings) -> "Guard | None":
    return _refuse_generated if settings.guard_generated else None


def _refuse_generated(change: "FileChange") -> str | None:
    """Why a file must not be changed by hand."""
    if change.old is None:
        return None
    refusal: str | None = _generated.refusal(change.name, change.old)
    return refusal


# The demo model reads a prompt slowly and hardly ever calls a tool: two are enough to show what there is.
DEMO_TOOLS = ("read", "bash")


def tools_for(model: Model, tools: Sequence[Tool[Any]]) -> Sequence[Tool[Any]]:
    """Those of `tools` that a model is offered."""
    return [tool for tool in tools if tool.name in DEMO_TOOLS] if model.demo else tools


def create_tools(
    names: Sequence[str] | None = None,
    settings: ToolSettings | None = None,
    complete: Complete | None = None,
    *,
    outside: SessionResources | None = None,
    previews: PendingChanges | None = None,
) -> list[Tool[Any]]:
    """The named tools, or the usual ones, in their fixed order. Raises UsageError for an unknown name."""
    unknown = [name for name in names or () if name not in TOOLS]
    if unknown:
        missing = " or ".join(f'"{name}"' for name in unknown)
        raise UsageError(f"There is no tool {missing}; there are {', '.join(TOOLS)}.")
    parts = ToolParts(settings or ToolSettings(), complete, outside=outside, previews=previews)
    parts.names = [name for name in TOOLS if name in names] if names is not None else _usual(parts)
    return [TOOLS[name](parts) for name in parts.names]


def _usual(parts: ToolParts) -> list[str]:
    return [name for name in TOOLS if name not in OPTIONAL or OPTIONAL[name](parts)]
