"""`rule://NAME`: the text of a rule; `rule://` lists them."""

from tau.agent.ports import ToolContext
from tau.base.errors import ConfigError, ToolError
from tau.base.late import late
from tau.coding.internal_urls.schemes import ReadOnlyUrls
from tau.coding.ports import Resource
from tau.coding.rules.catalog import RuleCatalog
from tau.coding.rules.rule import RuleFile

fences = late("tau.coding.untrusted_text")

_UNTRUSTED = "a rule of a repository that the user has not trusted"


class RuleUrls(ReadOnlyUrls):
    scheme = "rule"

    def __init__(self, catalog: RuleCatalog) -> None:
        self._catalog = catalog

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        name = rest.strip("/")
        if not name:
            lines = [_line(rule) for rule in self._catalog.rules if rule.trusted]
            if others := [_line(rule) for rule in self._catalog.rules if not rule.trusted]:
                lines += [*fences.fence(["".join(others)], _UNTRUSTED), "\n"]
            return Resource(url="rule://", data="".join(lines or ["There are no rules.\n"]).encode())
        rule = self._catalog.find(name)
        if rule is None:
            names = ", ".join(rule.name for rule in self._catalog.rules[:50])
            raise ToolError(f'There is no rule "{name}". There are: {names or "none"}.')
        try:
            text = rule.body()
        except ConfigError as error:
            raise ToolError(f"rule://{name} cannot be read: {error}") from None
        if not rule.trusted:
            text = "\n".join(fences.fence([text], _UNTRUSTED))
        return Resource(url=f"rule://{name}", data=f"{text}\n".encode())


def _line(rule: RuleFile) -> str:
    return f"rule://{rule.name}{': ' * bool(rule.summary)}{rule.summary}\n"
