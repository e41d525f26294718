"""The path of a mistake, from msgspec's messages."""

import msgspec
import pytest
from msgspec import Struct

from tau.base.error_paths import format_path, split_path


class Inner(Struct):
    count: int


class Outer(Struct):
    rows: list[Inner] = []
    by_name: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("data", "steps", "written"),
    [
        ({"rows": [{"count": 1}, {"count": "x"}]}, ["rows", 1, "count"], ".rows[1].count"),
        ({"by_name": {"a.b": {"count": "x"}}}, ["by_name", None, "count"], ".by_name[...].count"),
        ({"rows": 5}, ["rows"], ".rows"),
        ([], [], ""),
    ],
)
def test_path_is_parsed_from_the_message(data: object, steps: list[object], written: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(data, Outer)
    message, found = split_path(str(caught.value))
    assert found == steps
    assert message.startswith("Expected `") and "$" not in message
    assert format_path(*found) == written
