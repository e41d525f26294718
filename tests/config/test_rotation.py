"""Rotation of several keys of one provider."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tau.ai.auth import KeyRetry
from tau.ai.catalog import Catalog
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials


class Keys:
    """Keys of the provider `acme`, and a movable clock."""

    def __init__(self, folder: Path) -> None:
        self.file = AuthFile(folder / "auth.json")
        self.now = 1000.0
        self.flags: dict[str, str] = {}
        self.store("A", "B", "C")
        self.credentials = KeyCredentials(
            Catalog({}, []),
            self.file,
            LocalRunner(shell="/bin/sh"),
            {"MY_KEY": "from-variable"},
            flags=self.flags,
            models={"acme": "from-models"},
            clock=lambda: self.now,
        )

    def store(self, *keys: str) -> None:
        self.file.path.write_text(json.dumps({"acme": [{"type": "api_key", "key": key} for key in keys]}))

    async def get(self) -> str | None:
        return await self.credentials.get("acme")

    async def fail(self, key: str, wait_s: float | None = None, *, refused: bool = False) -> KeyRetry:
        return await self.credentials.rotate("acme", key, refused=refused, wait_s=wait_s)


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


def test_one_key_is_used_until_it_fails_then_the_next(keys: Keys) -> None:
    async def main() -> None:
        assert [await keys.get(), await keys.get()] == ["A", "A"]
        assert await keys.fail("A") == KeyRetry("B")
        assert [await keys.get(), await keys.get()] == ["B", "B"]
        assert await keys.fail("B") == KeyRetry("C")
        keys.now += 3600
        assert await keys.get() == "C"
        assert await keys.fail("C") == KeyRetry("A")

    run(main)


@pytest.mark.parametrize(("wait_s", "blocked_s"), [(20.0, 21), (None, 61), (0.0, 1)])
def test_key_returns_when_its_wait_is_over(keys: Keys, wait_s: float | None, blocked_s: float) -> None:
    async def main() -> None:
        keys.store("A", "B")
        await keys.get()
        assert await keys.fail("A", wait_s) == KeyRetry("B")
        keys.now += blocked_s - 0.5
        assert (await keys.fail("B", 1000)).key is None
        keys.now += 0.5
        assert await keys.get() == "A"

    run(main)


def test_shortest_wait_wins_when_all_are_blocked(keys: Keys) -> None:
    async def main() -> None:
        await keys.get()
        assert (await keys.fail("A", 50)).key == "B"
        keys.now += 10
        assert (await keys.fail("B", 20)).key == "C"
        assert await keys.fail("C", 300) == KeyRetry(None, 21)
        assert await keys.get() == "B"

    run(main)


def test_rejected_key_is_not_waited_for(keys: Keys) -> None:
    async def main() -> None:
        keys.store("A", "B")
        await keys.get()
        assert await keys.fail("A", refused=True) == KeyRetry("B")
        assert await keys.fail("B", refused=True) == KeyRetry()
        keys.now += 62
        await keys.get()
        assert await keys.fail("A", 5) == KeyRetry("B")
        assert await keys.fail("B", refused=True) == KeyRetry(None, 6)

    run(main)


def test_simultaneous_failures_of_one_key_do_not_skip_another(keys: Keys) -> None:
    async def main() -> None:
        await keys.get()
        assert [await keys.fail("A"), await keys.fail("A")] == [KeyRetry("B"), KeyRetry("B")]

    run(main)


def test_single_key_is_not_rotated(keys: Keys) -> None:
    async def main() -> None:
        keys.store("A")
        assert await keys.get() == "A"
        assert await keys.fail("A", 5) == KeyRetry()
        keys.store("A", "B")
        keys.flags["acme"] = "from-flag"
        assert await keys.get() == "from-flag"
        assert await keys.fail("from-flag", 5) == KeyRetry()

    run(main)


def test_key_added_meanwhile_is_found(keys: Keys) -> None:
    async def main() -> None:
        keys.store("A", "NOT_SET")
        await keys.get()
        assert (await keys.fail("A")).key is None
        keys.store("A", "NOT_SET", "MY_KEY")
        assert await keys.fail("A") == KeyRetry("from-variable")

    run(main)


def test_unresolvable_keys_are_skipped(keys: Keys) -> None:
    async def main() -> None:
        keys.store("NOT_SET", "!echo from-command")
        assert await keys.get() == "from-command"
        assert await keys.credentials.refresh("acme", "from-command") is None
        keys.store("NOT_SET", "NOT_SET_EITHER")
        assert await keys.get() == "from-models"
        assert keys.credentials.available("acme")

    run(main)
