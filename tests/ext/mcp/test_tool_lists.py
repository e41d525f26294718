"""Lists of tools, such as that of `--tools`, are about tools of every origin."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say
from tau.base.errors import UsageError
from tests.coding.task.play import Play, finish, session_of, task, yielded
from tests.ext.mcp.rig import connected, faux_server, session_with

NARROW = "---\nname: narrow\ndescription: looks\ntools: {}\n---\nLook.\n"


def extension(tau: Any) -> None:
    @tau.tool(effects="none")
    def count_words(text: str) -> int:
        """Count the words."""
        return len(text.split())


def offered(tmp_path: Path, names: tuple[str, ...] | None, **options: Any) -> list[str]:
    async def main() -> list[str]:
        around = {"extension_functions": (extension,), "tools": names, **options}
        async with session_with(tmp_path, {"faux": faux_server()}, **around) as (session, faux):
            await connected(session)
            await session.prompt("go")
            return [spec.name for spec in faux.requests[0].tools]

    return asyncio.run(main())


@pytest.mark.parametrize(
    "names",
    [("read", "search"), (), ("count_words",), ("mcp__faux_echo", "read"), ("read", "count_words")],
    ids=",".join,
)
def test_a_list_of_tools_leaves_only_these_whatever_their_origin(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    assert sorted(offered(tmp_path, names)) == sorted(names)


def test_a_star_matches_any_letters(tmp_path: Path) -> None:
    found = offered(tmp_path, ("mcp__faux_*", "count_*", "sea*"))
    assert {"count_words", "search", "mcp__faux_echo"} <= set(found)
    assert all(name.startswith(("mcp__faux_", "count_words", "search")) for name in found)
    usual = set(offered(tmp_path, None))
    assert {"read", "count_words", "mcp__faux_echo"} <= usual <= set(offered(tmp_path, ("*",)))


def test_an_unknown_name_is_an_error_if_nothing_could_supply_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='There is no tool "raed"'):
        offered(tmp_path, ("raed", "mcp__faux_echo"), extension_functions=())


def agent_tools(tmp_path: Path, agent: str, **options: Any) -> list[str]:
    """What the first request of an agent offers."""
    play = Play([[task("look", agent=agent)], [Say("ok")]], lambda assignment, turn: yielded("seen"))

    async def main() -> None:
        settings = {"tools.approvalMode": "yolo"}
        servers = {"faux": faux_server()}
        async with session_of(play, tmp_path, mcp_servers=servers, settings=settings, **options) as session:
            await connected(session)
            await session.prompt("go")
            await finish(session)

    asyncio.run(main())
    return [spec.name for spec in play.agent_requests[0].tools]


def test_an_agent_gets_the_tools_of_servers_once(tmp_path: Path) -> None:
    found = agent_tools(tmp_path, "task")
    assert found.count("mcp__faux_echo") == 1 and len(found) == len(set(found))


def test_an_agent_limited_to_some_tools_gets_no_others_of_servers(tmp_path: Path) -> None:
    folder = tmp_path / ".tau" / "agents"
    folder.mkdir(parents=True)
    (folder / "narrow.md").write_text(NARROW.format("read"))
    assert set(agent_tools(tmp_path, "narrow", trust=True)) == {"read", "irc", "yield"}
    (folder / "narrow.md").write_text(NARROW.format("read, mcp__faux_ec*"))
    assert set(agent_tools(tmp_path, "narrow", trust=True)) == {"read", "irc", "yield", "mcp__faux_echo"}


def test_an_agent_gets_no_tool_that_its_caller_was_not_given(tmp_path: Path) -> None:
    found = agent_tools(tmp_path, "task", tools=("read", "task", "mcp__faux_ec*"))
    assert set(found) <= {"read", "task", "irc", "yield", "mcp__faux_echo"}
