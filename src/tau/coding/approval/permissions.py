"""What a session may do without asking: a mode, rules and the answers given so far."""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tau.config.settings import ApprovalMode

if TYPE_CHECKING:
    from tau.coding.approval.rules import RuleList

AnswerKey = tuple[str, str]


class Permissions(Struct, frozen=True, kw_only=True):
    """Rules beat the mode; deny beats ask, ask beats allow. No list means no rules.

    `answers` are the keys of what the user allowed for this session. If `sandbox_off`, the user decided to
    run commands without a sandbox. `outer` are the permissions of the caller: whatever they ask about or
    deny, these do too.
    """

    mode: ApprovalMode = "workspace"
    allow: "RuleList | None" = None
    ask: "RuleList | None" = None
    deny: "RuleList | None" = None
    answers: frozenset[AnswerKey] = frozenset()
    sandbox_off: bool = False
    outer: "Permissions | None" = None

    def narrowed(
        self,
        mode: ApprovalMode | None = None,
        *,
        ask: "RuleList | None" = None,
        deny: "RuleList | None" = None,
    ) -> "Permissions":
        """The permissions of a subagent: never wider than these, whatever its mode and rules."""
        return Permissions(
            mode=mode or self.mode,
            allow=self.allow,
            ask=ask,
            deny=deny,
            answers=self.answers,
            sandbox_off=self.sandbox_off,
            outer=self,
        )

    def answered(self, keys: "frozenset[AnswerKey]") -> "Permissions":
        """With the user's answers for this session."""
        return replace(self, answers=self.answers | keys)
