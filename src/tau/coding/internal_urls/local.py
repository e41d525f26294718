"""`local://PATH`: session files, for plans and notes that do not belong in the project."""

from pathlib import Path

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.coding.artifacts import FolderArtifacts
from tau.coding.files.paths import real
from tau.coding.internal_urls.router import inner_parts
from tau.coding.ports import Resource


class LocalUrls:
    """Stored beside the session's artifacts and deleted with those of an unsaved session."""

    scheme = "local"

    def __init__(self, artifacts: FolderArtifacts) -> None:
        self._artifacts = artifacts

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        folder = self._artifacts.scratch(make=False)
        if folder is None:
            raise ToolError(f"There is no local://{rest}: nothing has been written there yet.")
        path = _inside(folder, rest)
        try:
            data = await ctx.fs.read(path)
        except OSError:
            raise ToolError(f"There is no file local://{rest}. {await _listing(folder, ctx)}") from None
        return Resource(url=f"local://{rest}", data=data, path=path, immutable=False)

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        folder = self._artifacts.scratch(make=True)
        if folder is None or not inner_parts(rest, self.scheme):
            raise ToolError("Name a file, as in local://plan.md.")
        path = _inside(folder, rest)
        await ctx.fs.write(path, data)
        return Resource(url=f"local://{rest}", data=data, path=path, immutable=False)


def _inside(folder: Path, rest: str) -> Path:
    path = folder.joinpath(*inner_parts(rest, LocalUrls.scheme))
    if not real(path).is_relative_to(real(folder)):
        raise ToolError(f"local://{rest} is outside the session's folder.")
    return path


async def _listing(folder: Path, ctx: ToolContext) -> str:
    try:
        names = sorted(await ctx.fs.list(folder))
    except OSError:
        names = []
    return f"There is: {', '.join(names[:50])}." if names else "Nothing has been written there yet."
