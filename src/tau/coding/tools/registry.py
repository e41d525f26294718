"""The coding agent's tools by name, each loaded on demand."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field

from tau.agent.loop_owner import Complete
from tau.agent.tool import BUILTIN, Tool, is_named
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.files.source_files import CodeDetector
from tau.coding.output import command_limits
from tau.coding.pending_changes import PendingChanges
from tau.coding.ports import UrlRouter
from tau.coding.resources import SessionResources
from tau.config.settings import Settings
from tau.config.web_access import WebAccess, has_search

if TYPE_CHECKING:
    from tau.coding.task.late_team import LateTeam

_ask = late("tau.coding.tools.ask")
_ast_edit = late("tau.coding.tools.ast_edit")
_ast_grep = late("tau.coding.tools.ast_grep")
_bash = late("tau.coding.tools.bash")
_browser = late("tau.coding.tools.browser")
_checkpoint = late("tau.coding.tools.checkpoint")
_debug = late("tau.coding.tools.debug")
_edit = late("tau.coding.tools.edit")
_edit_hashline = late("tau.coding.tools.edit_hashline")
_edit_patch = late("tau.coding.tools.edit_patch")
_eval = late("tau.coding.tools.eval")
_find = late("tau.coding.tools.find")
_github = late("tau.coding.tools.github")
_inspect_image = late("tau.coding.tools.inspect_image")
_lsp = late("tau.coding.tools.lsp")
_irc = late("tau.coding.tools.irc")
_job = late("tau.coding.tools.job")
_memory_edit = late("tau.coding.tools.memory_edit")
_read = late("tau.coding.tools.read")
_recall = late("tau.coding.tools.recall")
_reflect = late("tau.coding.tools.reflect")
_resolve = late("tau.coding.tools.resolve")
_retain = late("tau.coding.tools.retain")
_rewind = late("tau.coding.tools.rewind")
_search = late("tau.coding.tools.search")
_ssh = late("tau.coding.tools.ssh")
_task = late("tau.coding.tools.task")
_todo = late("tau.coding.tools.todo")
_web_search = late("tau.coding.tools.web_search")
_write = late("tau.coding.tools.write")


class ToolParts(Struct):
    """Dependencies of a session's tools; tools that propose and apply changes share `previews`.

    `complete` sends a side request and returns the whole answer; tools that need it are missing without it.
    `can_ask`: a user can answer questions. With `code`, structural tools are offered where it finds some.
    `team` makes the session's agents when one is first needed; `agent` is the id of the agent that this
    session is of, if it is one's.
    """

    settings: Settings
    complete: Complete | None = None
    resources: SessionResources = SessionResources()
    previews: PendingChanges = field(default_factory=PendingChanges)
    can_ask: bool = False
    code: CodeDetector | None = None
    urls: UrlRouter | None = None
    web: WebAccess | None = None
    names: Sequence[str] = ()  # of the created tools
    team: "LateTeam | None" = None
    agent: str = ""


class ToolEntry(Struct, frozen=True):
    """How to create a tool, whether sessions have it by default, and whether requests include it now."""

    make: Callable[[ToolParts], Tool[Any]]
    is_usual: Callable[[ToolParts], bool] = lambda parts: True
    offered: Callable[[ToolParts], bool] | None = None


class LateTool:
    """A tool that is often useless: its module is loaded when a request includes it or a call runs it."""

    origin = BUILTIN

    def __init__(self, name: str, parts: ToolParts, offered: Callable[[ToolParts], bool]) -> None:
        self.name = name
        self._parts = parts
        self._offered = offered

    @property
    def offered(self) -> bool:
        return self._offered(self._parts)

    @cached_property
    def _tool(self) -> Tool[Any]:
        return TOOLS[self.name].make(self._parts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)


def _has_github(parts: ToolParts) -> bool:
    return parts.resources.github is not None and parts.resources.github.is_offered


def _has_memory(parts: ToolParts) -> bool:
    return parts.resources.memory is not None


def _has_local_memory(parts: ToolParts) -> bool:
    return parts.resources.memory is not None and parts.resources.memory.local is not None


def _has_code(parts: ToolParts) -> bool:
    return parts.code is None or parts.code.found


def _has_agents(parts: ToolParts) -> bool:
    """Before the first agent there is nobody to talk to."""
    return bool(parts.agent) or (parts.team is not None and parts.team.made is not None)


def _may_delegate(parts: ToolParts) -> bool:
    return parts.team is not None and parts.settings.task.max_recursion_depth > 0


# The order is the same in every request, so that servers can cache the prefix.
TOOLS: dict[str, ToolEntry] = {
    "read": ToolEntry(lambda parts: _read.Read(parts.settings, parts.web, parts.resources.services)),
    "bash": ToolEntry(
        lambda parts: _bash.Bash(
            parts.settings,
            shell=parts.resources.shell,
            tools=parts.names,
            sandbox=parts.resources.sandbox,
        )
    ),
    "edit": ToolEntry(lambda parts: _edit_tool(parts.settings)),
    "write": ToolEntry(
        lambda parts: _write.Write(parts.settings, parts.urls, parts.resources.language_servers)
    ),
    "search": ToolEntry(lambda parts: _search.Search(parts.settings)),
    "find": ToolEntry(lambda parts: _find.Find()),
    "ast_grep": ToolEntry(lambda parts: _ast_grep.AstGrep(parts.settings), offered=_has_code),
    "ast_edit": ToolEntry(
        lambda parts: _ast_edit.AstEdit(parts.previews, parts.settings.edit), offered=_has_code
    ),
    "resolve": ToolEntry(
        lambda parts: _resolve.Resolve(parts.previews),
        offered=lambda parts: parts.previews.pending is not None,
    ),
    "job": ToolEntry(
        lambda parts: _job.JobTool(_job.POLL_WAITS_S[parts.settings.async_.poll_wait_duration]),
        lambda parts: parts.settings.async_.enabled or parts.settings.bash.auto_background.enabled,
    ),
    "eval": ToolEntry(
        lambda parts: _eval.Eval(
            parts.resources.kernels, parts.settings, parts.complete, parts.resources.sandbox, parts.team
        )
    ),
    "ssh": ToolEntry(
        lambda parts: _ssh.Ssh(
            parts.resources.hosts, parts.resources.connections, command_limits(parts.settings.tools)
        ),
        lambda parts: bool(parts.resources.hosts),
    ),
    "lsp": ToolEntry(
        lambda parts: _lsp.Lsp(parts.resources.language_servers, parts.previews),
        lambda parts: parts.resources.language_servers is not None,
    ),
    "debug": ToolEntry(
        lambda parts: _debug.Debug(parts.resources.debuggers),
        lambda parts: parts.resources.debuggers is not None,
    ),
    "todo": ToolEntry(lambda parts: _todo.Todo(), lambda parts: parts.settings.todo.enabled),
    "checkpoint": ToolEntry(
        lambda parts: _checkpoint.MarkCheckpoint(), lambda parts: parts.settings.checkpoint.enabled
    ),
    "rewind": ToolEntry(lambda parts: _rewind.Rewind(), lambda parts: parts.settings.checkpoint.enabled),
    "inspect_image": ToolEntry(
        lambda parts: _inspect_image.InspectImage(parts.complete, parts.settings.images),
        lambda parts: parts.settings.inspect_image.enabled,
    ),
    "web_search": ToolEntry(
        lambda parts: _web_search.WebSearchTool(parts.settings, parts.web),
        lambda parts: parts.settings.web_search.enabled and has_search(parts.settings, parts.web),
    ),
    "browser": ToolEntry(
        lambda parts: _browser.BrowserTool(parts.settings, parts.resources.browser, parts.web),
        lambda parts: parts.resources.browser is not None,
    ),
    "github": ToolEntry(lambda parts: _github.Github(parts.resources.github), _has_github),
    "task": ToolEntry(lambda parts: _task.Delegate(parts.settings, parts.team, parts.agent), _may_delegate),
    "irc": ToolEntry(lambda parts: _irc.Irc(parts.team, parts.agent), _may_delegate, _has_agents),
    "recall": ToolEntry(lambda parts: _recall.Recall(parts.resources.memory), _has_memory),
    "retain": ToolEntry(lambda parts: _retain.Retain(parts.resources.memory), _has_memory),
    "reflect": ToolEntry(
        lambda parts: _reflect.Reflect(
            parts.resources.memory, None if parts.settings.memory.llm_mode == "none" else parts.complete
        ),
        _has_memory,
    ),
    "memory_edit": ToolEntry(
        lambda parts: _memory_edit.MemoryEdit(parts.resources.memory), _has_local_memory
    ),
    "ask": ToolEntry(
        lambda parts: _ask.Ask(parts.settings.interaction.ask_timeout_seconds), lambda parts: parts.can_ask
    ),
}


def create_tools(
    names: Sequence[str] | None = None, parts: ToolParts | None = None, *, others: bool = False
) -> list[Tool[Any]]:
    """The named tools, or the default ones, in fixed order; a pattern names default ones.

    Raises UsageError for an unknown name, unless the list names tools of `others` too.
    """
    if not others:
        check_names(names or ())
    parts = parts or ToolParts(Settings())
    parts.names = [
        name
        for name, entry in TOOLS.items()
        if name in (names or ()) or (is_named(name, names) and entry.is_usual(parts))
    ]
    return [_make(name, TOOLS[name], parts) for name in parts.names]


def check_names(names: Iterable[str], *, servers: bool = False) -> None:
    """Raises UsageError for a name that is not ours; with `servers`, one of theirs and a pattern are fine."""
    theirs = [name for name in names if servers and ("*" in name or name.startswith("mcp__"))]
    unknown = [name for name in names if name not in TOOLS and name not in theirs]
    if unknown:
        missing = " or ".join(f'"{name}"' for name in unknown)
        raise UsageError(f"There is no tool {missing}; there are {', '.join(TOOLS)}.")


def _make(name: str, entry: ToolEntry, parts: ToolParts) -> Tool[Any]:
    if entry.offered is None:
        return entry.make(parts)
    return cast("Tool[Any]", LateTool(name, parts, entry.offered))


def _edit_tool(settings: Settings) -> Tool[Any]:
    """The `edit` tool in the configured mode."""
    match settings.edit.mode:
        case "hashline":
            return _edit_hashline.HashlineEdit(settings.edit)
        case "replace":
            return _edit.Edit(settings.edit)
        case "apply_patch" | "patch":
            return _edit_patch.PatchEdit(settings.edit.mode, settings.edit)
