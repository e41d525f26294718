"""Errors: their sentences and their properties."""

from pathlib import Path

import pytest

from tau.base.errors import ConfigError, ExtensionError, ProviderError


def test_broken_file_is_named_with_the_line_if_known() -> None:
    assert str(ConfigError("Wrong.")) == "Wrong."
    assert str(ConfigError("Wrong.", path=Path("/a"))) == "/a: Wrong."
    assert str(ConfigError("Wrong.", path=Path("/a"), line=0)) == "/a:0: Wrong."


def test_foreign_code_is_named() -> None:
    assert str(ExtensionError("It failed.", source="x.py")) == "x.py: It failed."


@pytest.mark.parametrize(
    ("status", "quota", "refused", "blames"),
    [
        (401, False, True, True),
        (403, False, True, True),
        (429, False, False, True),
        (402, True, False, True),
        (400, False, False, False),
        (402, False, False, False),
        (None, False, False, False),
    ],
)
def test_another_key_may_help_if_this_one_is_rejected_or_exhausted(
    status: int | None, quota: bool, refused: bool, blames: bool
) -> None:
    error = ProviderError("No.", status=status, quota=quota)
    assert (error.key_refused, error.blames_key) == (refused, blames)


def test_provider_error_defaults() -> None:
    error = ProviderError("No.")
    assert not (error.retryable or error.overflow or error.quota or error.media or error.blames_key)
    assert (error.status, error.retry_after) == (None, None)
