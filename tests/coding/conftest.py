"""The context of a tool call in a folder of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coding.context import CallContext, call_context


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[CallContext]:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    with call_context(folder) as context:
        yield context
