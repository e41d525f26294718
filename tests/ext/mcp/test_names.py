"""Names of tools: valid for providers, unique, and independent of who connects first."""

from tau.ext.mcp.tools import is_offered, tool_names


def test_names_are_valid_and_short() -> None:
    names = tool_names("my.server", ["get user", "x" * 100, "../x"], ["my.server"])
    assert names["get user"] == "mcp__my_server_get_user"
    assert names["../x"] == "mcp__my_server____x"
    assert len(names["x" * 100]) == 64 and names == tool_names(
        "my.server", ["../x", "x" * 100, "get user"], ["my.server"]
    )


def test_a_tool_whose_name_needs_no_change_keeps_it() -> None:
    names = tool_names("s", ["a.b", "a_b"], ["s"])
    assert names["a_b"] == "mcp__s_a_b" and names["a.b"].startswith("mcp__s_a_b_")


def test_one_server_owns_a_shared_name_whoever_connects_first() -> None:
    servers = ["a", "a_b"]
    one = tool_names("a", ["b_c"], servers)["b_c"]
    other = tool_names("a_b", ["c"], servers)["c"]
    assert other == "mcp__a_b_c" and one != other


def test_tools_are_chosen_by_pattern() -> None:
    assert is_offered("get_user", ["get_*"], []) and not is_offered("set_user", ["get_*"], [])
    assert not is_offered("get_user", [], ["*_user"])
