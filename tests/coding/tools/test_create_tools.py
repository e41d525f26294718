"""Tools by name."""

import pytest

from tau.backends.ssh.hosts import SshHost
from tau.base.errors import UsageError
from tau.coding.resources import SessionResources
from tau.coding.tools import EDIT_MODES, TOOLS, ToolSettings, create_tools


def test_all_tools_in_their_fixed_order() -> None:
    names = ["read", "bash", "edit", "write", "search", "find", "ast_grep", "ast_edit", "resolve"]
    names += ["job", "eval", "todo"]
    assert [tool.name for tool in create_tools()] == names
    everything = ToolSettings(inspect_images=True, checkpoint=True, can_ask=True)
    hosts = SessionResources(hosts={"box": SshHost(name="box", address="box")})
    assert [tool.name for tool in create_tools(settings=everything, outside=hosts)] == list(TOOLS)
    assert [tool.name for tool in create_tools(["inspect_image"])] == ["inspect_image"]


def test_the_tool_edit_speaks_the_language_that_is_set() -> None:
    for mode in EDIT_MODES:
        [edit] = create_tools(["edit"], ToolSettings(edit_mode=mode))
        wanted = {"path", "old_text", "new_text", "replace_all"} if mode == "replace" else {"input"}
        assert edit.name == "edit" and set(edit.spec.parameters["properties"]) == wanted
        assert edit.description


def test_named_tools_keep_the_fixed_order_and_come_once() -> None:
    assert [tool.name for tool in create_tools(["write", "read", "write"])] == ["read", "write"]
    assert create_tools([]) == []


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match=r'There is no tool "cat" or "ls"; there are read, bash, edit, write, search, '
    ):
        create_tools(["read", "cat", "ls"])


def test_only_what_shares_something_is_exclusive_and_each_has_a_label_and_a_prompt() -> None:
    for tool in create_tools():
        assert tool.exclusive == (tool.name in ("ast_edit", "resolve", "eval", "todo"))
        assert tool.label
        assert tool.description and "{{" not in tool.description


def test_names_from_other_agents_are_understood() -> None:
    read, bash, edit, write, *_ = create_tools(settings=ToolSettings(edit_mode="replace"))
    assert read.decode({"file_path": "a"})[0].path == "a"
    assert bash.decode({"cmd": "ls"})[0].command == "ls"
    assert write.decode({"file_path": "a", "content": ""})[0].path == "a"
    params, ignored = edit.decode({"file_path": "a", "old_string": "b", "new_string": "c", "why": 1})
    assert (params.path, params.old_text, params.new_text) == ("a", "b", "c")
    assert ignored == ["why"]
