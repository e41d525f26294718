"""Tool definitions on disk: a cache, so that sessions need not wait, and pins, so that changes show."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, Raw, Struct, ValidationError, json

from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import ConfigError
from tau.base.files import make_private, write_atomic
from tau.base.late import late
from tau.base.sizes import MIB
from tau.config.json_file import change_json, read_json, read_limited
from tau.config.paths import Paths
from tau.ext.mcp.messages import ServerInfo, ToolDefinition

difflib = late("difflib")

CACHE_MS = 30 * 86_400_000
MAX_CACHE_BYTES = 8 * MIB
MAX_DIFF_LINES = 2_000
MAX_PINNED_CHARS = 20_000


class CachedServer(Struct, frozen=True):
    """What a server said last. `at` is in milliseconds."""

    at: int
    info: ServerInfo
    tools: list[ToolDefinition]


class DefinitionCache(Struct, frozen=True):
    """One file per connection, named by its digest."""

    folder: Path

    def read(self, digest: str) -> CachedServer | None:
        with suppress(FileNotFoundError, ConfigError, DecodeError, ValidationError):
            found = json.decode(
                read_limited(self.folder / f"{digest}.json", MAX_CACHE_BYTES), type=CachedServer
            )
            if 0 <= now_ms() - found.at < CACHE_MS:
                return found
        return None

    def write(self, digest: str, info: ServerInfo, tools: Sequence[ToolDefinition]) -> None:
        data = json.encode(CachedServer(now_ms(), info, list(tools)))
        if len(data) > MAX_CACHE_BYTES:
            return
        try:
            make_private(self.folder)
            write_atomic(
                self.folder / f"{digest}.json", data, mode=0o600, sync=False
            )  # the first request waits
        except OSError as error:
            log.warning("The cache of MCP tools cannot be written.", error)


class Pin(Struct, frozen=True):
    """A definition that the user has worked with: its digest, and its text to compare with."""

    digest: str
    text: str


class Pins:
    """`mcp_pins.json`: the definitions that were in use, by server and tool. Unknown ones are pinned."""

    def __init__(self, paths: Paths) -> None:
        self.path = paths.home / "mcp_pins.json"
        self._known: dict[str, dict[str, Pin]] | None = None

    def load(self) -> dict[str, dict[str, Pin]]:
        """Raises ConfigError."""
        if self._known is None:
            try:
                data = read_json(self.path).data
                self._known = json.decode(data, type=dict[str, dict[str, Pin]]) if data else {}
            except ValidationError as error:
                raise ConfigError(
                    f"Invalid pins: {error}; delete the file to start over.", path=self.path
                ) from None
        return self._known

    def changes(self, server: str, tools: Sequence[ToolDefinition]) -> dict[str, str]:
        """The tools that differ from their pins, each with a diff. New tools are pinned."""
        known = self.load().get(server, {})
        changed: dict[str, str] = {}
        fresh: list[ToolDefinition] = []
        for tool in tools:
            pin = known.get(tool.name)
            if pin is None:
                fresh.append(tool)
            elif pin.digest != tool.digest:
                changed[tool.name] = _diff(pin.text, describe_definition(tool))
        if fresh:
            self.accept(server, fresh)
        return changed

    def accept(self, server: str, tools: Sequence[ToolDefinition]) -> None:
        """Pin these definitions."""
        new = {tool.name: Pin(tool.digest, describe_definition(tool)[:MAX_PINNED_CHARS]) for tool in tools}

        def change(members: dict[str, Raw]) -> None:
            stored = members.get(server)
            old = json.decode(stored, type=dict[str, Pin]) if stored is not None else {}
            members[server] = Raw(json.encode({**old, **new}))

        try:
            change_json(self.path, change, mode=0o600)
        except ConfigError as error:
            log.warning("The pins of MCP tools cannot be written.", error)
        self.load().setdefault(server, {}).update(new)

    def forget(self, server: str) -> int:
        """Drop the pins of a server; returns how many there were."""
        count = len(self.load().pop(server, {}))

        def change(members: dict[str, Raw]) -> None:
            members.pop(server, None)

        change_json(self.path, change, mode=0o600)
        return count


def describe_definition(tool: ToolDefinition) -> str:
    """All that the model sees of a tool, as text."""
    schema = json.format(json.encode(tool.input_schema, order="sorted"), indent=1).decode()
    return (
        f"{tool.title or tool.name}\n{tool.description}\n{json.encode(tool.annotations).decode()}\n{schema}"
    )


def _diff(old: str, new: str) -> str:
    rows = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "now", lineterm="", n=1))[
        2:
    ]
    more = [f"(and {len(rows) - MAX_DIFF_LINES} more lines)"] if len(rows) > MAX_DIFF_LINES else []
    return "\n".join([*rows[:MAX_DIFF_LINES], *more])
