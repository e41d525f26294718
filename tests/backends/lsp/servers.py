"""Language servers for tests: the fake one, and the real ones of `make test-servers`."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tau.backends.lsp.config import FoundServers, ServerSpec, find_servers
from tau.backends.lsp.pool import LanguageServers
from tau.base.run import LocalRunner
from tau.config.paths import Paths
from tests.support.language_servers import folder

FAKE = Path(__file__).parents[2] / "support" / "fake_language_server.py"
REAL = folder()


def fake_spec(**script: Any) -> ServerSpec:
    args = (str(FAKE), json.dumps(script))
    return ServerSpec(
        name="fake", command=sys.executable, args=args, file_types=(".txt",), program=sys.executable
    )


@asynccontextmanager
async def pool_of(folder: Path, *specs: ServerSpec, idle_s: float = 900.0) -> AsyncIterator[LanguageServers]:
    paths, runner = Paths(folder / "home"), LocalRunner()
    found = FoundServers(folder, specs, idle_s=idle_s)
    try:
        async with LanguageServers(folder, runner, paths, os.environ, found, trusted=True) as pool:
            yield pool
    finally:
        runner.close()


@asynccontextmanager
async def real_pool(folder: Path, *wanted: str) -> AsyncIterator[LanguageServers]:
    """The installed servers for a folder, only those wanted. Skips the test if one is missing."""
    environ = {**os.environ, "PATH": real_path()}
    found = find_servers(folder, Paths(folder / "home"), environ, trusted=True)
    specs = [spec for spec in found.usable if spec.name in wanted]
    if len(specs) < len(wanted):
        pytest.skip(f"make test-servers installs {' and '.join(wanted)}")
    async with pool_of(folder, *specs) as pool:
        yield pool


def real_path() -> str:
    places = (REAL / "py/bin", REAL / "ts7/node_modules/.bin")
    return os.pathsep.join([*map(str, places), os.environ["PATH"]])
