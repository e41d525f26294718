"""A launcher for the interactive program."""

from collections.abc import Iterator

import pytest

from tests.e2e.interactive.launcher import Launcher
from tests.e2e.program import Program


@pytest.fixture
def launcher(tau: Program) -> Iterator[Launcher]:
    made = Launcher(tau)
    try:
        yield made
    finally:
        made.close()
