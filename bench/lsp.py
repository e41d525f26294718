"""Measures what tau adds to a bare client of a language server: `bench/lsp.py [--quick]`.

For each server of `make test-servers`, in turn: the first hover after the start, warm hovers, and diagnostics
after an edit; once by a client of a few lines, once by tau's own.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from report import milliseconds

sys.path.insert(0, str(Path(__file__).parents[1]))

from tau.backends import lsp
from tau.backends.lsp.config import FoundServers, ServerSpec, find_servers
from tau.backends.lsp.pool import LanguageServers
from tau.base.run import LocalRunner
from tau.config.paths import Paths
from tests.support.language_servers import folder

HOVERS, EDITS, STARTS = 210, 30, 3
CAPABILITIES = json.loads(lsp.TABLE.with_name("capabilities.json").read_text())
TABLE_NAMES = list(json.loads(lsp.TABLE.read_text())["servers"])
TARGETS_MS = {"hover": 3.0, "diagnostics": 20.0, "first": 50.0}
PYTHON = "def f(x: int) -> int:\n    return x\n\n\ny: str = f(1)\n"
C = 'int f(int x) { return x; }\nint g(void) { return f("a"); }\n'
PROJECTS = {
    "basedpyright": ("main.py", PYTHON, "pyproject.toml"),
    "ty": ("main.py", PYTHON, "pyproject.toml"),
    "ruff": ("main.py", PYTHON, "pyproject.toml"),
    "clangd": ("main.c", C, "compile_flags.txt"),
}
WAIT_S = 30.0


class BareClient:
    """What any client has to do, and no more."""

    def __init__(self, spec: ServerSpec, root: Path) -> None:
        self._spec, self._root = spec, root
        self._id = 0
        self._version = 1
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._published = asyncio.Event()
        self._pulls = False

    async def start(self, path: Path, text: str) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._spec.argv,
            cwd=self._root,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        self._reading = asyncio.get_running_loop().create_task(self._read())
        root = {"uri": self._root.as_uri(), "name": "bench"}
        params = {"processId": os.getpid(), "rootUri": root["uri"], "workspaceFolders": [root]}
        answer = await self.request("initialize", {**params, "capabilities": CAPABILITIES})
        self._pulls = bool(answer["capabilities"].get("diagnosticProvider"))
        self._send(method="initialized", params={})
        document = {
            "uri": path.as_uri(),
            "languageId": self._spec.language_of(path),
            "version": 1,
            "text": text,
        }
        self._send(method="textDocument/didOpen", params={"textDocument": document})

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def request(self, method: str, params: Any) -> Any:
        self._id += 1
        self._answers[self._id] = asyncio.get_running_loop().create_future()
        self._send(id=self._id, method=method, params=params)
        return await asyncio.wait_for(self._answers[self._id], WAIT_S)

    async def _read(self) -> None:
        reader = self._process.stdout
        assert reader is not None
        while header := await reader.readuntil(b"\r\n\r\n"):
            size = int(header.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            message = json.loads(await reader.readexactly(size))
            if "method" not in message:
                self._answers[message["id"]].set_result(message.get("result"))
            elif "id" in message:
                rows = message.get("params", {}).get("registrations", [])
                self._pulls |= any(row["method"] == "textDocument/diagnostic" for row in rows)
                items = message.get("params", {}).get("items", [])
                self._send(id=message["id"], result=[None] * len(items) or None)
            elif message["method"].endswith("/publishDiagnostics") and (
                message["params"].get("version", self._version) == self._version
            ):
                self._published.set()

    async def hover(self, path: Path) -> None:
        position = {"line": 0, "character": 4}
        await self.request(
            "textDocument/hover", {"textDocument": {"uri": path.as_uri()}, "position": position}
        )

    async def edit(self, path: Path, text: str) -> None:
        """Until it has said what it thinks of the new text."""
        self._version += 1
        self._published.clear()
        path.write_text(text)
        document = {"uri": path.as_uri(), "version": self._version}
        self._send(
            method="textDocument/didChange",
            params={"textDocument": document, "contentChanges": [{"text": text}]},
        )
        if self._pulls:
            await self.request("textDocument/diagnostic", {"textDocument": {"uri": path.as_uri()}})
        else:
            await asyncio.wait_for(self._published.wait(), WAIT_S)

    async def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await self._reading


class TauClient:
    """The same through the servers of a session."""

    def __init__(self, spec: ServerSpec, root: Path) -> None:
        self._spec = spec
        self._runner = LocalRunner()
        found = FoundServers(root, (spec,))
        self._pool = LanguageServers(root, self._runner, Paths(root), os.environ, found, trusted=True)

    async def start(self, path: Path, text: str) -> None:
        await self._pool.__aenter__()
        await self._pool.server(self._spec)

    async def hover(self, path: Path) -> None:
        server = await self._pool.server(self._spec)
        await server.sync(path, look=False)
        position = {"line": 0, "character": 4}
        await server.request(
            "textDocument/hover", {"textDocument": {"uri": path.as_uri()}, "position": position}
        )

    async def edit(self, path: Path, text: str) -> None:
        path.write_text(text)
        report = await self._pool.check(path, wait_s=WAIT_S)
        assert not report.silent and not report.failed

    async def close(self) -> None:
        await self._pool.__aexit__(None, None, None)
        self._runner.close()


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    before = time.perf_counter()
    await work()
    return time.perf_counter() - before


async def opened(client: Any, path: Path, text: str) -> float:
    async def begin() -> None:
        await client.start(path, text)
        await client.hover(path)

    return await timed(begin)


async def measure(spec: ServerSpec, path: Path, few: int) -> dict[str, list[tuple[float, float]]]:
    """Pairs of both clients' times, measured in turn."""
    text, root = path.read_text(), path.parent
    found: dict[str, list[tuple[float, float]]] = {"first": [], "hover": [], "diagnostics": []}
    for _ in range(max(STARTS // few, 1)):
        bare, ours = BareClient(spec, root), TauClient(spec, root)
        times = [await opened(client, path, text) for client in (bare, ours)]
        found["first"].append((times[0], times[1]))
        for client in (bare, ours):
            await client.edit(path, f"{text}\n")
        for _ in range(HOVERS // few // STARTS):
            one = await timed(lambda: bare.hover(path))  # noqa: B023
            found["hover"].append((one, await timed(lambda: ours.hover(path))))  # noqa: B023
        for number in range(EDITS // few // STARTS):
            changed = [text + "\n" * (2 * number + more) for more in (2, 3)]
            one = await timed(lambda: bare.edit(path, changed[0]))  # noqa: B023
            found["diagnostics"].append((one, await timed(lambda: ours.edit(path, changed[1]))))  # noqa: B023
        for client in (bare, ours):
            await client.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    few = 5 if parser.parse_args().quick else 1
    environ = {**os.environ, "PATH": f"{folder() / 'py/bin'}{os.pathsep}{os.environ['PATH']}"}
    for name, (file, text, marker) in PROJECTS.items():
        with tempfile.TemporaryDirectory() as place:
            root = Path(place).resolve()
            (root / marker).touch()
            (root / file).write_text(text)
            others = {other: {"disabled": True} for other in TABLE_NAMES if other != name}
            (root / "home").mkdir()
            (root / "home/lsp.json").write_text(json.dumps({"servers": others}))
            found = find_servers(root, Paths(root / "home"), environ, trusted=True)
            spec = next((each for each in found.usable if each.name == name), None)
            if spec is None:
                print(f"{name}: not installed; make test-servers installs it")
                continue
            pairs = asyncio.run(measure(spec, root / file, few))
        for what, target in TARGETS_MS.items():
            bare, ours = (median(pair[at] for pair in pairs[what]) * 1000 for at in (0, 1))
            mark = "ok" if ours - bare <= target else "above"
            print(
                f"{name:14} {what:12} bare {milliseconds(bare):>9}  tau {milliseconds(ours):>9}"
                f"  added {ours - bare:7.1f} ms (target {target:g} ms: {mark})",
                flush=True,
            )


if __name__ == "__main__":
    main()
