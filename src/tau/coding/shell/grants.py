"""Asks the user about what the sandbox blocks, and remembers the answers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from tau.agent.ui import Ui
from tau.base.text import reveal
from tau.config.paths import user_paths

if TYPE_CHECKING:
    from tau.coding.shell.blocked_attempts import BlockedAttempt

MAX_REFUSALS = 2  # in a run; then nothing more is asked
MAX_SHOWN_CHARS = 4_000
NO = "No"
OUTSIDE_ONCE = "Run it once outside the sandbox, with all your permissions"

_NO_ENV: Mapping[str, str] = MappingProxyType({})

GrantAnswer: TypeAlias = Literal["no", "inside", "outside"]
_Key: TypeAlias = tuple[str, ...]


class SandboxGrants:
    """One per session. Each thing is asked about once in a run; Enter means no.

    What is granted lasts until the session ends. Without a `ui`, the answer is no. `judge_host` answers for
    the user where their rules do; None leaves it to a question.
    """

    def __init__(self, ui: Ui | None) -> None:
        self._ui = ui
        self.judge_host: Callable[[str, int], bool | None] = lambda host, port: None
        self._granted: set[_Key] = set()
        self._refused: set[_Key] = set()
        self._one_at_a_time = asyncio.Lock()

    def begin_run(self) -> None:
        """The user sent something new: refusals no longer count."""
        self._refused.clear()

    @property
    def can_ask(self) -> bool:
        return self._ui is not None and len(self._refused) < MAX_REFUSALS

    async def ask_host(self, host: str, port: int) -> bool:
        """Whether commands may connect to this host. Answers at once if it was asked before."""
        verdict = self.judge_host(host, port)
        if verdict is not None:
            return verdict
        name = f"[{host}]" if ":" in host else host
        title = f"A command in the sandbox wants to connect to {name}:{port}."
        chosen = await self._select(("host", host, str(port)), title, [f"Allow {name} for this session"])
        return chosen is not None

    async def ask_session(self, key: _Key, title: str, allow: str) -> bool:
        """Ask once per session for something else that the sandbox keeps away."""
        return await self._select(key, title, [allow]) is not None

    async def ask_rerun(
        self,
        attempt: "BlockedAttempt",
        command: str,
        folder: Path | None = None,
        env: Mapping[str, str] = _NO_ENV,
    ) -> GrantAnswer:
        """Offer to run a command again after it was blocked: with one more thing allowed, or outside.

        What is too long to be read cannot run outside. `folder` is not the session's.
        """
        narrow = _narrow_grant(attempt)
        facts = [f"folder: {_on_one_line(str(folder))}"] if folder is not None else []
        facts += [f"variable {name}: {_on_one_line(value)}" for name, value in sorted(env.items())]
        text = "\n".join([command, *facts])
        options = [*([narrow] if narrow else []), *([OUTSIDE_ONCE] if len(text) <= MAX_SHOWN_CHARS else [])]
        if not options:
            return "no"
        title = f"{attempt.note}\n{_shown(text)}"
        key = (attempt.kind, attempt.subject, text)
        chosen = await self._select(key, title, options, lasting=(narrow,) if narrow else ())
        if chosen is None:
            return "no"
        return "outside" if chosen == OUTSIDE_ONCE else "inside"

    async def _select(
        self, key: _Key, title: str, options: Sequence[str], *, lasting: Sequence[str] | None = None
    ) -> str | None:
        """The chosen option. "No" comes first, so that Enter alone allows nothing."""
        async with self._one_at_a_time:
            if key in self._granted:
                return options[0]
            if self._ui is None or not self.can_ask or key in self._refused:
                return None
            chosen = await self._ui.select(title, [NO, *options])
            if chosen not in options:
                self._refused.add(key)
                return None
            if lasting is None:
                self._granted.add(key)
            return chosen


def grant_folder(path: Path) -> Path | None:
    """The folder to open for a write to `path`: not the home folder, nor one that contains it.

    Nor tau's own: its settings decide what the next session may do.
    """
    folder = path.parent
    home, own = Path.home(), user_paths().home
    is_wide = any(folder in (each, *each.parents) for each in (home, own))
    return None if is_wide or folder.is_relative_to(own) else folder


def _narrow_grant(attempt: "BlockedAttempt") -> str:
    match attempt.kind:
        case "write":
            folder = grant_folder(Path(attempt.subject))
            return (
                f"Allow writes in {folder} for this session, and run it again in a new sandbox"
                if folder
                else ""
            )
        case "socket":
            return f"Allow {attempt.subject} for this session, and run it again in a new sandbox"
        case "connection" | "read":
            return ""


def _on_one_line(text: str) -> str:
    return text.replace("\n", "<U+000A>")


def _shown(text: str) -> str:
    """The whole text, or both of its ends."""
    if len(text) <= MAX_SHOWN_CHARS:
        return reveal(text)
    half = MAX_SHOWN_CHARS // 2
    left_out = f"[{len(text) - 2 * half:,} characters not shown]"
    return f"{reveal(text[:half])}\n{left_out}\n{reveal(text[-half:])}"
