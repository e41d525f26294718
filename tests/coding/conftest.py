"""A tool call context in the test's own folder; closes what tests opened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coding.context import CallContext, call_context
from tests.coding.session_rig import MADE


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[CallContext]:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    with call_context(folder) as context:
        yield context


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    while MADE:
        MADE.pop().close()
