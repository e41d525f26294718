"""github: repositories, searches, pull requests and Actions runs, through gh."""

from pathlib import Path

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.github.access import OFF, GithubAccess
from tau.coding.github.call import GithubParams
from tau.coding.ports import CodingContext

operations = late("tau.coding.github.operations")


class Github(Tool[GithubParams]):
    """Offered if github.enabled is on and gh is installed."""

    name, label = "github", "GitHub"

    def __init__(self, access: GithubAccess | None) -> None:
        self._access = access

    def effects(self, params: GithubParams, cwd: Path) -> Effects:
        return operations.declare(params, self._opened(), cwd)

    async def run(self, params: GithubParams, ctx: CodingContext) -> ToolOutput:
        return await operations.perform(params, self._opened(), ctx)

    def _opened(self) -> GithubAccess:
        if self._access is None:
            raise ToolError(OFF)
        return self._access
