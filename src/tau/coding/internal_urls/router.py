"""Routes reads and writes of internal URLs to their handlers."""

from collections.abc import Callable

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.coding.ports import Resource, UrlScheme

OUTSIDE = ("file", "http", "https")


class SchemeRouter:
    def __init__(self) -> None:
        self._schemes: dict[str, UrlScheme] = {}
        self._makers: dict[str, Callable[[], UrlScheme]] = {}

    def register(self, scheme: UrlScheme) -> None:
        self._schemes[scheme.scheme] = scheme

    def register_late(self, name: str, make: Callable[[], UrlScheme]) -> None:
        """Register a scheme that is created on first use."""
        self._makers[name] = make

    def handles(self, text: str) -> bool:
        """Any `scheme://` except files and the web: unknown ones get a clear error."""
        scheme, separator, _ = text.partition("://")
        return bool(separator) and scheme.isidentifier() and scheme.lower() not in OUTSIDE

    async def resolve(self, url: str, ctx: ToolContext) -> Resource:
        scheme, rest = self._find(url)
        return await scheme.resolve(rest, ctx)

    async def write(self, url: str, data: bytes, ctx: ToolContext) -> Resource:
        scheme, rest = self._find(url)
        return await scheme.write(rest, data, ctx)

    def _find(self, url: str) -> tuple[UrlScheme, str]:
        name, _, rest = url.partition("://")
        make = self._makers.pop(name.lower(), None)
        if make is not None:
            self.register(make())
        scheme = self._schemes.get(name.lower())
        if scheme is None:
            known = ", ".join(f"{each}://" for each in sorted({*self._schemes, *self._makers}))
            raise ToolError(f"Unknown scheme {name}://. Known: {known}.")
        return scheme, rest


class ReadOnlyUrls:
    """Base class of read-only schemes."""

    scheme: str

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        raise ToolError(f"{self.scheme}:// can be read, not written.")


def inner_parts(rest: str, scheme: str) -> list[str]:
    """The parts of a path after `scheme://`, which must stay inside its folder."""
    parts = [part for part in rest.replace("\\", "/").split("/") if part not in ("", ".")]
    if any(part == ".." or "\0" in part for part in parts):
        raise ToolError(f"{scheme}://{rest} is outside its folder; remove the `..`.")
    return parts
