"""Finding the line of a key in hand-formatted text."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tau.config.json_file import find_line

TEXT = """{
  "a": {"b": [1, {"c": "}"},
              [2, "d"]],
        "esc\\"aped": null},
  "a.b": true, "list": [
    {"id": "x"},
    {"id": "y,[",
     "more": {}}
  ],
  "again": 1,
  "again": 2
}"""


def test_keys_and_elements_are_located() -> None:
    assert find_line(TEXT, "a") == 2
    assert find_line(TEXT, "a", "b", 1, "c") == 2
    assert find_line(TEXT, "a", "b", 2) == 3
    assert find_line(TEXT, "a", "b", 2, 1) == 3
    assert find_line(TEXT, "a", 'esc"aped') == 4
    assert find_line(TEXT, "list", 1) == 7
    assert find_line(TEXT, "list", 1, "more") == 8
    assert find_line(TEXT, "nowhere") is None


def test_dotted_spelling_is_found_and_the_last_one_wins() -> None:
    assert find_line(TEXT, "a", "b") == 5
    assert find_line(TEXT, "again") == 11


def test_escape_in_a_key_is_decoded() -> None:
    assert find_line('{\n"\\u0061": 1}', "a") == 2


names = st.text(st.characters(exclude_characters=".", exclude_categories=["Cs"]), max_size=5)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(names, trees, max_size=4), st.booleans())
def test_every_member_of_any_text_is_found(tree: dict[str, Any], ascii: bool) -> None:
    text = json.dumps(tree, indent=1, ensure_ascii=ascii)

    def visit(node: Any, way: tuple[str | int, ...]) -> None:
        members = (
            node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        )
        for step, value in members:
            line = find_line(text, *way, step)
            assert line is not None
            shown = text.split("\n")[line - 1].strip()
            start = json.dumps(step, ensure_ascii=ascii) + ": " if isinstance(node, dict) else ""
            assert shown.startswith(start)
            visit(value, (*way, step))

    if not any(step.isdigit() for step in json_keys(tree)):
        visit(tree, ())


def json_keys(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [*node, *(key for value in node.values() for key in json_keys(value))]
    return [key for value in node for key in json_keys(value)] if isinstance(node, list) else []
