"""Random small trees, and the same query for ripgrep and its fallback."""

import os
import subprocess
from pathlib import Path

import pytest

from tau.agent.ports import ToolContext
from tau.coding.ports import Resource
from tau.coding.search import rg_command
from tau.coding.search.fallback_search import ScopeFiles, matching_lines, text_of
from tau.coding.search.query import SearchRequest

needs_rg = pytest.mark.skipif(rg_command.locate() is None, reason="ripgrep is not installed")


def make(root: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def asked_rg(request: SearchRequest) -> set[str]:
    """`path` or `path:line` for everything ripgrep finds."""
    program = rg_command.locate()
    assert program is not None
    done = subprocess.run(rg_command.command(program, request), capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    if request.max_count is None:
        return {os.fsdecode(name) for name in done.stdout.split(b"\0")[:-1]}
    rows = set()
    for row in done.stdout.split(b"\n")[:-1]:
        path, _, rest = row.partition(b"\0")
        rows.add(f"{os.fsdecode(path)}:{rest.partition(b':')[0].decode()}")
    return rows


def asked_python(request: SearchRequest) -> set[str]:
    """The same from the fallback, without a process."""
    search = matching_lines(request.query)
    files = ScopeFiles(request.scope)
    found = set()
    for path in files:
        data = files.read(path)
        text = None if data is None else text_of(data, listing=request.max_count is None)
        for count, (line, _) in enumerate(search(text) if text is not None else (), 1):
            found.add(path if request.max_count is None else f"{path}:{line}")
            if request.max_count is None or count == request.max_count:
                break
    return found


class Pages:
    """A scheme with texts that are not files, and one that is."""

    scheme = "pages"

    def __init__(self, file: Path) -> None:
        self.file = file
        self.texts = {"one": b"a needle\n", "two": b"nothing\n", "three": b"x\nneedle\n"}

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        if not rest:
            return Resource(url="pages://", data="".join(f"pages://{name}\n" for name in self.texts).encode())
        if rest == "file":
            return Resource(url="pages://file", data=b"", path=self.file, immutable=False)
        return Resource(url=f"pages://{rest}", data=self.texts[rest])

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        raise NotImplementedError
