"""Options for a session."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from tau.agent.hooks import Hooks
from tau.agent.loop_owner import StreamFunction
from tau.agent.ports import FileSystem
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.model import Model, ThinkingLevel
from tau.base.run import Runner
from tau.coding.ports import CodingDialogs, ServerPort
from tau.config.paths import current_folder

if TYPE_CHECKING:
    from tau.backends.lsp.pool import LanguageServers
    from tau.coding.rules.rule import RuleFile
    from tau.coding.task.definition import AgentBudget
    from tau.coding.task.subagent_options import SubagentOptions


class SessionOptions(Struct, frozen=True, kw_only=True):
    """Options for a session; everything else comes from the user's and the project's files."""

    cwd: Path = field(default_factory=current_folder)
    provider: str | None = None
    model: str | None = None  # PATTERN[:thinking]
    roles: dict[str, str] = {}  # patterns by role, such as smol; they override the setting modelRoles
    thinking: ThinkingLevel | None = None
    api_key: str | None = None
    base_url: str | None = None
    system_prompt: str | None = None  # text, or the path of a file
    append_system_prompt: str | None = None
    tools: tuple[str, ...] | None = None  # the only ones, also of others; None: the usual ones; (): none
    add_tools: tuple[Tool[Any], ...] = ()  # custom tools, in addition
    resume: str | None = None  # id, id prefix or path
    fork: str | None = None  # the same, for a copy of that session
    fork_entry: str | None = None  # with `fork`: copy only the branch up to this entry
    parent: Path | None = None  # the session that a new one continues
    continue_recent: bool = False
    save: bool = True
    copy_locked: bool = (
        True  # resume a copy of a session that is open elsewhere; else SessionLocked is raised
    )
    session_dir: Path | None = None
    config_files: tuple[Path, ...] = ()
    add_dirs: tuple[Path, ...] = ()  # workspace folders besides cwd
    trust: bool = False  # run what the repository supplies, this time only
    lsp: bool = True  # use language servers
    mcp: bool = True  # start the MCP servers that files define
    mcp_files: tuple[Path, ...] = ()  # more files that define some
    parent_servers: ServerPort | None = None  # of the session that an agent works for
    parent_language_servers: "LanguageServers | None" = None  # the same
    mcp_servers: dict[str, dict[str, Any]] = {}  # and servers by name, as in such a file
    settings: dict[str, Any] = {}  # override all files; dotted keys
    ui: Ui | None = None
    dialogs: CodingDialogs | None = None  # with `ui`, for modes with richer dialogs
    disk: FileSystem | None = None  # the files that tools see, instead of the local ones
    wrap_runner: Callable[[Runner], Runner] | None = None  # decides where commands of tools run
    rules: "tuple[RuleFile, ...]" = ()  # besides those found in files
    stream: StreamFunction | None = None  # replaces the real model; see tau.ai.faux
    extensions: tuple[str, ...] = ()  # paths, as with -e
    plugin_dirs: tuple[Path, ...] = ()  # folders of plugins, in addition to the installed ones
    hook_files: tuple[str, ...] = ()  # Python hooks, as with --hook
    extension_functions: tuple[Callable[..., Any], ...] = ()  # each is called as `extension(tau)`
    no_extensions: bool = False  # only those given here
    watch_extensions: bool = False  # load those given here again when they change
    flags: dict[str, str] = {}  # of extensions, as with --flag
    start_reason: Literal["startup", "new", "resume", "fork", "reload"] = "startup"
    hooks: tuple[Hooks, ...] = ()  # called in this order, before approval
    budget: "AgentBudget | None" = None  # of the whole session; its cost is the setting task.maxTotalCost
    agent: "SubagentOptions | None" = None  # set by tau for the sessions of subagents

    def __post_init__(self) -> None:
        """Resolve relative folders now, so a later change of directory does not matter."""
        force_setattr(self, "cwd", Path(self.cwd).resolve())

    def next(self, **choice: Any) -> "SessionOptions":
        """The options of a later session of the same program: another choice of what to open."""
        opened = {"resume": None, "fork": None, "fork_entry": None, "parent": None, "continue_recent": False}
        kind = "resume" if choice.get("resume") else "fork" if choice.get("fork") else "new"
        return replace(self, **{**opened, "start_reason": kind, **choice})

    def with_model(self, model: Model, key_owner: str) -> "SessionOptions":
        """The same with the model of another session, whatever the flags name.

        A key given as a flag goes to `key_owner` only: the provider of the first session.
        """
        return replace(
            self,
            provider=model.provider,
            model=model.id,
            base_url=model.base_url if model.custom_address else None,
            api_key=self.api_key if model.provider == key_owner else None,
        )
