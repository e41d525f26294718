"""Reads a plugin: its manifest in tau's, Claude Code's, Codex' or Gemini's form, and what it would run."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import DecodeError, Struct, convert, json

from tau.base.errors import TauError
from tau.base.text import reveal_line, shortened
from tau.config.discovery.plugins import plugin_patterns
from tau.config.discovery.providers import Kind
from tau.config.discovery.registry import expand
from tau.config.trust_scan import named_commands

Layout = Literal["tau", "claude", "codex", "gemini", "none"]
FILES: tuple[tuple[str, Layout], ...] = (
    (".claude-plugin/plugin.json", "claude"),
    (".codex-plugin/plugin.json", "codex"),
    ("gemini-extension.json", "gemini"),
    ("pyproject.toml", "tau"),
)
RUNS: dict[Kind, str] = {
    "extension-modules": "Python, in tau's own process",
    "tools": "Python, in tau's own process",
    "hooks": "hooks",
    "mcps": "MCP servers",
}
SHOWN: tuple[Kind, ...] = ("skills", "slash-commands", "agents", "rules", "prompts", *RUNS)
Table: TypeAlias = dict[str, Any]
MAX_MANIFEST_BYTES = 1 << 20
MAX_SHOWN_CHARS = 200
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
}
"""Of settings, in a manifest and in Python."""


class PluginManifest(Struct, frozen=True, rename="camel", kw_only=True):
    """`contents` are the files by kind, below the folder; `runs` say what it starts."""

    name: str
    version: str = ""
    description: str = ""
    layout: Layout = "none"
    contents: dict[str, list[str]] = {}
    runs: list[str] = []
    settings: dict[str, Any] = {}


def read_manifest(folder: Path, shown: str = "") -> PluginManifest:
    """Raises TauError if there is no plugin, or its manifest is broken. `shown` is what users call it."""
    if not folder.is_dir():
        raise TauError(f'There is no folder "{folder}".')
    fields: dict[str, Any] = {}
    layout: Layout = "none"
    for name, kind in FILES:
        path = folder / name
        if path.is_file():
            fields, layout = _fields(path), kind
            break
    finds = plugin_patterns(folder)
    contents = {kind: found for kind in SHOWN if (found := list(_files(folder, finds.get(kind, ()))))}
    if not contents and layout in ("none", "tau") and not _is_package(folder):
        raise TauError(
            f"{shown or folder} is not a plugin: it has no manifest, and no skills, hooks or extensions."
        )
    if _is_package(folder):
        contents.setdefault("extension-modules", []).append(".")
    return PluginManifest(
        name=valid_name(str(fields.get("name") or folder.name)),
        version=reveal_line(str(fields.get("version") or "")),
        description=reveal_line(str(fields.get("description") or "")),
        layout=layout,
        contents={str(kind): names for kind, names in contents.items()},
        runs=[
            f"{what}: {line}"
            for kind, what in RUNS.items()
            for name in contents.get(kind, ())
            for line in _shown(folder, name)
        ],
        settings=own if isinstance(own := fields.get("settings") or fields.get("userConfig"), dict) else {},
    )


def valid_name(name: str) -> str:
    """Raises TauError for a name that cannot be a folder's."""
    cleaned = name.strip().lower().replace(" ", "-")
    is_own = cleaned.endswith((".json", ".lock"))  # a file that tau keeps beside the plugins
    is_word = (
        cleaned and not cleaned.startswith((".", "-")) and all(c.isalnum() or c in "-_." for c in cleaned)
    )
    if is_own or not is_word:
        raise TauError(f'"{name}" is not a valid name for a plugin: use letters, digits, "-" and "_".')
    return cleaned


def check_manifest(folder: Path) -> list[str]:
    """What is wrong with a plugin; empty if it is usable everywhere."""
    try:
        manifest = read_manifest(folder)
    except TauError as error:
        return [str(error)]
    problems = _claude_faults(folder) if manifest.layout == "claude" else []
    for key, row in manifest.settings.items():
        if not isinstance(row, dict) or str(row.get("type") or "string") not in TYPES:
            problems.append(f"The setting {reveal_line(key)} needs a type: {', '.join(TYPES)}.")
    if not manifest.contents:
        problems.append("It has nothing that tau uses.")
    for name in ("hooks/hooks.json", ".mcp.json", ".lsp.json"):
        if (folder / name).is_file():
            try:
                _fields(folder / name)
            except TauError as error:
                problems.append(str(error))
    for skill in manifest.contents.get("skills", ()):
        if not _text(folder / skill).lstrip().startswith("---"):
            problems.append(f"{skill}: it has no front matter with a name and a description.")
    return problems


def _claude_faults(folder: Path) -> list[str]:
    problems = []
    fields = _fields(folder / ".claude-plugin/plugin.json")
    if not isinstance(fields.get("name"), str):
        problems.append(".claude-plugin/plugin.json: name is missing.")
    for key in ("commands", "agents", "skills", "hooks", "mcpServers"):
        for path in paths_of(fields.get(key)):
            shown = shortened(reveal_line(path), MAX_SHOWN_CHARS)
            if not path.startswith("./"):
                problems.append(f'.claude-plugin/plugin.json: {key} "{shown}" must start with "./".')
            elif not _exists(folder / path):
                problems.append(f'.claude-plugin/plugin.json: {key} names "{shown}", which does not exist.')
    return problems


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # its name is too long
        return False


def paths_of(value: Any) -> list[str]:
    """The paths in a field that holds one, several, or the thing itself."""
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


def _fields(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise TauError(f"{path} is too large.")
    try:
        if path.suffix == ".toml":
            content = tomllib.loads(path.read_text(encoding="utf-8"))
            own = convert(content.get("tool", {}), Table).get("tau", {})
            return {**convert(content.get("project", {}), Table), **convert(own, Table)}
        found = json.decode(path.read_bytes())
    except (DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise TauError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise TauError(f"{path} must have an object.")
    return found


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file() or (
        (folder / "pyproject.toml").is_file() and bool(_fields(folder / "pyproject.toml").get("extensions"))
    )


def _shown(folder: Path, name: str) -> list[str]:
    """A file, once with each command that it names."""
    commands = named_commands(_text(folder / name)) if name.endswith(".json") else ()
    shown = [reveal_line(f"{name} ({command})") for command in dict.fromkeys(commands)]
    return shown or [reveal_line(name)]


def _text(path: Path) -> str:
    """Empty for what is no file, such as a pipe, and for what is too large."""
    is_read = path.is_file() and path.stat().st_size <= MAX_MANIFEST_BYTES
    return path.read_text(encoding="utf-8", errors="replace") if is_read else ""


def _files(folder: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    for pattern in patterns:
        for found in expand(str(folder), pattern, lambda text: None):
            yield str(Path(found.path).relative_to(folder))
