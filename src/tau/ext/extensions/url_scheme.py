"""A URL scheme of an extension, for the tools that read and write."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.coding.ports import Resource

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.host import ExtensionHost


class ExtensionScheme:
    """Implements `tau.coding.ports.UrlScheme`."""

    def __init__(
        self,
        host: "ExtensionHost",
        extension: "Extension",
        scheme: str,
        read: Callable[..., Any],
        write: Callable[..., Any] | None,
    ) -> None:
        self._host, self._extension = host, extension
        self.scheme = scheme.lower()
        self._read, self._write = read, write

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        data = await self._call(self._read, rest)
        return Resource(
            url=f"{self.scheme}://{rest}",
            data=data if isinstance(data, bytes) else str(data).encode(),
            immutable=self._write is None,
        )

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        if self._write is None:
            raise ToolError(f"{self.scheme}:// cannot be written.")
        await self._call(self._write, rest, data)
        return Resource(url=f"{self.scheme}://{rest}", data=data, immutable=False)

    def written_files(self, rest: str) -> None:
        """The extension writes what it likes."""

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return await self._host.calls.call(self._extension, f"url:{self.scheme}", function, *args)
