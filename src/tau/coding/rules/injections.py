"""Which stream rules a branch of the session has already applied, and how long ago."""

from collections.abc import Sequence

from tau.coding.rules.rule import RuleFile
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import CustomMessageEntry, RuleInjection
from tau.coding.session.storage.log import SessionLog
from tau.config.discovery_settings import StreamRuleSettings


class InjectedRules:
    """Read from the log, so it follows the branch. Only entries since the last call are read."""

    def __init__(self, log: SessionLog, settings: StreamRuleSettings) -> None:
        self._log = log
        self._settings = settings
        self._leaf: str | None = None
        self._turns = 0  # answers on this branch
        self._applied: dict[str, int] = {}  # by rule: the answers before it was last applied

    def select(self, rules: Sequence[RuleFile]) -> dict[str, RuleFile]:
        """The rules that may be applied now, by name."""
        self._read_new()
        return {rule.name: rule for rule in rules if self._may_apply(rule.name)}

    def _may_apply(self, name: str) -> bool:
        at = self._applied.get(name)
        if at is None:
            return True
        return self._settings.repeat_mode == "after-gap" and self._turns - at >= self._settings.repeat_gap

    def _read_new(self) -> None:
        new: list[EntryNode] = []
        id = self._log.leaf
        while id is not None and id != self._leaf and (node := self._log.node(id)) is not None:
            new.append(node)
            id = node.parent_id
        if id != self._leaf:  # another branch
            self._turns, self._applied = 0, {}
        self._leaf = self._log.leaf
        for node in reversed(new):
            self._read(node)

    def _read(self, node: EntryNode) -> None:
        names: Sequence[str] = ()
        if node.type == "message":
            self._turns += b'"role":"assistant"' in self._log.line(node)[:400] if self._counts else 0
        elif node.type in ("ttsr_injection", "custom_message"):
            match self._log.decode(node):
                case RuleInjection(injected_rules=injected):
                    names = injected
                case CustomMessageEntry(custom_type="ttsr-injection", details=dict() as details):
                    names = [name for name in details.get("rules", ()) if isinstance(name, str)]
        self._applied |= dict.fromkeys(names, self._turns)

    @property
    def _counts(self) -> bool:
        """Counting answers reads every line."""
        return self._settings.repeat_mode == "after-gap"
