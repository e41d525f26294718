"""The program and the server it talks to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.support.fake_server import FakeServer
from tests.support.forked import ForkServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def tau(server: FakeServer, tmp_path: Path, forks: ForkServer | None) -> Program:
    return Program(server, tmp_path, forks)
