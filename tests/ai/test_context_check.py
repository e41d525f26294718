"""Whether a local server has read everything it was sent."""

import pytest

from tau.ai.client import context_warning


@pytest.mark.parametrize(
    ("window", "sent", "read", "warned"),
    [
        (None, 3_000, 1_499, True),
        (None, 3_000, 1_500, False),
        (None, 1_101, 101, False),  # a thousand may be a counting difference
        (None, 1_102, 101, True),
        (100, 3_000, 2_900, False),  # what was read outweighs what it claims to hold
        (4_096, 4_096, None, False),
        (4_096, 4_097, None, True),
        (4_096, 4_097, 0, True),
        (4_096, 4_097, 1, True),
        (None, 100_000, None, False),
    ],
)
def test_unread_prompt_is_reported(window: int | None, sent: int, read: int | None, warned: bool) -> None:
    assert (context_warning(window, sent, read) is not None) == warned


def test_warning_says_how_much_was_lost() -> None:
    assert str(context_warning(None, 30_000, 4_096)).startswith(
        "The server read only 4,096 of about 30,000 tokens"
    )
    assert str(context_warning(4_096, 30_000, None)).startswith(
        "The prompt is about 30,000 tokens, but the server holds 4,096"
    )
