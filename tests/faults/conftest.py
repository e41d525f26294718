"""The real program, as in the tests of it."""

from tests.e2e.conftest import server, tau

__all__ = ["server", "tau"]
