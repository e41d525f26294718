"""Decides whether a tool call may run, from its declared effects and the session's permissions alone."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.base.late import late
from tau.coding.approval.permissions import AnswerKey, Permissions
from tau.coding.files.paths import real

if TYPE_CHECKING:
    from tau.coding.approval.command_report import CommandReport
    from tau.coding.approval.rules import RuleList, RuleMatch

command_reports = late("tau.coding.approval.command_report")
denied = late("tau.coding.approval.denied_files")
git_dirs = late("tau.base.git_dir")
stores = late("tau.coding.files.credential_stores")
trust_locations = late("tau.config.trust_locations")

Verdict = Literal["allow", "ask", "deny"]
Kind = Literal["tool", "read", "run", "write", "connect", "mcp"]
_AUTH_FILE = "auth.json"
MAX_PATH_CHARS = 10_000  # no file has a longer path
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_HAS_CONTROLS = (
    "the command contains control characters, which nobody can read; write them as escapes such as \\x1b"
)
_READ_ONLY = "plan mode is on: no changes and no commands"


class Workspace(Struct, frozen=True, kw_only=True):
    """`roots` are the writable folders, the first one the session's; `protected` are tau's own, where every
    write needs approval. A sandbox replaces `temporary` by private folders. `shell` runs the commands.

    Build it with `Workspace.of`, which resolves symbolic links so that real paths are compared.
    """

    roots: tuple[Path, ...]
    protected: tuple[Path, ...] = ()
    temporary: tuple[Path, ...] = ()
    shell: str = "bash"

    @classmethod
    def of(
        cls,
        roots: tuple[Path, ...],
        protected: tuple[Path, ...] = (),
        *,
        temporary: tuple[Path, ...] = (),
        shell: str = "bash",
    ) -> "Workspace":
        return cls(
            roots=tuple(map(real, roots)),
            protected=tuple(map(real, protected)),
            temporary=tuple(map(real, temporary)),
            shell=shell,
        )


class ApprovalItem(Struct, frozen=True):
    """One thing that needs approval. "Always" applies to an equal `key`; None asks every time.

    `subject` is the command, the real path, the host or the tool. If `patterned`, a pattern could allow it.
    `notes` are sentences that say why it is asked about, or what to look at.
    """

    reason: str
    key: AnswerKey | None
    kind: Kind = "run"
    subject: str = ""
    patterned: bool = False
    notes: tuple[str, ...] = ()


class PolicyVerdict(Struct, frozen=True):
    """`reason` says why it is denied or what needs approval. `granted` is what would have needed approval if
    no rule or answer of the user covered it.
    """

    verdict: Verdict
    reason: str = ""
    questions: tuple[ApprovalItem, ...] = ()
    granted: tuple[str, ...] = ()


class CallFacts(Struct, frozen=True, kw_only=True):
    """What a decision is about, besides the permissions."""

    effects: Effects
    workspace: Workspace
    tool: str
    demo: bool
    contained: bool
    shell: bool
    reports: "tuple[CommandReport | None, ...]"  # one per command


def decide(
    effects: Effects,
    permissions: Permissions,
    workspace: Workspace,
    *,
    demo: bool,
    contained: bool,
    shell: bool = True,
    tool: str = "",
    shares_temporary: bool = False,
) -> PolicyVerdict:
    """Rules decide first, then the mode.

    `ask` asks for every write, command and connection, and for what another program does. `workspace` asks
    for writes outside the workspace, to git's or tau's own files or to settings of agents, for tools of MCP
    servers, and for commands that are not contained, not understood or destructive outside the workspace.
    `plan` denies writes and commands. `yolo` asks for nothing. Reads of credentials ask in every mode but
    `yolo`; commands of the demo model ask in every mode.

    `contained`: the commands of this call run in a sandbox that was shown to work. It replaces the temporary
    folders unless it `shares_temporary`; then they are read-only, but not the permissions of what is there.
    `shell` says whether commands are shell text; patterns apply to nothing else.
    """
    chain = list(_chain(permissions))
    temporary = workspace.temporary if contained else ()
    roots, shared = ((), temporary) if shares_temporary else (temporary, ())
    folder = effects.run_cwd or workspace.roots[0]
    is_reported = shell and any(map(_depends_on_commands, chain))
    facts = CallFacts(
        effects=effects,
        workspace=workspace,
        tool=tool,
        demo=demo,
        contained=contained,
        shell=shell,
        reports=tuple(
            command_reports.report_command(
                command, folder, (*workspace.roots, *roots), shell=workspace.shell, shared=shared
            )
            if is_reported
            else None
            for command in effects.runs
        ),
    )
    first, *outer = (_Judgment(facts, one).verdict() for one in chain)
    for verdict in outer:
        first = _stricter(first, verdict)
    return first


def also_ask(verdict: PolicyVerdict, tool: str, why: str) -> PolicyVerdict:
    """The same, but at least ask: a hook wants a person to decide."""
    item = ApprovalItem(f"use the tool {tool}", None, "tool", tool, notes=(why,))
    return _stricter(verdict, _asking((item,)))


def judge_connection(permissions: Permissions, host: str) -> bool | None:
    """What the rules and the mode say about a connection of a command; None leaves it to a question."""
    chain = list(_chain(permissions))
    if any(one.deny and one.deny.connection(host) for one in chain):
        return False
    if any(one.ask and one.ask.connection(host) for one in chain):
        return None
    is_allowed = all(
        one.mode == "yolo" or (one.allow and one.allow.allowed.connection(host)) for one in chain
    )
    return True if is_allowed else None


def may_redirect(permissions: Permissions, host: str) -> bool:
    """Whether a page may redirect to this host without a question."""
    for one in _chain(permissions):
        if any(rules and rules.connection(host) for rules in (one.deny, one.ask)):
            return False
        if one.mode == "ask" and not (one.allow and one.allow.allowed.connection(host)):
            return False
    return True


def _chain(permissions: Permissions) -> Iterator[Permissions]:
    current: Permissions | None = permissions
    while current is not None:
        yield current
        current = current.outer


def _depends_on_commands(permissions: Permissions) -> bool:
    lists = (permissions.ask, permissions.deny)
    return permissions.mode in ("ask", "workspace") or any(rules and rules.has_commands for rules in lists)


def _stricter(one: PolicyVerdict, other: PolicyVerdict) -> PolicyVerdict:
    if one.verdict == other.verdict == "ask":
        return _asking((*one.questions, *(item for item in other.questions if item not in one.questions)))
    return min(one, other, key=lambda verdict: ("deny", "ask", "allow").index(verdict.verdict))


def _asking(questions: tuple[ApprovalItem, ...]) -> PolicyVerdict:
    return PolicyVerdict("ask", "; ".join(item.reason for item in questions), questions)


class _Judgment:
    """Judges one call by one set of permissions."""

    def __init__(self, facts: CallFacts, permissions: Permissions) -> None:
        self._facts = facts
        self._permissions = permissions
        self._mode = permissions.mode
        self._denial = ""
        self._questions: list[ApprovalItem] = []
        self._granted: list[str] = []
        allow = permissions.allow
        self._allow = allow
        self._has_rules = permissions.ask is not None or permissions.deny is not None
        self._is_tool_allowed = allow is not None and allow.tool(facts.tool) is not None

    def verdict(self) -> PolicyVerdict:
        effects = self._facts.effects
        self._tool(self._facts.tool)
        for command, report in zip(effects.runs, self._facts.reports, strict=True):
            self._command(command, report)
        for path in effects.writes:
            self._write(path)
        for path in effects.reads:
            self._read(path)
        for host in effects.network:
            self._connection(host)
        for change in effects.publishes:
            self._publication(change)
        if effects.mcp:
            self._server_tool(*effects.mcp, effects.mcp_change)
        if self._denial:
            return PolicyVerdict("deny", self._denial)
        if self._questions:
            return _asking(tuple(self._questions))
        return PolicyVerdict("allow", granted=tuple(self._granted))

    def _tool(self, name: str) -> None:
        effects = self._facts.effects
        if effects.undeclared and self._mode == "plan":
            self._denial = self._denial or _READ_ONLY
        item = ApprovalItem(f"use the tool {name}", ("tool", name), "tool", name)
        self._judge(
            item,
            lambda rules: rules.tool(name),
            needed=(self._mode == "ask" and effects.acts_elsewhere)
            or (self._mode in ("ask", "workspace") and effects.undeclared),
            allowed=self._is_tool_allowed,
        )

    def _command(self, command: str, report: "CommandReport | None") -> None:
        facts, permissions, effects = self._facts, self._permissions, self._facts.effects
        if re.search(_CONTROLS, command):
            self._denial = self._denial or _HAS_CONTROLS
        if self._mode == "plan":
            self._denial = self._denial or _READ_ONLY
        # Variables change what a command does, so that no answer to it can be reused.
        key = None if effects.env else ("run", f"{command}\0{effects.run_cwd or ''}")
        notes = _command_notes(report)
        is_patterned = facts.shell and key is not None and not notes
        if self._mode == "workspace" and not facts.contained and not permissions.sandbox_off:
            notes.append("It runs without a sandbox.")
        item = ApprovalItem(f"run: {command}", key, "run", command, is_patterned, tuple(notes))
        if facts.demo:
            item = ApprovalItem(f"run a command of the demo model: {command}", None, "run", command)
        self._judge(
            item,
            lambda rules: None if report is None else rules.command(report),
            needed=facts.demo or self._mode == "ask" or (self._mode == "workspace" and bool(notes)),
            allowed=item.key is not None and self._is_command_allowed(command),
        )

    def _is_command_allowed(self, command: str) -> bool:
        if self._allow is None or self._is_tool_allowed:
            return self._is_tool_allowed
        roots, effects = self._facts.workspace.roots, self._facts.effects
        return self._facts.shell and self._allow.allowed.command(
            command, roots, env=effects.env, cwd=effects.run_cwd
        )

    def _write(self, path: Path) -> None:
        item, is_inside = _describe_write(path, self._facts.workspace)
        if self._mode == "plan":
            self._denial = self._denial or _READ_ONLY
        target = Path(item.subject)
        self._judge(
            item,
            lambda rules: rules.write(path) or rules.write(target),
            needed=self._mode == "ask" or (self._mode == "workspace" and not is_inside),
            allowed=item.patterned
            and (self._is_tool_allowed or (self._allow is not None and self._allow.allowed.write(target))),
        )

    def _read(self, path: Path) -> None:
        if (self._mode == "yolo" and not self._has_rules) or len(str(path)) > MAX_PATH_CHARS:
            return
        target = real(path)
        has_keys = stores.is_credential_store(path) or any(
            target == folder / _AUTH_FILE for folder in self._facts.workspace.protected
        )
        what = "read stored credentials:" if has_keys else "read"
        item = ApprovalItem(
            f"{what} {_where(path, target)}", ("read", str(target)), "read", str(target), patterned=True
        )
        self._judge(
            item,
            lambda rules: rules.read(path) or rules.read(target) or _other_name(rules, target),
            needed=has_keys and self._mode != "yolo",
            allowed=self._allow is not None and self._allow.read(target) is not None,
        )

    def _connection(self, host: str) -> None:
        item = ApprovalItem(f"connect to {host}", ("network", host), "connect", host, patterned=True)
        self._judge(
            item,
            lambda rules: rules.connection(host),
            needed=self._mode == "ask",
            allowed=self._is_tool_allowed
            or (self._allow is not None and self._allow.allowed.connection(host)),
        )

    def _publication(self, change: str) -> None:
        """What others see, and what no undo takes back: each time, a person decides."""
        tool = self._facts.tool
        if self._mode == "plan":
            self._denial = self._denial or _READ_ONLY
        self._judge(
            ApprovalItem(_on_one_line(change), None, "tool", tool),
            lambda rules: rules.tool(tool),
            needed=self._mode in ("ask", "workspace"),
            allowed=self._is_tool_allowed,
        )

    def _server_tool(self, server: str, tool: str, change: str) -> None:
        """A tool of an MCP server acts where nothing here can bind it; a changed one is another tool."""
        if self._mode == "plan":
            self._denial = self._denial or _READ_ONLY
        note = f"The server has changed what this tool says about itself:\n{change}"
        name = f"{server}.{tool}"
        item = ApprovalItem(
            f"call the MCP tool {_on_one_line(name)}",
            None if change else ("mcp", f"{server}\0{tool}"),
            "mcp",
            name,
            patterned=not change,
            notes=(note,) if change else (),
        )
        rule = self._allow.mcp(server, tool) if self._allow is not None else None
        is_allowed = self._is_tool_allowed or (rule is not None and rule.certain)
        self._judge(
            item,
            lambda rules: rules.mcp(server, tool),
            needed=self._mode in ("ask", "workspace"),
            allowed=is_allowed and not change,
        )

    def _judge(
        self,
        item: ApprovalItem,
        match: "Callable[[RuleList], RuleMatch | None]",
        *,
        needed: bool = False,
        allowed: bool = False,
    ) -> None:
        """Apply the rules, then what the mode needs unless the user's rules allow it."""
        denied = self._permissions.deny and match(self._permissions.deny)
        asked = self._permissions.ask and match(self._permissions.ask)
        if denied and denied.certain:
            self._denial = self._denial or f'the rule "{denied.rule}" in tools.deny forbids it'
        elif denied:
            self._ask(_noted(item, f'The rule "{denied.rule}" in tools.deny may forbid it.'))
        elif asked:
            self._ask(_noted(item, f'The rule "{asked.rule}" in tools.ask asks about it.'))
        elif needed and allowed:
            self._granted.append(f"{item.reason} (tools.allow)")
        elif needed:
            self._ask(item)

    def _ask(self, item: ApprovalItem) -> None:
        if item.key is not None and item.key in self._permissions.answers:
            self._granted.append(f"{item.reason} (allowed for this session)")
        else:
            self._questions.append(item)


def _other_name(rules: "RuleList", target: Path) -> "RuleMatch | None":
    """A rule for a file that has this name too."""
    found = (rule for rule in rules.rules if rule.kind == "read")
    return next((rule.match for rule in found if denied.DeniedFiles((rule,)).denies(str(target))), None)


def _noted(item: ApprovalItem, note: str) -> ApprovalItem:
    """A rule asks, so no pattern in tools.allow can answer."""
    return replace(item, patterned=False, notes=(*item.notes, note))


def _command_notes(report: "CommandReport | None") -> list[str]:
    if report is None:
        return []
    unclear = [f"tau does not fully understand it: {report.problem}."] if report.problem else []
    changes = [
        f"It may {change.action} {_on_one_line(change.target)}, outside the workspace."
        for change in report.outside
    ]
    return [*unclear, *changes]


def _describe_write(path: Path, workspace: Workspace) -> tuple[ApprovalItem, bool]:
    """The question about a write, and whether it is an ordinary one inside the workspace."""
    target = real(path)
    where = _where(path, target)
    own = ("write file", str(target))
    if any(_is_inside(target, folder) for folder in workspace.protected):
        return ApprovalItem(f"change tau's own files: {where}", own, "write", str(target)), False
    is_named = any(part.casefold() == ".git" for part in (*target.parts, *path.parts))
    if is_named or git_dirs.is_git_file(target):
        return ApprovalItem(f"change git's own files: {where}", own, "write", str(target)), False
    if stores.is_credential_store(path):
        return ApprovalItem(f"change stored credentials: {where}", own, "write", str(target)), False
    if trust_locations.configures_agents(target) or trust_locations.configures_agents(path):
        return ApprovalItem(f"change agent settings: {where}", own, "write", str(target)), False
    is_inside = any(target.is_relative_to(root) for root in workspace.roots)
    action = "write" if is_inside else "write outside the workspace:"
    # An answer for one file of the home folder must not cover those that run at login.
    key = own if target.parent == real(Path.home()) else ("write", str(target.parent))
    return ApprovalItem(f"{action} {where}", key, "write", str(target), patterned=True), is_inside


def _where(path: Path, target: Path) -> str:
    return _on_one_line(str(path) if target == path else f"{path}, which leads to {target}")


def _on_one_line(text: str) -> str:
    """A name with a line break could pose as another sentence of the question."""
    return text.replace("\n", "<U+000A>")


def _is_inside(path: Path, folder: Path) -> bool:
    """Ignores case: the file system may too, and asking once too often is harmless."""
    return Path(str(path).casefold()).is_relative_to(str(folder).casefold())
