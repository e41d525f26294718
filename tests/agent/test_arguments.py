"""Schemas sent with every request, and arguments as models really send them."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from tau.agent.arguments import UNLISTED, decode_arguments, json_schema
from tau.base.errors import ToolError


class Part(Struct, frozen=True):
    """A docstring for programmers."""

    op: Literal["add", "drop"]
    title: str = ""


class Tree(Struct, frozen=True):
    name: str
    children: "list[Tree]" = []


class Params(Struct, frozen=True):
    """Not for the model."""

    aliases: ClassVar[dict[str, str]] = {"file_path": "path"}

    path: Annotated[str, Meta(description="Where")]
    mode: Literal["fast", "slow"] = "fast"
    limit: Annotated[int | None, Meta(description="How many")] = None
    seconds: Annotated[int, Meta(ge=1, le=60)] = 5
    deep: bool = False
    names: list[str] = []
    parts: list[Part] = []
    part: Part | None = None
    anything: Any = None


class Bounded(Struct, frozen=True):
    """One field of each kind that an error can describe."""

    share: Annotated[float, Meta(ge=0, le=1)] = 0.5
    at_least: Annotated[int, Meta(ge=3)] = 3
    at_most: Annotated[int, Meta(le=9)] = 9
    word: Annotated[str, Meta(min_length=2, max_length=5)] = "ab"
    few: Annotated[list[int], Meta(max_length=2)] = []
    several: Annotated[list[str], Meta(min_length=1)] = []
    number_or_word: int | str = 0
    number_or_list: int | list[str] = 0
    word_or_list: str | list[str] = ""
    level: Literal["all", 1] = 1
    maybe: float | bool | None = None
    by_name: dict[str, int] = {}
    nothing_known: dict[str, Any] | None = None


class Left(Struct, frozen=True, tag="left"):
    depth: int = 0


class Right(Struct, frozen=True, tag="right"):
    width: int = 0


class Either(Struct, frozen=True):
    side: Left | Right
    sides: list[Left | Right] = []


class Pair(Struct, frozen=True):
    old_text: str
    new_text: str
    tree: Tree | None = None


def error_of(params: type[Struct], arguments: dict[str, Any]) -> str:
    with pytest.raises(ToolError) as caught:
        decode_arguments(params, arguments)
    return str(caught.value)


def test_schema_is_one_object_without_titles_references_and_boilerplate() -> None:
    assert json_schema(Params) == {
        "type": "object",
        "properties": {
            "path": {"description": "Where", "type": "string"},
            "mode": {"enum": ["fast", "slow"], "type": "string", "default": "fast"},
            "limit": {"description": "How many", "type": "integer"},
            "seconds": {"type": "integer", "minimum": 1, "maximum": 60, "default": 5},
            "deep": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "parts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {"enum": ["add", "drop"], "type": "string"},
                        "title": {"type": "string"},
                    },
                    "required": ["op"],
                },
            },
            "part": {
                "type": "object",
                "properties": {
                    "op": {"enum": ["add", "drop"], "type": "string"},
                    "title": {"type": "string"},
                },
                "required": ["op"],
            },
            "anything": {},
        },
        "required": ["path"],
    }


def test_model_reads_nothing_twice_and_nothing_it_does_not_need() -> None:
    class Explained(Struct):
        paths: Annotated[str | list[str], Meta(title="For people")]
        ids: Annotated[list[str], Meta(min_length=1)] | None = None
        seconds: Annotated[int, Meta(title="Explained in the prompt", ge=1, le=60)] = 5
        skip: Annotated[int, Meta(ge=0)] = 0
        debug: Annotated[bool, Meta(description="Rarely useful", extra_json_schema=UNLISTED)] = False

    texts = {"type": "array", "items": {"type": "string"}}
    assert json_schema(Explained)["properties"] == {
        "paths": texts,
        "ids": texts,
        "seconds": {"type": "integer"},
        "skip": {"type": "integer"},
    }
    params, ignored = decode_arguments(Explained, {"paths": "a", "debug": True})
    assert (params.paths, params.debug, ignored) == ("a", True, [])
    assert error_of(Explained, {"paths": "a", "seconds": 61}) == (
        "Wrong arguments: `seconds` must be an integer from 1 to 60, not 61."
    )


def test_schema_is_built_once() -> None:
    assert json_schema(Params) is json_schema(Params)


def test_recursive_type_keeps_its_reference() -> None:
    schema = json_schema(Tree)
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["name"] == {"type": "string"}
    msgspec.json.encode(schema)


def test_unknown_fields_are_named_and_harmless() -> None:
    params, ignored = decode_arguments(Params, {"path": "a", "explanation": "because", "x": 1})
    assert params == Params("a")
    assert ignored == ["explanation", "x"]


def test_common_type_mistakes_are_corrected() -> None:
    params, ignored = decode_arguments(
        Params,
        {
            "path": "null",
            "limit": "5",
            "seconds": 7.0,
            "deep": "true",
            "names": '["a", "b"]',
            "parts": '[{"op": "add"}]',
            "part": '{"op": "drop", "title": "t"}',
        },
    )
    assert params == Params(
        "null",
        limit=5,
        seconds=7,
        deep=True,
        names=["a", "b"],
        parts=[Part("add")],
        part=Part("drop", "t"),
    )
    assert ignored == []


def test_json_like_text_stays_text_where_text_is_expected() -> None:
    params, _ = decode_arguments(Pair, {"old_text": '["a"]', "new_text": '{"b": 1}'})
    assert (params.old_text, params.new_text) == ('["a"]', '{"b": 1}')


def test_null_for_an_optional_field_means_omitted() -> None:
    params, _ = decode_arguments(Params, {"path": "a", "mode": None, "limit": None, "names": None})
    assert params == Params("a")


def test_alias_is_used_unless_the_field_is_present() -> None:
    assert decode_arguments(Params, {"file_path": "a"}) == (Params("a"), [])
    assert decode_arguments(Params, {"file_path": "a", "path": "b"}) == (Params("b"), ["file_path"])


def test_all_missing_fields_are_named_with_the_known_and_received_ones() -> None:
    assert error_of(Pair, {"text": "x", "old_text": None}) == (
        "Required fields are missing: `old_text`, `new_text`. Fields: old_text, new_text, tree (optional). "
        "Received: `text`, `old_text` (null)."
    )
    assert error_of(Params, {}).startswith("Required field is missing: `path`. ")
    assert error_of(Params, {}).endswith("Received: nothing.")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"path": 3}, "`path` must be a string, not 3"),
        ({"path": {"a": 1}}, '`path` must be a string, not {"a":1}'),
        ({"mode": "medium"}, '`mode` must be one of "fast", "slow", not "medium"'),
        ({"seconds": 0}, "`seconds` must be an integer from 1 to 60, not 0"),
        ({"seconds": "soon"}, '`seconds` must be an integer from 1 to 60, not "soon"'),
        ({"limit": 1.5}, "`limit` must be an integer, not 1.5"),
        ({"limit": "[1]"}, '`limit` must be an integer, not "[1]"'),
        ({"deep": "perhaps"}, '`deep` must be true or false, not "perhaps"'),
        ({"names": "a"}, '`names` must be a list of strings, not "a"'),
        ({"names": "[1"}, '`names` must be a list of strings, not "[1"'),
        ({"names": ["a", 2]}, "`names[1]` must be a string, not 2"),
        ({"parts": [{"op": "add"}, {"op": "mul"}]}, '`parts[1].op` must be one of "add", "drop", not "mul"'),
        ({"part": {"op": 1}}, '`part.op` must be one of "add", "drop", not 1'),
        ({"part": 5}, "`part` must be an object with op, title, not 5"),
    ],
)
def test_wrong_field_is_named_with_expected_and_received_values(
    arguments: dict[str, Any], complaint: str
) -> None:
    assert error_of(Params, {"path": "a", **arguments}) == f"Wrong arguments: {complaint}."


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"share": 2}, "`share` must be a number from 0 to 1, not 2"),
        ({"at_least": 2}, "`at_least` must be an integer of at least 3, not 2"),
        ({"at_most": 10}, "`at_most` must be an integer of at most 9, not 10"),
        ({"word": "abcdef"}, '`word` must be a string of 2 to 5 characters, not "abcdef"'),
        ({"few": [1, 2, 3]}, "`few` must be a list of integers of at most 2 items, not [1,2,3]"),
        ({"several": []}, "`several` must be a list of strings of at least 1 items, not []"),
        ({"number_or_word": [1]}, "`number_or_word` must be an integer or a string, not [1]"),
        ({"number_or_list": "[1"}, '`number_or_list` must be an integer or a list of strings, not "[1"'),
        ({"maybe": "x"}, '`maybe` must be a number or true or false, not "x"'),
        ({"by_name": {"a": "x"}}, "`by_name[...]`: Expected `int`, got `str`"),
        ({"by_name": 1}, "`by_name` must be an object, not 1"),
        ({"nothing_known": 1}, "`nothing_known` must be an object, not 1"),
    ],
)
def test_bounds_and_alternatives_are_shown(arguments: dict[str, Any], complaint: str) -> None:
    assert error_of(Bounded, arguments) == f"Wrong arguments: {complaint}."


def test_every_wrong_field_is_reported_at_once_and_no_other() -> None:
    message = error_of(Params, {"path": 1, "seconds": 5, "limit": None, "deep": "x", "mode": "y"})
    assert message == (
        "Wrong arguments: `path` must be a string, not 1; "
        '`mode` must be one of "fast", "slow", not "y"; `deep` must be true or false, not "x".'
    )
    assert error_of(Params, {"path": "a", "limit": "5", "names": 3}) == (
        "Wrong arguments: `names` must be a list of strings, not 3."
    )


def test_union_of_objects_says_what_was_wrong() -> None:
    message = error_of(Either, {"side": {"type": "up"}})
    assert message == "Wrong arguments: `side.type`: Invalid value 'up'."
    assert "`sides[1].depth`" in error_of(
        Either, {"side": {"type": "left"}, "sides": [{"type": "right"}, {"type": "left", "depth": "x"}]}
    )
    left = json_schema(Either)["properties"]["side"]["anyOf"][0]
    assert left["properties"]["type"] == {"enum": ["left"], "type": "string"}


def test_text_stays_text_where_a_list_is_one_alternative() -> None:
    names = ("number_or_word", "number_or_list", "word_or_list")
    params, _ = decode_arguments(Bounded, dict.fromkeys(names, '["a"]'))
    assert [getattr(params, name) for name in names] == ['["a"]', ["a"], '["a"]']


def test_values_of_several_kinds_have_no_single_type() -> None:
    assert json_schema(Bounded)["properties"]["level"] == {"enum": [1, "all"], "default": 1}
    assert error_of(Bounded, {"level": 2}) == 'Wrong arguments: `level` must be one of 1, "all", not 2.'


def test_at_most_twenty_received_names_are_shown() -> None:
    message = error_of(Params, {f"x{number}": 1 for number in range(30)})
    assert message.endswith("`x19`.") and message.count("`x") == 20


def test_errors_inside_recursive_types_list_the_allowed_kind() -> None:
    message = error_of(
        Pair, {"old_text": "", "new_text": "", "tree": {"name": "a", "children": [{"name": 4}]}}
    )
    assert message == "Wrong arguments: `tree.children[0].name` must be a string, not 4."


def test_long_value_is_shown_in_part() -> None:
    message = error_of(Params, {"path": "a", "seconds": "x" * 10_000})
    assert message.endswith(f'not "{"x" * 78}….')
    message = error_of(Params, {"path": "a", "seconds": "x" * 78})
    assert message.endswith(f'not "{"x" * 78}".')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*Params.__struct_fields__, "file_path", "other"])


@given(st.dictionaries(NAMES, JSON))
def test_any_arguments_decode_or_give_a_sentence(arguments: dict[str, Any]) -> None:
    try:
        params, ignored = decode_arguments(Params, arguments)
    except ToolError as error:
        assert str(error).endswith(".")
    else:
        assert isinstance(params, Params)
        assert set(ignored) <= {"other", "file_path"}
