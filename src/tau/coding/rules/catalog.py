"""The rules of a session: those that files supply, and those that come with tau."""

from functools import cached_property
from pathlib import Path

from tau.base.late import late
from tau.coding.rules.rule import Bucket, RuleFile, make_rule
from tau.config.discovery.capabilities import Item
from tau.config.discovery.registry import CapabilityRegistry
from tau.config.discovery_settings import StreamRuleSettings

fences = late("tau.coding.untrusted_text")
front_matter = late("tau.config.discovery.front_matter")

BUNDLED = Path(__file__).with_name("bundled")
BUNDLED_PROVIDER = "builtin-defaults"
MAX_LISTED = 200
_LISTING = (
    "\nRules of this project that apply to some work. Read rule://NAME before you do what one is about:\n"
)


class RuleCatalog:
    """What files supply, found once; of two with one name, the first. `agent` is who they are for."""

    def __init__(
        self, discovery: CapabilityRegistry, settings: StreamRuleSettings, agent: str | None = None
    ) -> None:
        self._agent = agent
        self._discovery = discovery
        self._settings = settings

    @cached_property
    def rules(self) -> list[RuleFile]:
        """Those that are not disabled."""
        found = (_rule(item) for kind in ("rules", "instructions") for item in self._discovery.items(kind))
        by_name: dict[str, RuleFile] = {}
        for rule in found:
            if rule.name not in self._settings.disabled_rules and rule.is_for(self._agent):
                by_name.setdefault(rule.name, rule)
        return list(by_name.values())

    def of(self, bucket: Bucket) -> list[RuleFile]:
        return [rule for rule in self.rules if rule.bucket == bucket]

    def find(self, name: str) -> RuleFile | None:
        return next((rule for rule in self.rules if rule.name == name), None)

    def listing(self) -> str:
        """The rulebook as part of the prompt; empty without one."""
        rules = self.of("rulebook")
        if not rules:
            return ""
        listed = rules[:MAX_LISTED]
        lines = [_line(rule) for rule in listed if rule.trusted]
        if len(rules) > MAX_LISTED:
            lines.append(f"- and {len(rules) - MAX_LISTED} more, listed by rule://")
        if others := [_line(rule) for rule in listed if not rule.trusted]:
            lines += fences.fence_list("rules", others)
        return _LISTING + "\n".join(lines) + "\n"


def bundled_rules() -> list[RuleFile]:
    rules = []
    for path in sorted(BUNDLED.glob("*.md")):
        head = front_matter.parse_front_matter(path.read_text(encoding="utf-8"), path)
        rules.append(make_rule(path.stem, head.body, head.fields, path=path.name, provider=BUNDLED_PROVIDER))
    return rules


def _line(rule: RuleFile) -> str:
    return f"- {rule.name}: {rule.summary}"


def _rule(item: Item) -> RuleFile:
    provider = "" if item.source is None else item.source.provider
    return make_rule(item.name, "", item.fields, path=str(item.path), provider=provider, trusted=item.trusted)
