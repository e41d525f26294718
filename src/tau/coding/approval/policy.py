"""Decides whether a tool call may run, from its declared effects and the approval mode alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tau.agent.effects import Effects
from tau.coding.files.paths import real
from tau.config.settings import ApprovalMode

if TYPE_CHECKING:
    from tau.coding.approval.allow_rules import AllowRules

_Verdict = Literal["allow", "ask", "deny"]
_Kind = Literal["run", "write", "connect"]


class Workspace(Struct, frozen=True):
    """`roots` are the writable folders; `protected` are tau's own, where every write needs approval.

    Build it with `Workspace.of`, which resolves symbolic links so that real paths are compared.
    """

    roots: tuple[Path, ...]
    protected: tuple[Path, ...] = ()

    @classmethod
    def of(cls, roots: tuple[Path, ...], protected: tuple[Path, ...] = ()) -> "Workspace":
        return cls(tuple(map(real, roots)), tuple(map(real, protected)))


class ApprovalItem(Struct, frozen=True):
    """One thing that needs approval. "Always" applies to an equal `key`; None asks every time.

    `subject` is the command, the real path or the host. If `patterned`, a pattern could allow it.
    """

    reason: str
    key: tuple[str, str] | None
    kind: _Kind = "run"
    subject: str = ""
    patterned: bool = False


class PolicyVerdict(Struct, frozen=True):
    verdict: _Verdict
    reason: str = ""
    questions: tuple[ApprovalItem, ...] = ()


ALLOW = PolicyVerdict("allow")


def decide(
    effects: Effects,
    mode: ApprovalMode,
    workspace: Workspace,
    *,
    demo: bool,
    allowed: "AllowRules | None" = None,
    shell: bool = True,
) -> PolicyVerdict:
    """Reads are always allowed.

    `ask` asks for every write, command and connection. `workspace` asks for writes outside the workspace
    or to git's or tau's own files; commands run without asking, network included. `yolo` asks for nothing.
    Commands of the demo model need approval in every mode.

    Patterns in `allowed` skip the question, except for git's and tau's own files and the demo model.
    `shell` says whether commands are shell text; patterns apply to nothing else.
    """
    questions: list[ApprovalItem] = []
    for command in effects.runs:
        if demo:
            questions.append(
                ApprovalItem(f"run a command of the demo model: {command}", None, "run", subject=command)
            )
        elif mode == "ask" and not (shell and allowed and allowed.command(command, workspace.roots)):
            questions.append(
                ApprovalItem(f"run: {command}", ("run", command), "run", command, patterned=shell)
            )
    if mode != "yolo":
        writes = (_about_write(path, mode, workspace, allowed) for path in effects.writes)
        questions += [question for question in writes if question is not None]
    if mode == "ask":
        questions += [
            ApprovalItem(f"connect to {host}", ("network", host), "connect", host, patterned=True)
            for host in effects.network
            if not (allowed and allowed.connection(host))
        ]
    if not questions:
        return ALLOW
    return PolicyVerdict("ask", "; ".join(question.reason for question in questions), tuple(questions))


def _about_write(
    path: Path, mode: ApprovalMode, workspace: Workspace, allowed: "AllowRules | None"
) -> ApprovalItem | None:
    target = real(path)
    where = str(path) if target == path else f"{path}, which leads to {target}"
    own = ("write file", str(target))
    if any(_is_inside(target, folder) for folder in workspace.protected):
        return ApprovalItem(f"change tau's own files: {where}", own, "write", str(target))
    if any(part.casefold() == ".git" for part in (*target.parts, *path.parts)):
        return ApprovalItem(f"change git's own files: {where}", own, "write", str(target))
    is_inside = any(target.is_relative_to(root) for root in workspace.roots)
    if (is_inside and mode != "ask") or (allowed and allowed.write(target)):
        return None
    wish = "write" if mode == "ask" and is_inside else "write outside the workspace:"
    key = ("write", str(target.parent))
    return ApprovalItem(f"{wish} {where}", key, "write", str(target), patterned=True)


def _is_inside(path: Path, folder: Path) -> bool:
    """Ignores case: the file system may too, and asking once too often is harmless."""
    return Path(str(path).casefold()).is_relative_to(str(folder).casefold())
