"""Finds the handler of an internal address."""

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.coding.ports import Resource, UrlScheme


class SchemeRouter:
    def __init__(self) -> None:
        self._handlers: dict[str, UrlScheme] = {}

    def register(self, handler: UrlScheme) -> None:
        self._handlers[handler.scheme] = handler

    def handles(self, text: str) -> bool:
        """Any `scheme://` but files and the web: an unknown one deserves more than "no such file"."""
        scheme, separator, _ = text.partition("://")
        return bool(separator) and scheme.isidentifier() and scheme.lower() not in ("file", "http", "https")

    async def resolve(self, url: str, ctx: ToolContext) -> Resource:
        scheme, _, rest = url.partition("://")
        handler = self._handlers.get(scheme.lower())
        if handler is None:
            known = ", ".join(f"{name}://" for name in sorted(self._handlers))
            raise ToolError(f"Nothing answers to {scheme}://. Known: {known}.")
        return await handler.resolve(rest, ctx)
