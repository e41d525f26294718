"""Plugins: what manifests add to the usual folders, and those that Claude Code installed for the user."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tau.base import log
from tau.base.errors import ConfigError
from tau.config.discovery.providers import PLUGIN, PROVIDERS, Kind, Patterns, Root
from tau.config.json_file import read_json

MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json")
FIELDS: dict[str, Kind] = {
    "commands": "slash-commands",
    "agents": "agents",
    "skills": "skills",
    "hooks": "hooks",
    "mcpServers": "mcps",
}
_OWN, _PROVIDER = (
    next(provider for provider in PROVIDERS if provider.id == name)
    for name in ("tau-plugins", "claude-plugins")
)


def plugin_root(folder: Path) -> Root:
    """A plugin that the user names by its folder."""
    name = str(_read_manifest(folder)[1].get("name") or folder.name)
    return Root(_OWN, str(folder), "user", 0, plugin_patterns(folder), plugin=name)


def _read_manifest(folder: Path) -> tuple[str, dict[str, object]]:
    """The name and the fields of its manifest."""
    manifest = next((name for name in MANIFESTS if (folder / name).is_file()), "")
    try:
        return manifest, read_json(folder / manifest).content if manifest else {}
    except ConfigError as error:
        log.warning("The manifest of a plugin cannot be read.", error)
        return manifest, {}


def plugin_patterns(folder: Path) -> Patterns:
    """Where a plugin's files are: in the usual places, and where its manifest says."""
    manifest, fields = _read_manifest(folder)
    if not fields:
        return PLUGIN
    found = dict(PLUGIN)
    for field, kind in FIELDS.items():
        value: object = fields.get(field)
        values = value if isinstance(value, list) else [value]
        own = [pattern for one in values if (pattern := _pattern(folder, kind, one))]
        if kind in ("hooks", "mcps") and any(isinstance(one, dict) for one in values):
            own.append(manifest)
        found[kind] = tuple(dict.fromkeys((*PLUGIN[kind], *own)))
    return found


def _pattern(folder: Path, kind: Kind, path: object) -> str:
    """The pattern of a path in a manifest; empty for what is not below the folder, or not there."""
    if not isinstance(path, str) or "*" in path or ".." in Path(path).parts or Path(path).is_absolute():
        return ""
    inner = Path(path).as_posix()
    try:
        is_file, is_folder = (folder / inner).is_file(), (folder / inner).is_dir()
    except OSError:  # its name is too long
        return ""
    if is_file:
        return inner
    if kind not in ("slash-commands", "agents", "skills") or not is_folder:
        return ""
    start = "" if inner == "." else f"{inner}/"
    if kind != "skills":
        return f"{start}**/*.md"
    return f"{start}SKILL.md" if (folder / inner / "SKILL.md").is_file() else f"{start}*/SKILL.md"


def plugin_roots(roots: Sequence[Root], cwd: Path) -> Iterator[Root]:
    """The folders in Claude Code's `installed_plugins.json`, but not of plugins that tau has."""
    own = {root.plugin for root in roots if root.provider.id == "tau-plugins"}
    for root in roots:
        if root.provider.id == "claude" and root.level == "user":
            yield from (one for one in _installed(Path(root.path), cwd) if one.plugin not in own)


def _installed(home: Path, cwd: Path) -> Iterator[Root]:
    try:
        content = read_json(home / "plugins" / "installed_plugins.json").content
        enabled = read_json(home / "settings.json").content.get("enabledPlugins")
    except ConfigError as error:
        log.warning("The installed plugins of Claude Code cannot be read.", error)
        return
    plugins: object = content.get("plugins")
    for name, copies in plugins.items() if isinstance(plugins, dict) else ():
        if isinstance(enabled, dict) and enabled.get(name) is False:
            continue
        for copy in copies if isinstance(copies, list) else (copies,):
            place = copy.get("installPath") if isinstance(copy, dict) else None
            if not isinstance(place, str) or not Path(place).is_absolute() or not Path(place).is_dir():
                continue
            project = copy.get("projectPath")
            if isinstance(project, str) and not cwd.is_relative_to(project):
                continue
            finds = plugin_patterns(Path(place))
            yield Root(_PROVIDER, place, "user", 0, finds, plugin=name.partition("@")[0])
            break
