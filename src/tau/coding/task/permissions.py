"""The permissions of an agent: at each decision those of its caller, made tighter by its definition."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.events import AgentEvent
from tau.base.errors import UsageError
from tau.base.late import late
from tau.coding.approval.permissions import AnswerKey, Permissions
from tau.coding.approval.session_permissions import SessionPermissions
from tau.coding.plan.mode import PlanMode
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import APPROVAL_MODES, ApprovalMode, ToolsSettings

if TYPE_CHECKING:
    from tau.coding.approval.denied_files import DeniedFiles
    from tau.coding.approval.rules import RuleAction, RuleList

denied = late("tau.coding.approval.denied_files")
rules = late("tau.coding.approval.rules")
STRICT: tuple[ApprovalMode, ...] = ("plan", "ask", "workspace", "yolo")


def strictest(one: ApprovalMode, other: ApprovalMode | None) -> ApprovalMode:
    return one if other is None else min(one, other, key=STRICT.index)


class AgentPermissions(SessionPermissions):
    """Nothing is remembered here: the user's answers count for the whole session."""

    def __init__(
        self,
        caller: SessionPermissions,
        tightened: ApprovalMode | None,
        plan: PlanMode,
        log: SessionLog,
        emit: Callable[[AgentEvent], None],
        copy: tuple[Path, Path] | None = None,
    ) -> None:
        """`copy`: the folder that an isolated agent's copy is of, and the copy."""
        super().__init__(ToolsSettings(), plan, log, emit, store=caller.store)
        self._caller = caller
        self._tightened = tightened
        self._copy = copy
        caller.followers.append(self.recheck)

    def detach(self) -> None:
        if self.recheck in self._caller.followers:
            self._caller.followers.remove(self.recheck)

    @property
    def mode(self) -> ApprovalMode:
        own = "plan" if self._plan.on else self._tightened
        return strictest(self._caller.mode, own)

    @property
    def current(self) -> Permissions:
        outer = self._caller.current
        return outer.narrowed(self.mode, ask=self._in_copy(outer, "ask"), deny=self._in_copy(outer, "deny"))

    def _in_copy(self, outer: Permissions | None, action: "RuleAction") -> "RuleList | None":
        """What the rules say about files holds for copies of them."""
        found: list[RuleList] = []
        while outer is not None and self._copy is not None:
            if (own := getattr(outer, action)) is not None:
                found.append(own.in_copy(*self._copy))
            outer = outer.outer
        return (
            rules.RuleList(action, rules=tuple(one for own in found for one in own.rules)) if found else None
        )

    def denied_files(self) -> "DeniedFiles | None":
        own = self.current.deny
        outer = self._caller.denied_files()
        if own is None:
            return outer
        return denied.DeniedFiles((*own.rules, *(() if outer is None else outer.rules)))

    def keep(self, mode: ApprovalMode | None) -> None:
        """An agent starts in its caller's mode."""

    def set_mode(self, mode: str) -> None:
        """Tighten; what the caller may not do stays out of reach."""
        wanted = next((one for one in APPROVAL_MODES if one == mode), None)
        if wanted is None:
            raise UsageError(f'Unknown mode "{mode}". Modes: {", ".join(APPROVAL_MODES)}.')
        if STRICT.index(wanted) > STRICT.index(self.mode):
            raise UsageError(f"An agent cannot have the mode {mode}: its caller has {self._caller.mode}.")
        self._tightened = wanted
        self.announce()

    def add_rule(self, action: "RuleAction", pattern: str) -> None:
        self._caller.add_rule(action, pattern)

    def apply(self, action: "RuleAction", patterns: Sequence[str]) -> None:
        self._caller.apply(action, patterns)

    def remove_rule(self, pattern: str) -> "RuleAction":
        return self._caller.remove_rule(pattern)

    def answer(self, keys: Iterable[AnswerKey]) -> None:
        self._caller.answer(keys)
