"""The internal URLs `artifact://`, `local://` and `tau://`."""

from pathlib import Path

from tau.agent.ports import FileSystem, ToolContext
from tau.base.errors import ToolError
from tau.coding.artifacts import FolderArtifacts
from tau.coding.files.paths import real
from tau.coding.ports import Resource

# Installed packages contain the pages; a checkout has them next to its source.
HERE = Path(__file__)
DOCS_FOLDERS = (HERE.parents[2] / "docs", HERE.parents[4] / "docs")


class ReadOnlyUrls:
    """Base class of read-only schemes."""

    scheme: str

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        raise ToolError(f"{self.scheme}:// can be read, not written.")

    def written_files(self, rest: str) -> tuple[Path, ...]:
        return ()


def inner_parts(rest: str, scheme: str) -> list[str]:
    """The parts of a path after `scheme://`, which must stay inside its folder."""
    parts = [part for part in rest.replace("\\", "/").split("/") if part not in ("", ".")]
    if any(part == ".." or "\0" in part for part in parts):
        raise ToolError(f"{scheme}://{rest} is outside its folder; remove the `..`.")
    return parts


class LocalUrls:
    """`local://PATH`: session files, for plans and notes that do not belong in the project.

    Stored beside the session's artifacts and deleted with those of an unsaved session.
    """

    scheme = "local"

    def __init__(self, artifacts: FolderArtifacts, fs: FileSystem) -> None:
        self._artifacts = artifacts
        self._fs = fs

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        folder = self._artifacts.scratch(make=False)
        if folder is None:
            raise ToolError(f"There is no local://{rest}: nothing has been written there yet.")
        path = _inside(folder, rest)
        try:
            data = await self._fs.read(path)
        except OSError:
            raise ToolError(f"There is no file local://{rest}. {await self._listing(folder)}") from None
        return Resource(url=f"local://{rest}", data=data, path=path, immutable=False)

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        folder = self._artifacts.scratch(make=True)
        if folder is None or not inner_parts(rest, self.scheme):
            raise ToolError("Name a file, as in local://plan.md.")
        path = _inside(folder, rest)
        await self._fs.write(path, data)
        return Resource(url=f"local://{rest}", data=data, path=path, immutable=False)

    def written_files(self, rest: str) -> tuple[Path, ...]:
        return ()

    async def _listing(self, folder: Path) -> str:
        try:
            names = sorted(await self._fs.list(folder))
        except OSError:
            names = []
        return f"There is: {', '.join(names[:50])}." if names else "Nothing has been written there yet."


def _inside(folder: Path, rest: str) -> Path:
    """The real path of a file in the session's folder."""
    path = real(folder.joinpath(*inner_parts(rest, LocalUrls.scheme)))
    if not path.is_relative_to(real(folder)):
        raise ToolError(f"local://{rest} is outside the session's folder.")
    return path


class DocsUrls(ReadOnlyUrls):
    """`tau://`: tau's documentation, so that the model can explain tau. `tau://` alone lists the pages."""

    scheme = "tau"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def pages(self) -> list[str]:
        folder = self._home()
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        parts = inner_parts(rest, self.scheme)
        if not parts:
            listing = "".join(f"tau://{page}\n" for page in self.pages())
            return Resource(url="tau://", data=listing.encode())
        name = "/".join(parts)
        page = next((page for page in self.pages() if page in (name, f"{name}.md")), None)
        if page is None:
            raise ToolError(f"There is no page tau://{rest}. Pages: {', '.join(self.pages())}.")
        path = self._home() / page
        return Resource(url=f"tau://{page}", data=path.read_bytes(), path=path)

    def _home(self) -> Path:
        if self._folder is None:
            self._folder = next((place for place in DOCS_FOLDERS if place.is_dir()), None)
        if self._folder is None:
            raise ToolError("This installation of tau has no documentation.")
        return self._folder


class ArtifactUrls(ReadOnlyUrls):
    """`artifact://ID`: the full output of a tool call that was truncated."""

    scheme = "artifact"

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        path = real(ctx.artifacts.open(rest))
        return Resource(url=f"artifact://{rest}", data=await self._fs.read(path), path=path)
