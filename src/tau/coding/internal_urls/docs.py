"""`tau://`: tau's own documentation, so that the model can explain tau from the source."""

from pathlib import Path

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.coding.internal_urls.router import ReadOnlyUrls, inner_parts
from tau.coding.ports import Resource

# An installed package carries its pages; a checkout has them beside its source.
HERE = Path(__file__)
PLACES = (HERE.parents[2] / "docs", HERE.parents[4] / "docs")


class DocsUrls(ReadOnlyUrls):
    """`tau://` alone lists the pages."""

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
            self._folder = next((place for place in PLACES if place.is_dir()), None)
        if self._folder is None:
            raise ToolError("This installation of tau has no documentation.")
        return self._folder
