"""The demo project: a package with a bug, a failing test and a repository."""

import asyncio
import shutil
from pathlib import Path

from tau.base import log
from tau.base.run import LocalRunner, capture

_SHOP = Path(__file__).with_name("shop")


GIT_SECONDS = 10.0
_PERSON = ("-c", "user.name=tau demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")
_STEPS = (("init", "-q"), ("add", "."), (*_PERSON, "commit", "-q", "-m", "A small shop"))


async def make_repository(folder: Path) -> None:
    """Write and commit the files; without git, it is a plain folder."""
    folder.mkdir()
    shutil.copyfile(_SHOP / "prices.txt", folder / "prices.py")
    shutil.copyfile(_SHOP / "test_prices.txt", folder / "test_prices.py")
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
