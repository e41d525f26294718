"""Opens the extensions of a session: the one entry for the composition root."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tau.agent.events import AgentEvent
from tau.agent.ui import Ui
from tau.config.discovery.providers import PROVIDERS, Patterns, Root
from tau.config.paths import Paths
from tau.config.settings import Settings
from tau.ext.extensions import events as x
from tau.ext.extensions.extension import ExtensionSource
from tau.ext.extensions.host import ExtensionHost
from tau.ext.extensions.session_link import HostOptions
from tau.ext.extensions.sources import SourceList

if TYPE_CHECKING:
    from tau.coding.supplies import Supplies

CHANGED = "This repository has changed since you trusted it, so none of its code runs; see tau trust."
_CUSTOM = next(provider for provider in PROVIDERS if provider.id == "custom")


class ExtensionChoice(Protocol):
    """What `SessionOptions` says about extensions."""

    @property
    def cwd(self) -> Path: ...
    @property
    def tools(self) -> tuple[str, ...] | None: ...
    @property
    def ui(self) -> Ui | None: ...
    @property
    def extensions(self) -> tuple[str, ...]: ...
    @property
    def hook_files(self) -> tuple[str, ...]: ...
    @property
    def extension_functions(self) -> tuple[Callable[..., Any], ...]: ...
    @property
    def no_extensions(self) -> bool: ...
    @property
    def watch_extensions(self) -> bool: ...
    @property
    def flags(self) -> Mapping[str, str]: ...
    @property
    def start_reason(self) -> x.StartReason: ...


async def load_extensions(
    options: ExtensionChoice,
    settings: Settings,
    paths: Paths,
    supplies: "Callable[[], Supplies]",
    emit: Callable[[AgentEvent], None],
    services: AsyncExitStack,
) -> ExtensionHost:
    """Find and load them. Raises UsageError for a path on the command line that does not exist."""

    def find() -> SourceList:
        return find_sources(options, settings, paths, supplies)

    made = HostOptions(
        paths=paths,
        cwd=options.cwd,
        flags=options.flags,
        reason=options.start_reason,
        ui=options.ui,
        watch=options.watch_extensions,
        tools=options.tools,
    )
    host = ExtensionHost(made, find, emit)
    services.push_async_callback(host.close)
    await host.load()
    await add_resources(host, supplies)
    return host


def find_sources(
    options: ExtensionChoice, settings: Settings, paths: Paths, supplies: "Callable[[], Supplies]"
) -> SourceList:
    """Everything to load, in order."""
    found = SourceList(options.cwd, settings.disabled_extensions)
    if not options.no_extensions:
        registry = supplies().discovery
        was_trusted = registry.options.trusted
        registry.refresh()
        if was_trusted and not registry.options.trusted:
            found.problems.append((options.cwd / ".tau/extensions", CHANGED))
        found.add_discovered(registry)
        found.add_plugins(registry)
        found.add_given(settings.extensions, "settings")
        found.add_packages(paths)
    found.add_given(options.extensions, "flag")
    found.add_given(options.hook_files, "flag", "hook")
    for function in options.extension_functions:
        code = getattr(function, "__code__", None)
        file = Path(__file__ if code is None else code.co_filename)
        name = getattr(function, "__name__", "extension")
        found.sources.append(ExtensionSource(name, file, "program", function=function))
    return found


async def add_resources(host: ExtensionHost, supplies: "Callable[[], Supplies]") -> None:
    """Have the folders of skills and commands that extensions name scanned, too."""
    for extension, function in host.handlers("resources_discover"):
        answer = await host.hooks.ask(
            extension, "resources_discover", function, x.ResourcesDiscover(host.options.cwd)
        )
        if isinstance(answer, x.ResourcePaths):
            roots = supplies().discovery.extra_roots
            roots += [
                Root(_CUSTOM, str(one), "user", 0, {"skills": ("*/SKILL.md",)}) for one in answer.skills
            ]
            for one in answer.commands:
                finds: Patterns = {"slash-commands": (f"{one.name}/**/*.md",)}
                roots.append(Root(_CUSTOM, str(one.parent), "user", 0, finds))
