"""The plugins that Claude Code installed for the user."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tau.base import log
from tau.base.errors import ConfigError
from tau.config.discovery.providers import PLUGIN, PROVIDERS, Root
from tau.config.json_file import read_json

_PROVIDER = next(provider for provider in PROVIDERS if provider.id == "claude-plugins")


def plugin_roots(roots: Sequence[Root]) -> Iterator[Root]:
    """The folders that `plugins/installed_plugins.json` of Claude Code names."""
    for root in roots:
        if root.provider.id == "claude" and root.level == "user":
            yield from _installed(Path(root.path) / "plugins" / "installed_plugins.json")


def _installed(path: Path) -> Iterator[Root]:
    try:
        content = read_json(path).content
    except ConfigError as error:
        log.warning("The installed plugins of Claude Code cannot be read.", error)
        return
    plugins: Any = content.get("plugins")
    for name, copies in plugins.items() if isinstance(plugins, dict) else ():
        for copy in copies if isinstance(copies, list) else (copies,):
            place = copy.get("installPath") if isinstance(copy, dict) else None
            if isinstance(place, str) and Path(place).is_absolute() and Path(place).is_dir():
                yield Root(_PROVIDER, place, "user", 0, PLUGIN, plugin=name.partition("@")[0])
                break
