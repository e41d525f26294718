"""One loaded extension: where it is from, and everything it has registered."""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tau.agent.tool import Tool
from tau.coding.extensions import ExtensionCommand, ExtensionShortcut
from tau.ext.extensions.containment import ExtensionLog

if TYPE_CHECKING:
    import asyncio

    from tau.base.run import Process
    from tau.ext.extensions.isolation import IsolatedProcess

MAX_FILES = 200
SourceKind = Literal["extension", "tool", "hook"]
Origin = Literal["user", "project", "settings", "flag", "package", "plugin", "program"]


class ExtensionSource(Struct, frozen=True):
    """Code to load: the file to run and, if it is a package, its folder. `place` is where it was found.

    `function` is a loaded factory instead, of a test or of a program that embeds tau.
    """

    name: str
    file: Path
    origin: Origin
    kind: SourceKind = "extension"
    package: Path | None = None
    requires: str = ""
    activation: tuple[str, ...] = ()
    isolation: str = ""
    function: Callable[..., Any] | None = None
    plugin: Path | None = None  # the folder of the plugin that has it

    @property
    def id(self) -> str:
        """What `disabledExtensions` names."""
        return f"{'extension-module' if self.kind == 'extension' else self.kind}:{self.name}"


class ExtensionReport(Struct, frozen=True, rename="camel", kw_only=True):
    """What became of a source, for lists and `tau extensions time`."""

    name: str
    path: str
    origin: str
    state: Literal["loaded", "waiting", "failed", "disabled"]
    problem: str = ""
    load_ms: float = 0.0
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


class Extension:
    """Mutable: its API fills it, its host reads it. `disabled` after too many failures in a row."""

    def __init__(self, source: ExtensionSource, logs: Path) -> None:
        self.source, self.name = source, source.name
        self.log = ExtensionLog(logs / "extensions" / f"{source.name.replace('/', '.')}.log")
        self.module: ModuleType | None = None
        self.modules: list[str] = []  # its entries in sys.modules
        self.handlers: dict[str, list[Callable[..., Any]]] = {}
        self.tools: dict[str, Tool[Any]] = {}
        self.commands: dict[str, ExtensionCommand] = {}
        self.command_functions: dict[str, Callable[..., Any]] = {}
        self.shortcuts: dict[str, ExtensionShortcut] = {}
        self.flags: dict[str, str] = {}
        self.providers: dict[str, dict[str, Any]] = {}
        self.schemes: dict[str, Any] = {}
        self.renderers: dict[tuple[str, str], Callable[..., Any]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.processes: set[Process] = set()
        self.cleanups: list[Callable[[], Any]] = []
        self.child: IsolatedProcess | None = None
        self.shown: dict[tuple[str, str], Callable[[], None]] = {}  # how to remove what it shows
        self.pending: deque[tuple[str, Callable[..., Any], Any]] = deque()  # events not handled yet
        self.draining = False
        self.warnings: list[str] = []  # about names that it should not use
        self.closed = False
        self.waiting = bool(source.activation) and all(
            one.startswith(("command:", "event:")) for one in source.activation
        )
        self.disabled = False
        self.failures = 0
        self.running = 0
        self.load_ms = 0.0
        self._roots = tuple(
            {str(source.package or source.file), os.path.realpath(source.package or source.file)}
        )

    def owns(self, file: str) -> bool:
        """Whether this is a file of its code."""
        return any(file == root or file.startswith(root + os.sep) for root in self._roots)

    def files(self) -> list[Path]:
        """Its Python files."""
        package = self.source.package
        return [self.source.file] if package is None else sorted(package.rglob("*.py"))[:MAX_FILES]

    def add_handler(self, event: str, function: Callable[..., Any]) -> Callable[[], None]:
        functions = self.handlers.setdefault(event, [])
        functions.append(function)

        def remove() -> None:
            if function in functions:
                functions.remove(function)

        return remove

    def report(self) -> ExtensionReport:
        return ExtensionReport(
            name=self.name,
            path=str(self.source.file),
            origin=self.source.origin,
            state="disabled" if self.disabled else "waiting" if self.waiting else "loaded",
            load_ms=round(self.load_ms, 2),
            tools=tuple(self.tools),
            commands=tuple(self.commands),
            events=tuple(name for name, functions in self.handlers.items() if functions),
        )
