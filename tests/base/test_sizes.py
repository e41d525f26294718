"""Human-readable sizes."""

import pytest

from tau.base.sizes import format_bytes


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (2, "2 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1535, "1.4 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1023.9 KiB"),
        (1024**2, "1 MiB"),
        (1024**3 - 1, "1023.9 MiB"),
        (1024**3, "1 GiB"),
        (5 * 1024**3 // 2, "2.5 GiB"),
    ],
)
def test_size_uses_the_largest_unit_and_rounds_down(size: int, text: str) -> None:
    assert format_bytes(size) == text
