"""A desk with a terminal on it."""

from collections.abc import Iterator

import pytest

from tests.e2e.interactive.desk import Desk
from tests.e2e.program import Program


@pytest.fixture
def desk(tau: Program) -> Iterator[Desk]:
    made = Desk(tau)
    try:
        yield made
    finally:
        made.close()
