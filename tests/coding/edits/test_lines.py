"""Line numbers in messages."""

from tau.coding.edits.lines import line_numbers


def test_at_most_twenty_line_numbers_are_listed() -> None:
    assert line_numbers([0, 4]) == "1, 5"
    assert line_numbers(list(range(20))).endswith(", 19, 20")
    assert line_numbers(list(range(24))).endswith(", 19, 20 and 4 more")
