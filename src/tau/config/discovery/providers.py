"""Where tau and other agents keep what they find: the table of providers, and which of its folders exist.

A start without any of them imports no other module of this package.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from tau.base.files import modified_ns, open_at_once, typed_path
from tau.base.late import late
from tau.base.sizes import MIB
from tau.config.paths import PROJECT_FOLDER, Paths, project_folders

plugins = late("tau.config.discovery.plugins")

Kind = Literal[
    "context-files",
    "system-prompt",
    "skills",
    "rules",
    "instructions",
    "slash-commands",
    "prompts",
    "agents",
    "hooks",
    "tools",
    "extension-modules",
    "extensions",
    "mcps",
    "settings",
    "ssh",
]
Level = Literal["user", "project", "bundled"]
Patterns: TypeAlias = Mapping[Kind, tuple[str, ...]]
AT_START: tuple[Kind, ...] = ("context-files", "system-prompt", "skills", "rules", "instructions")
"""What the first request may depend on."""
CODE: tuple[Kind, ...] = ("extension-modules", "tools", "hooks")
HOOK_KINDS: tuple[Kind, ...] = ("hooks", "settings")
HOOK_SETTINGS = ("claude", "codex")
"""The agents whose settings may have command hooks."""
USER, PROJECT, TAU = "~/", "./", "{tau}"
_EACH = "/*"
MAX_SCANNED_BYTES = MIB


class FileProvider(Struct, frozen=True):
    """A tool whose files are found; of two items with one name, that of the higher priority wins.

    A root is a folder in the user's home (`~/`), in tau's folder (`{tau}`) or in each folder of the project
    (`./`). One that ends in `/*` means each folder there: a plugin, whose commands have its name. `finds` are
    patterns below each root; `also` has its own roots. `**` matches folders at any depth.
    """

    id: str
    name: str
    priority: int
    roots: tuple[str, ...] = ()
    finds: Patterns = MappingProxyType({})
    also: Patterns = MappingProxyType({})


_SKILLS: Patterns = {"skills": ("skills/*/SKILL.md",)}
_COMMANDS: Patterns = {"slash-commands": ("commands/**/*.md",), "prompts": ("prompts/**/*.md",)}
_RULES: Patterns = {"rules": ("rules/**/*.md", "rules/**/*.mdc")}
_AGENTS: Patterns = {"agents": ("agents/**/*.md",)}
_CODE: Patterns = {
    "hooks": ("hooks.json", "hooks/hooks.json", "hooks/*.py", "hooks/pre/*", "hooks/post/*"),
    "tools": ("tools/*",),
    "extension-modules": ("extensions/*",),
}
_MCP: Patterns = {"mcps": ("mcp.json", ".mcp.json")}
_SYSTEM: Patterns = {"system-prompt": ("SYSTEM.md", "APPEND_SYSTEM.md", "TITLE_SYSTEM.md")}
_SETTINGS: Patterns = {"settings": ("settings.json",)}
_NATIVE: Patterns = {
    **_SKILLS,
    **_COMMANDS,
    **_AGENTS,
    **_CODE,
    **_MCP,
    **_SYSTEM,
    **_RULES,
    "context-files": ("AGENTS.md", "RULES.md"),
    "instructions": ("instructions/**/*.md",),
}
PLUGIN: Patterns = {**_SKILLS, **_COMMANDS, **_RULES, **_AGENTS, **_CODE, **_MCP}

PROVIDERS = (
    FileProvider("native", "tau", 100, (TAU, "./.tau"), _NATIVE),
    FileProvider("tau-plugins", "tau plugins", 90, (f"{TAU}/plugins/*", "./.tau/plugins/*"), PLUGIN),
    FileProvider(
        *("pi", "pi and omp", 85, ("~/.pi/agent", "~/.omp/agent", "./.pi", "./.omp")),
        {**_NATIVE, **_SETTINGS},
    ),
    FileProvider(
        *("claude", "Claude Code", 80, ("~/.claude", "./.claude")),
        {
            **_SKILLS,
            **_COMMANDS,
            **_RULES,
            **_AGENTS,
            **_CODE,
            **_MCP,
            **_SYSTEM,
            "context-files": ("CLAUDE.md",),
            "settings": ("settings.json", "settings.local.json"),
        },
        {"context-files": ("./CLAUDE.md", "./CLAUDE.local.md"), "mcps": ("~/.claude.json",)},
    ),
    FileProvider("claude-plugins", "Claude Code plugins", 70, finds=PLUGIN),
    FileProvider(
        *("agents", ".agents", 70, ("~/.agent", "~/.agents", "./.agent", "./.agents")),
        {**_SKILLS, **_COMMANDS, **_RULES, **_AGENTS, **_SYSTEM, "context-files": ("AGENTS.md",)},
    ),
    FileProvider(
        *("codex", "Codex", 70, ("~/.codex", "./.codex")),
        {
            **_SKILLS,
            **_COMMANDS,
            **_CODE,
            **_SYSTEM,
            "context-files": ("AGENTS.md", "AGENTS.override.md"),
            "settings": ("config.toml",),
        },
        {"context-files": ("./AGENTS.override.md",)},
    ),
    FileProvider(
        *("gemini", "Gemini CLI", 60, ("~/.gemini", "./.gemini")),
        {
            **_SETTINGS,
            **_SKILLS,
            "context-files": ("GEMINI.md",),
            "system-prompt": ("system.md", *_SYSTEM["system-prompt"]),
            "extensions": ("extensions/*/gemini-extension.json",),
        },
        {"context-files": ("./GEMINI.md",)},
    ),
    FileProvider(
        *("opencode", "opencode", 55, ("~/.config/opencode", "./.opencode")),
        {
            **_SKILLS,
            "context-files": ("AGENTS.md",),
            "settings": ("opencode.json",),
            "slash-commands": ("commands/**/*.md", "command/**/*.md"),
            "agents": ("agents/**/*.md", "agent/**/*.md"),
            "extension-modules": ("plugins/*", "plugin/*"),
        },
        {"settings": ("./opencode.json",)},
    ),
    FileProvider(
        *("cursor", "Cursor", 50, ("~/.cursor", "./.cursor")),
        {
            **_MCP,
            **_SETTINGS,
            "rules": ("rules/**/*.mdc",),
            "slash-commands": ("commands/**/*.md",),
        },
        {"rules": ("./.cursorrules",)},
    ),
    FileProvider(
        *("windsurf", "Windsurf", 50, ("~/.codeium/windsurf", "./.windsurf")),
        {"mcps": ("mcp_config.json",), "rules": ("rules/**/*.md", "memories/global_rules.md")},
        {"rules": ("./.windsurfrules",)},
    ),
    FileProvider("cline", "Cline", 40, also={"rules": ("./.clinerules", "./.clinerules/**/*.md")}),
    FileProvider(
        *("github", "GitHub Copilot", 30, ("./.github",)),
        {
            **_SKILLS,
            "context-files": ("copilot-instructions.md",),
            "instructions": ("instructions/**/*.instructions.md",),
            "prompts": ("prompts/**/*.prompt.md",),
        },
    ),
    FileProvider("vscode", "VS Code", 20, ("./.vscode",), {"mcps": ("mcp.json",)}),
    FileProvider("agents-md", "AGENTS.md", 10, also={"context-files": ("./AGENTS.md",)}),
    FileProvider("mcp-json", "mcp.json", 5, also={"mcps": ("./mcp.json", "./.mcp.json")}),
    FileProvider("ssh-json", "ssh.json", 5, also={"ssh": ("./ssh.json", "./.ssh.json", "{tau}/ssh.json")}),
    FileProvider("builtin-defaults", "bundled", 1),
    FileProvider("custom", "your folders", 0),
)


class Root(Struct, frozen=True):
    """An existing folder with patterns to look for. `rank` is its distance from the working folder."""

    provider: FileProvider
    path: str
    level: Level
    rank: int
    finds: Patterns
    plugin: str = ""


def find_roots(cwd: Path, paths: Paths, plugin_dirs: Sequence[Path] = ()) -> list[Root]:
    """The folders that exist: the user's, then the project's from `cwd` up to the repository root.

    Of two copies of a plugin, only the first counts. `plugin_dirs` are the user's own, for one session.
    """
    home = typed_path("~")
    user = {USER: str(home), TAU: str(paths.home)}
    found = [plugins.plugin_root(folder) for folder in plugin_dirs]
    found += [root for start, folder in user.items() for root in _roots_in(start, folder, "user", 0)]
    own = {file_identity(folder) for folder in (paths.home, paths.home.parent, home / PROJECT_FOLDER)}
    own |= {file_identity(root.path) for root in found if root.path != str(home)}
    for rank, folder in enumerate(project_folders(cwd)):
        roots = _roots_in(PROJECT, str(folder), "project", rank)
        found += [root for root in roots if root.path == str(folder) or file_identity(root.path) not in own]
    first = {root.plugin: root for root in reversed(found) if root.plugin}
    return [root for root in found if not root.plugin or first[root.plugin] is root]


def has_any(roots: Iterable[Root], kinds: Sequence[Kind] = AT_START) -> bool:
    """Whether one of the folders may hold something of these kinds."""
    return any(
        os.path.lexists(f"{root.path}/{pattern.partition('*')[0].partition('/')[0]}")
        for root in roots
        for kind in kinds
        for pattern in root.finds.get(kind, ())
    ) or any(root.provider.id == "claude" and os.path.lexists(f"{root.path}/plugins") for root in roots)


def has_entry_points(home: Path) -> bool:
    """Whether an installed package may have extensions. A stamp file remembers folders that have none."""
    stamp, own = home / "cache" / "no-extensions", str(home / "python" / "site-packages")
    folders = [name for name in sys.path if name.endswith(("site-packages", "dist-packages")) and name != own]
    folders += [own] if os.path.isdir(own) else []  # noqa: PTH112
    times = "\n".join(f"{name} {modified_ns(Path(name))}" for name in folders)
    try:
        if stamp.read_text(encoding="utf-8") == times:
            return False
    except (OSError, UnicodeDecodeError):
        pass
    for folder in folders:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():  # noqa: PTH112, PTH208
            if not name.endswith(".dist-info"):
                continue
            try:
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123
                    if b"[tau.extensions]" in file.read():
                        return True
            except OSError:
                continue
    with suppress(OSError):
        stamp.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        stamp.write_text(times, encoding="utf-8")
    return False


def has_hook_files(roots: Iterable[Root]) -> bool:
    """Whether one of the folders may have command hooks."""
    return any(
        os.path.lexists(f"{root.path}/{pattern}")
        for root in roots
        for kind in HOOK_KINDS
        if kind == "hooks" or root.provider.id in HOOK_SETTINGS
        for pattern in root.finds.get(kind, ())
        if "*" not in pattern
    ) or any(root.provider.id == "claude" and os.path.lexists(f"{root.path}/plugins") for root in roots)


def may_name_servers(roots: Sequence[Root]) -> bool:
    """Whether one of the folders may have MCP servers; settings are full of other things."""
    if has_any(roots, ("mcps", "extensions")):
        return True
    return any(
        _mentions_servers(f"{root.path}/{name}") for root in roots for name in root.finds.get("settings", ())
    )


def _mentions_servers(path: str) -> bool:
    if os.path.realpath(path) != path:  # perhaps out of the project
        return os.path.lexists(path)
    try:
        with open(path, "rb", opener=open_at_once) as file:
            text = (file.read(MAX_SCANNED_BYTES) or b"").lower()
    except OSError:
        return os.path.lexists(path)  # its reader says what is wrong
    return len(text) == MAX_SCANNED_BYTES or b"mcp" in text or b"server" in text or b"\\u" in text


def nested_roots(folder: Path, rank: int = 0) -> list[Root]:
    """The folders below one folder of the project."""
    return list(_roots_in(PROJECT, str(folder), "project", rank))


def _roots_in(start: str, folder: str, level: Level, rank: int) -> Iterator[Root]:
    for provider, path, finds in _places(start):
        place = f"{folder}/{path}" if path else folder
        if place.endswith(_EACH):
            base = place.removesuffix(_EACH)
            for name in _folder_names(base):
                own = plugins.plugin_patterns(Path(base, name))
                yield Root(provider, f"{base}/{name}", level, rank, own, plugin=name)
        elif not path or os.path.lexists(place):
            yield Root(provider, place, level, rank, finds)


@cache
def _places(start: str) -> tuple[tuple[FileProvider, str, Patterns], ...]:
    """The rows of the table that start there; patterns without a root are relative to the start."""
    rows: list[tuple[FileProvider, str, Patterns]] = []
    for provider in PROVIDERS:
        for root in provider.roots:
            if root.startswith(start):
                rows.append((provider, root.removeprefix(start).removeprefix("/"), provider.finds))
        loose = {
            kind: own
            for kind, patterns in provider.also.items()
            if (
                own := tuple(
                    one.removeprefix(start).removeprefix("/") for one in patterns if one.startswith(start)
                )
            )
        }
        if loose:
            rows.append((provider, "", loose))
    return tuple(rows)


def _folder_names(folder: str) -> list[str]:
    try:
        names = (entry.name for entry in os.scandir(folder) if entry.is_dir())
        return sorted(name for name in names if not name.startswith("."))
    except OSError:
        return []


def file_identity(path: str | Path) -> tuple[int, int]:
    """Equal for two names of one folder; a missing one is equal to nothing that exists."""
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return (0, 0)
    return info.st_dev, info.st_ino
