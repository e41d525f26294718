"""Tools by name."""

import pytest

from tau.backends.ssh.hosts import SshHost
from tau.base.errors import UsageError
from tau.coding.resources import SessionResources
from tau.coding.tools.registry import TOOLS, ToolParts, create_tools
from tau.config.settings import Settings
from tau.config.tool_settings import (
    EDIT_MODES,
    AsyncSettings,
    AutoBackgroundSettings,
    BashSettings,
    CheckpointSettings,
    EditSettings,
    InspectImageSettings,
    TodoSettings,
)


def usual(parts: ToolParts | None = None) -> set[str]:
    """The names of a session's default tools."""
    return {tool.name for tool in create_tools(parts=parts)}


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_has_its_name_a_label_and_a_prompt(name: str) -> None:
    [tool] = create_tools([name])
    assert tool.name == name and tool.label
    assert tool.description and "{{" not in tool.description


def test_tools_come_in_table_order_and_once() -> None:
    assert [tool.name for tool in create_tools(list(TOOLS)[::-1])] == list(TOOLS)
    assert [tool.name for tool in create_tools()] == [name for name in TOOLS if name in usual()]
    assert [tool.name for tool in create_tools(["write", "read", "write"])] == ["read", "write"]
    assert create_tools([]) == []


def test_optional_tools_exist_only_where_useful() -> None:
    assert not usual() & {
        "ssh",
        "checkpoint",
        "rewind",
        "inspect_image",
        "ask",
        "recall",
        "retain",
        "memory_edit",
    }
    hosts = SessionResources(hosts={"box": SshHost(name="box", address="box")})
    assert usual(ToolParts(Settings(), resources=hosts)) - usual() == {"ssh"}
    assert usual(ToolParts(Settings(), can_ask=True)) - usual() == {"ask"}
    checkpoints = Settings(checkpoint=CheckpointSettings(enabled=True))
    assert usual(ToolParts(checkpoints)) - usual() == {"checkpoint", "rewind"}
    images = Settings(inspect_image=InspectImageSettings(enabled=True))
    assert usual(ToolParts(images)) - usual() == {"inspect_image"}
    alone = Settings(async_=AsyncSettings(enabled=False))
    assert usual() - usual(ToolParts(alone)) == {"job"}
    moved = BashSettings(auto_background=AutoBackgroundSettings(enabled=True))
    assert usual(ToolParts(Settings(async_=alone.async_, bash=moved))) == usual()
    assert usual() - usual(ToolParts(Settings(todo=TodoSettings(enabled=False)))) == {"todo"}


def test_edit_tool_uses_the_configured_mode() -> None:
    for mode in EDIT_MODES:
        [edit] = create_tools(["edit"], ToolParts(Settings(edit=EditSettings(mode=mode))))
        wanted = {"path", "old_text", "new_text", "replace_all"} if mode == "replace" else {"input"}
        assert edit.name == "edit" and set(edit.spec.parameters["properties"]) == wanted
        assert edit.description


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        create_tools(["read", "cat", "ls"])
    assert str(caught.value) == f'There is no tool "cat" or "ls"; there are {", ".join(TOOLS)}.'


def test_names_from_other_agents_are_accepted() -> None:
    parts = ToolParts(Settings(edit=EditSettings(mode="replace")))
    read, bash, edit, write = create_tools(["read", "bash", "edit", "write"], parts)
    assert read.decode({"file_path": "a"})[0].path == "a"
    assert bash.decode({"cmd": "ls"})[0].command == "ls"
    assert write.decode({"file_path": "a", "content": ""})[0].path == "a"
    params, ignored = edit.decode({"file_path": "a", "old_string": "b", "new_string": "c", "why": 1})
    assert (params.path, params.old_text, params.new_text) == ("a", "b", "c")
    assert ignored == ["why"]
