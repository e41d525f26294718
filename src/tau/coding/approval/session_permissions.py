"""The permissions of a running session: they change while it works, and the next decision uses them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.agent.events import AgentEvent, PermissionsChanged
from tau.base import log as logfile
from tau.base.errors import SessionError, UsageError
from tau.base.late import late
from tau.coding.approval.permissions import AnswerKey, Permissions
from tau.coding.plan.mode import PlanMode
from tau.coding.session.entries import CustomEntry
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import APPROVAL_MODES, ApprovalMode, ToolsSettings

if TYPE_CHECKING:
    from tau.coding.approval.denied_files import DeniedFiles
    from tau.coding.approval.rules import RuleAction, RuleList

denied = late("tau.coding.approval.denied_files")
rules = late("tau.coding.approval.rules")

MODE_ENTRY = "permission_mode"
_CYCLE: tuple[ApprovalMode, ...] = ("workspace", "ask", "plan")
"""What the key goes through; `yolo` must be named."""


class RuleStore:
    """Where the user's rules are stored. This one stores nothing."""

    def add(self, action: "RuleAction", patterns: Sequence[str]) -> None:
        """Raises TauError if it cannot."""

    def remove(self, action: "RuleAction", pattern: str) -> bool:
        """Whether it was stored. Raises TauError."""
        return False


class SessionPermissions:
    """Owns the mode, the rules and the session's answers.

    The mode `plan` is plan mode itself, which the log remembers; leaving it returns to the mode before.
    `problems` has a sentence for each invalid rule. Paths of rules that start with `./` are below `root`.
    `chosen` is the mode that later sessions of this run start in; `plan` and `yolo` end with their session.
    """

    def __init__(
        self,
        tools: ToolsSettings,
        plan: PlanMode,
        log: SessionLog,
        emit: Callable[[AgentEvent], None] = lambda event: None,
        *,
        root: Path | None = None,
        store: RuleStore | None = None,
        sandbox_off: bool = False,
    ) -> None:
        self._plan = plan
        self.log = log
        self._emit = emit
        self._root = root
        self.store = store or RuleStore()
        starts_planning = tools.approval_mode == "plan"
        self._own = Permissions(
            mode="workspace" if starts_planning else tools.approval_mode,
            allow=self._parse("allow", tools.allow),
            ask=self._parse("ask", tools.ask),
            deny=self._parse("deny", tools.deny),
            sandbox_off=sandbox_off,
        )
        self.chosen: ApprovalMode | None = None
        self.followers: list[Callable[[], None]] = []  # decide again too
        self._changed = asyncio.Event()
        if starts_planning:
            plan.enter()

    def _parse(self, action: "RuleAction", patterns: Sequence[str]) -> "RuleList | None":
        return rules.RuleList.of(action, patterns, self._root) if patterns else None

    @property
    def problems(self) -> list[str]:
        lists = (self._own.allow, self._own.ask, self._own.deny)
        return [problem for one in lists if one is not None for problem in one.problems]

    @property
    def mode(self) -> ApprovalMode:
        return "plan" if self._plan.on else self._own.mode

    @property
    def current(self) -> Permissions:
        """What decisions are made from now."""
        return replace(self._own, mode="plan") if self._plan.on else self._own

    def patterns(self, action: "RuleAction") -> tuple[str, ...]:
        found: RuleList | None = getattr(self._own, action)
        return () if found is None else found.patterns

    def denied_files(self) -> "DeniedFiles | None":
        """What tools cannot read, whatever else allows it."""
        deny = self._own.deny
        return None if deny is None else denied.DeniedFiles(deny.rules)

    def keep(self, mode: ApprovalMode | None) -> None:
        """Start in the mode that the user chose in an earlier session of this run."""
        if mode is not None:
            self.chosen = mode
            self._own = replace(self._own, mode=mode)

    def set_mode(self, mode: str) -> None:
        """Effective at the next decision, also of calls that wait for an answer. Raises TauError."""
        if mode not in APPROVAL_MODES:
            raise UsageError(f'Unknown mode "{mode}". Modes: {", ".join(APPROVAL_MODES)}.')
        if mode == "ask" or mode == "workspace":
            self.chosen = mode
        if mode == self.mode:
            return
        if mode == "plan":
            self._plan.enter()  # reports the change
            return
        self._own = replace(self._own, mode=mode)
        self._record({"mode": mode})
        if self._plan.on:
            self._plan.leave()
        else:
            self.announce()

    def cycle_mode(self) -> ApprovalMode:
        """Go to the next mode and return it."""
        mode = self.mode
        at = _CYCLE.index(mode) if mode in _CYCLE else -1
        following = [*_CYCLE[at + 1 :], *_CYCLE[: at + 1]]
        self.set_mode(following[0])
        return self.mode

    def add_rule(self, action: "RuleAction", pattern: str) -> None:
        """Apply and store a rule. Raises TauError; if it cannot be stored, it applies all the same."""
        try:
            rules.parse(action, pattern, self._root)
        except ValueError as error:
            raise UsageError(f'The pattern "{pattern}" is invalid: {error}.') from None
        self.apply(action, [pattern])
        self.store.add(action, [pattern])

    def apply(self, action: "RuleAction", patterns: Sequence[str]) -> None:
        """Use these rules in this session."""
        old: RuleList = getattr(self._own, action) or rules.RuleList(action)
        self._use(action, old.adding(patterns, self._root))

    def remove_rule(self, pattern: str) -> "RuleAction":
        """Remove a rule of the user and return its list. Raises TauError if there is none."""
        holding = [action for action in rules.ACTIONS if pattern in self.patterns(action)]
        if not holding:
            raise UsageError(f'There is no rule "{pattern}". /permissions lists them.')
        action = holding[0]
        if not self.store.remove(action, pattern):
            raise UsageError(f'The rule "{pattern}" is not in your settings file; it stays.')
        self._use(action, getattr(self._own, action).without(pattern, self._root))
        return action

    def answer(self, keys: Iterable[AnswerKey]) -> None:
        """Allow these for the rest of the session."""
        self._own = self._own.answered(frozenset(keys))
        self.recheck()

    def announce(self) -> None:
        """Tell everybody that the mode or the rules have changed."""
        lists = {action: list(self.patterns(action)) for action in ("allow", "ask", "deny")}
        self._emit(PermissionsChanged(self.mode, **lists))
        self.recheck()

    async def wait(self) -> None:
        """Return at the next change."""
        await self._changed.wait()

    def recheck(self) -> None:
        """Decide again about calls that wait for an answer."""
        self._changed.set()
        self._changed = asyncio.Event()
        for follow in tuple(self.followers):
            follow()

    def _use(self, action: "RuleAction", found: "RuleList") -> None:
        self._own = replace(self._own, **{action: found})
        self.announce()

    def _record(self, data: dict[str, str]) -> None:
        try:
            self.log.append(CustomEntry(custom_type=MODE_ENTRY, data=data))
        except SessionError as error:
            logfile.error("A change of the permission mode could not be recorded.", error)
