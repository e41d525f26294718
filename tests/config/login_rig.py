"""A gateway with logins, its user, and processes that use the login at the same time."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tau.ai.catalog import Catalog
from tau.ai.http import HttpTransport
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models

T = TypeVar("T")


class Gateway:
    """A company's gateway with single sign-on, and a user who is logged in to it."""

    def __init__(self, url: str, login: dict[str, object], home: Path) -> None:
        self.url = url
        self.home = home
        home.mkdir()
        provider = {
            "baseUrl": f"{url}/v1",
            "api": "openai-completions",
            "login": login,
            "models": [{"id": "m"}],
        }
        (home / "models.json").write_text(json.dumps({"providers": {"gate": provider}}))
        self.auth = AuthFile(home / "auth.json")
        self.warnings: list[str] = []

    def stored(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.auth.path.read_text())
        return content

    def use(self, act: Callable[[KeyCredentials], Coroutine[Any, Any, T]]) -> T:
        async def main() -> T:
            http = HttpTransport({})
            catalog = merge_models(Catalog({}, []), load_models_file(self.home / "models.json"))
            keys = KeyCredentials(
                catalog, self.auth, LocalRunner(shell="/bin/sh"), {}, http=http, warn=self.warnings.append
            )
            try:
                return await act(keys)
            finally:
                await http.close()

        return asyncio.run(main())

    def expire(self) -> None:
        """Let the time of the stored login be over."""
        content = self.stored()
        content["gate"] |= {"expires": 1, "renewAt": 0}
        self.auth.path.write_text(json.dumps(content))

    def key(self) -> str | None:
        return self.use(lambda keys: keys.get("gate"))


CHILD = """
import asyncio, os, sys, time
from pathlib import Path
from tau.ai.catalog import Catalog
from tau.ai.http import HttpTransport
from tau.base.run import LocalRunner
from tau.config import login_renewal
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models

home, start, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if mode == "kill":
    AuthFile.renew_login = lambda *args: os.kill(os.getpid(), 9)
async def main():
    http = HttpTransport({})
    catalog = merge_models(Catalog({}, []), load_models_file(home / "models.json"))
    keys = KeyCredentials(catalog, AuthFile(home / "auth.json"), LocalRunner(shell="/bin/sh"), {}, http=http)
    print("ready", flush=True)
    while not start.exists():
        await asyncio.sleep(0.005)
    print(await keys.get("gate"), flush=True)
    await http.close()
asyncio.run(main())
"""


def start_children(gateway: Gateway, count: int, mode: str = "") -> list[subprocess.Popen[str]]:
    start = gateway.home / "start"
    command = [sys.executable, "-c", CHILD, str(gateway.home), str(start), mode]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        for _ in range(count)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    start.touch()
    return children
