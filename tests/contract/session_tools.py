"""The tools of a session, as sent to a model."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import tau
from tau.agent.loop_owner import Setup
from tau.agent.tool import ToolSpec
from tau.ai.faux import Faux
from tau.coding.tools.registry import TOOLS

HOW = "The contract has changed: if you meant it, run `make snapshots` and review the diff."


def tools_of_a_session(folder: Path) -> dict[str, ToolSpec]:
    """All tools, as sent when they can be used."""
    return {tool.name: tool.spec for tool in _setup(folder, tuple(TOOLS)).tools}


def tools_of_a_request(folder: Path, names: Sequence[str] | None = None) -> list[ToolSpec]:
    """What a session's first request sends."""
    return _setup(folder, names).specs()


def _setup(folder: Path, names: Sequence[str] | None) -> Setup:
    async def main() -> Setup:
        wanted = None if names is None else tuple(names)
        options = tau.SessionOptions(cwd=folder, stream=Faux([[]]).stream, save=False, tools=wanted)
        async with tau.create_session(options) as session:
            return session.setup()

    return asyncio.run(main())
