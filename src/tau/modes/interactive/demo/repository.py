"""The demo project: a package with a bug, a failing test and a repository."""

import asyncio
from pathlib import Path

from tau.base import log
from tau.base.run import LocalRunner, capture

PACKAGE = '''"""Prices of a small shop."""


def total(prices):
    return sum(prices)


def average(prices):
    return total(prices) / len(prices)


def cheapest(prices):
    return min(prices, default=0)
'''

TEST = """import unittest

from prices import average, cheapest, total


class Prices(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([3, 4]), 7)

    def test_average(self):
        self.assertEqual(average([2, 4]), 3)

    def test_an_empty_shop(self):
        self.assertEqual(cheapest([]), 0)
        self.assertEqual(average([]), 0)
"""

GIT_SECONDS = 10.0
_PERSON = ("-c", "user.name=tau demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")
_STEPS = (("init", "-q"), ("add", "."), (*_PERSON, "commit", "-q", "-m", "A small shop"))


async def make_repository(folder: Path) -> None:
    """Write and commit the files; without git, it is a plain folder."""
    folder.mkdir()
    (folder / "prices.py").write_text(PACKAGE, encoding="utf-8")
    (folder / "test_prices.py").write_text(TEST, encoding="utf-8")
    (folder / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    runner = LocalRunner()
    try:
        async with asyncio.timeout(GIT_SECONDS):
            for words in _STEPS:
                # Ignore the hooks and signing of the user's configuration.
                env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
                async with await runner.start(["git", *words], cwd=folder, env=env) as git:
                    await capture(git)
    except (OSError, TimeoutError) as error:
        log.error("The demo has no repository.", error)
    finally:
        runner.close()
