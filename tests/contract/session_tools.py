"""The tools of a session, as a model is sent them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import tau
from tau.agent.tool import ToolSpec
from tau.ai.faux import Faux
from tau.coding.tools.registry import TOOLS

HOW = (
    "The contract of a tool has changed, or a new tool has none yet: look at the difference, then write it with "
    "`pytest -n0 tests/contract --inline-snapshot=fix`"
)


def tools_of_a_session(folder: Path, names: Sequence[str] | None = tuple(TOOLS)) -> dict[str, ToolSpec]:
    """What a model is sent of them."""

    async def main() -> dict[str, ToolSpec]:
        wanted = None if names is None else tuple(names)
        options = tau.SessionOptions(cwd=folder, stream=Faux([[]]).stream, save=False, tools=wanted)
        async with tau.create_session(options) as session:
            return {tool.name: tool.spec for tool in session.setup().tools}

    return asyncio.run(main())
