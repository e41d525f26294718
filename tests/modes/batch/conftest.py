"""The program and the server its tasks talk to."""

from tests.e2e.conftest import server, tau

__all__ = ["server", "tau"]
