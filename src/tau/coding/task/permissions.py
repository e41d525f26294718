"""The permissions of an agent: at each decision those of its caller, made tighter by its definition."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tau.agent.events import AgentEvent
from tau.base.errors import UsageError
from tau.coding.approval.permissions import AnswerKey, Permissions
from tau.coding.approval.session_permissions import SessionPermissions
from tau.coding.plan.mode import PlanMode
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import APPROVAL_MODES, ApprovalMode, ToolsSettings

if TYPE_CHECKING:
    from tau.coding.approval.denied_files import DeniedFiles
    from tau.coding.approval.rules import RuleAction

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
    ) -> None:
        super().__init__(ToolsSettings(), plan, log, emit, store=caller.store)
        self._caller = caller
        self._tightened = tightened
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
        return replace(outer.narrowed(self.mode), ask=None, deny=None)

    def denied_files(self) -> "DeniedFiles | None":
        return self._caller.denied_files()

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
