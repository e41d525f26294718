"""Schemas of the tools for the web: changes here change a contract."""

from pathlib import Path

from inline_snapshot import snapshot

from tests.contract.session_tools import HOW, tools_of_a_session


def test_schemas_of_web_tools(tmp_path: Path) -> None:
    tools = tools_of_a_session(tmp_path)
    found = {name: tools[name].parameters for name in ("web_search", "browser", "github")}
    pinned = snapshot({})
    assert found == pinned, HOW
