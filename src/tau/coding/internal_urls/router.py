"""Finds who answers to an internal address, for reading and for writing."""

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
        """A scheme that is made when somebody first asks for it."""
        self._makers[name] = make

    def handles(self, text: str) -> bool:
        """Any `scheme://` but files and the web: an unknown one deserves more than "no such file"."""
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
            raise ToolError(f"Nothing answers to {name}://. Known: {known}.")
        return scheme, rest


class ReadOnlyUrls:
    """What a scheme that cannot be written to inherits."""

    scheme: str

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        raise ToolError(f"{self.scheme}:// can be read, not written.")


def inner_parts(rest: str, scheme: str) -> list[str]:
    """The parts of a path behind `scheme://` that must stay inside its folder."""
    parts = [part for part in rest.replace("\\", "/").split("/") if part not in ("", ".")]
    if any(part == ".." or "\0" in part for part in parts):
        raise ToolError(f"{scheme}://{rest} leads out of its folder; leave out the `..`.")
    return parts
