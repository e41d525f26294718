"""Whether a tool call may go on: its declared effects against the approval mode, and nothing else."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.agent.effects import Effects
from tau.coding.paths import real
from tau.config.settings import ApprovalMode

Verdict = Literal["allow", "ask", "deny"]


class Workspace(Struct, frozen=True):
    """`roots` are the folders that may be written to; `protected` are tau's own, where every write asks.

    Build it with `Workspace.of`, which follows symbolic links, so that real paths are compared.
    """

    roots: tuple[Path, ...]
    protected: tuple[Path, ...] = ()

    @classmethod
    def of(cls, roots: tuple[Path, ...], protected: tuple[Path, ...] = ()) -> "Workspace":
        return cls(tuple(map(real, roots)), tuple(map(real, protected)))


class Question(Struct, frozen=True):
    """One thing that needs a yes. An "always" holds for an equal `key`; with None it is asked every time."""

    reason: str
    key: tuple[str, str] | None


class Decision(Struct, frozen=True):
    verdict: Verdict
    reason: str = ""
    questions: tuple[Question, ...] = ()


ALLOW = Decision("allow")


def decide(effects: Effects, mode: ApprovalMode, workspace: Workspace, *, demo: bool) -> Decision:
    """Reads are always allowed.

    `ask` asks for every write, command and connection. `workspace` asks for writes that leave the workspace
    or touch git's or tau's own files, and lets commands run, which could reach the network anyway. `yolo`
    asks for nothing. The commands of the demo model are asked for in every mode.
    """
    questions: list[Question] = []
    for command in effects.runs:
        if demo:
            questions.append(Question(f"run a command of the demo model: {command}", None))
        elif mode == "ask":
            questions.append(Question(f"run: {command}", ("run", command)))
    if mode != "yolo":
        writes = (_about_write(path, mode, workspace) for path in effects.writes)
        questions += [question for question in writes if question is not None]
    if mode == "ask":
        questions += [Question(f"connect to {host}", ("network", host)) for host in effects.network]
    if not questions:
        return ALLOW
    return Decision("ask", "; ".join(question.reason for question in questions), tuple(questions))


def _about_write(path: Path, mode: ApprovalMode, workspace: Workspace) -> Question | None:
    target = real(path)
    where = str(path) if target == path else f"{path}, which leads to {target}"
    if any(_is_inside(target, folder) for folder in workspace.protected):
        return Question(f"change tau's own files: {where}", ("write file", str(target)))
    if any(part.casefold() == ".git" for part in (*target.parts, *path.parts)):
        return Question(f"change git's own files: {where}", ("write file", str(target)))
    if mode == "ask":
        return Question(f"write {where}", ("write", str(target.parent)))
    if any(target.is_relative_to(root) for root in workspace.roots):
        return None
    return Question(f"write outside the workspace: {where}", ("write", str(target.parent)))


def _is_inside(path: Path, folder: Path) -> bool:
    """Without regard to case: a file system may not know it, and asking once too often is harmless."""
    return Path(str(path).casefold()).is_relative_to(str(folder).casefold())
