"""Routes reads and writes of internal URLs to their handlers."""

from collections.abc import Callable
from pathlib import Path

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.coding.files.targets import WEB, split_url, url_scheme
from tau.coding.ports import Resource, UrlScheme


class SchemeRouter:
    def __init__(self) -> None:
        self._schemes: dict[str, UrlScheme] = {}
        self._makers: dict[str, Callable[[], UrlScheme]] = {}

    def register(self, scheme: UrlScheme) -> None:
        self._schemes[scheme.scheme] = scheme

    def unregister(self, name: str) -> None:
        del self._schemes[name]

    def names(self) -> set[str]:
        return {*self._schemes, *self._makers}

    def register_late(self, name: str, make: Callable[[], UrlScheme]) -> None:
        """Register a scheme that is created on first use."""
        self._makers[name] = make

    def handles(self, text: str) -> bool:
        """Any `scheme://` except files and the web: unknown ones get a clear error."""
        return url_scheme(text) not in ("", *WEB)

    def written_files(self, url: str) -> tuple[Path, ...] | None:
        """The files outside the session's own folder that a write to this URL changes."""
        scheme, rest = self._find(url)
        return scheme.written_files(rest)

    async def resolve(self, url: str, ctx: ToolContext) -> Resource:
        scheme, rest = self._find(url)
        resource = await scheme.resolve(rest, ctx)
        if resource.path is not None:
            ctx.approved.add_own(resource.path, writable=not resource.immutable)
        return resource

    async def write(self, url: str, data: bytes, ctx: ToolContext) -> Resource:
        scheme, rest = self._find(url)
        return await scheme.write(rest, data, ctx)

    def _find(self, url: str) -> tuple[UrlScheme, str]:
        """The scheme, and the rest of the URL with its `%20` and the like decoded."""
        name, rest = split_url(url)
        if any("\ud800" <= letter <= "\udfff" for letter in rest):
            raise ToolError("The address contains a lone surrogate, which no name can have.")
        make = self._makers.pop(name, None)
        if make is not None:
            self.register(make())
        scheme = self._schemes.get(name)
        if scheme is None:
            known = ", ".join(f"{each}://" for each in sorted(self.names()))
            raise ToolError(f"Unknown scheme {name}://. Known: {known}.")
        return scheme, rest
