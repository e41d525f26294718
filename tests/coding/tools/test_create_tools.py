"""Tools by name."""

import pytest

from tau.base.errors import UsageError
from tau.coding.tools import TOOLS, create_tools


def test_all_tools_in_their_fixed_order() -> None:
    assert [tool.name for tool in create_tools()] == ["read", "bash", "edit", "write"] == list(TOOLS)


def test_named_tools_keep_the_fixed_order_and_come_once() -> None:
    assert [tool.name for tool in create_tools(["write", "read", "write"])] == ["read", "write"]
    assert create_tools([]) == []


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"Unknown tools: cat, ls\. Known tools: read, bash, edit, write\."):
        create_tools(["read", "cat", "ls"])


def test_no_tool_is_exclusive_and_each_has_a_label_and_a_prompt() -> None:
    for tool in create_tools():
        assert not tool.exclusive
        assert tool.label
        assert tool.description and "{{" not in tool.description


def test_names_from_other_agents_are_understood() -> None:
    read, bash, edit, write = create_tools()
    assert read.decode({"file_path": "a"})[0].path == "a"
    assert bash.decode({"cmd": "ls"})[0].command == "ls"
    assert write.decode({"file_path": "a", "content": ""})[0].path == "a"
    params, ignored = edit.decode({"file_path": "a", "old_string": "b", "new_string": "c", "why": 1})
    assert (params.path, params.old_text, params.new_text) == ("a", "b", "c")
    assert ignored == ["why"]
