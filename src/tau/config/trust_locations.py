"""Where a repository keeps what agents run: the table of locations, and quick checks against it.

To have another one watched, add a row. Everything that a repository supplies and that starts a process or
is imported needs one.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Check = Literal["all", "names programs", "shell lines"]
"""What counts: every file; values that name programs; prompts with lines to run."""


class TrustLocation(Struct, frozen=True):
    """A file or folder, relative to a folder of the project, and what it holds."""

    path: str
    kind: str
    check: Check


AGENT_FOLDERS = (
    *(".tau", ".claude", ".codex", ".pi", ".omp", ".gemini", ".opencode", ".cursor", ".windsurf"),
    *(".agent", ".agents", ".github", ".vscode"),
)
"""Folders of tau and of other agents, all with the same layout."""

IN_AGENT_FOLDER = (
    TrustLocation("extensions", "extension", "all"),
    TrustLocation("hooks", "hook", "all"),
    TrustLocation("hooks.json", "hook", "names programs"),
    TrustLocation("tools", "tool", "all"),
    TrustLocation("tool", "tool", "all"),
    TrustLocation("plugins", "plugin", "all"),
    TrustLocation("plugin", "plugin", "all"),
    TrustLocation("packages", "plugin", "all"),
    TrustLocation("commands", "command", "shell lines"),
    TrustLocation("command", "command", "shell lines"),
    TrustLocation("prompts", "command", "shell lines"),
    TrustLocation("skills", "skill", "shell lines"),
    TrustLocation("agents", "agent", "shell lines"),
    TrustLocation("agent", "agent", "shell lines"),
    TrustLocation("SYSTEM.md", "system prompt", "all"),
    TrustLocation("system.md", "system prompt", "all"),
    TrustLocation("APPEND_SYSTEM.md", "system prompt", "all"),
    TrustLocation("TITLE_SYSTEM.md", "system prompt", "all"),
    TrustLocation("mcp.json", "MCP server", "names programs"),
    TrustLocation(".mcp.json", "MCP server", "names programs"),
    TrustLocation("mcp_config.json", "MCP server", "names programs"),
    TrustLocation("lsp.json", "language server", "names programs"),
    TrustLocation("lsp.yaml", "language server", "all"),
    TrustLocation("lsp.yml", "language server", "all"),
    TrustLocation("dap.json", "debug adapter", "names programs"),
    TrustLocation("dap.yaml", "debug adapter", "all"),
    TrustLocation("dap.yml", "debug adapter", "all"),
    TrustLocation("models.json", "model setting", "names programs"),
    TrustLocation("settings.json", "setting", "names programs"),
    TrustLocation("settings.local.json", "setting", "names programs"),
    TrustLocation("config.json", "setting", "names programs"),
    TrustLocation("config.toml", "setting", "all"),
    TrustLocation("config.yml", "setting", "all"),
)
# `.github` and `.vscode` belong to others, who keep much else there.
ONLY = {".github": ("skills", "prompts"), ".vscode": ("mcp.json",)}

IN_PROJECT = (
    TrustLocation(".mcp.json", "MCP server", "names programs"),
    TrustLocation("mcp.json", "MCP server", "names programs"),
    TrustLocation("lsp.json", "language server", "names programs"),
    TrustLocation(".lsp.json", "language server", "names programs"),
    TrustLocation("lsp.yaml", "language server", "all"),
    TrustLocation("lsp.yml", "language server", "all"),
    TrustLocation("dap.json", "debug adapter", "names programs"),
    TrustLocation(".dap.json", "debug adapter", "names programs"),
    TrustLocation("dap.yaml", "debug adapter", "all"),
    TrustLocation("dap.yml", "debug adapter", "all"),
    TrustLocation("opencode.json", "setting", "names programs"),
    TrustLocation("opencode.jsonc", "setting", "all"),
    TrustLocation(".claude-plugin", "plugin", "all"),
)


def locations() -> Iterator[TrustLocation]:
    """All locations, relative to a folder of the project."""
    yield from IN_PROJECT
    for folder in AGENT_FOLDERS:
        for location in IN_AGENT_FOLDER:
            if location.path in ONLY.get(folder, (location.path,)):
                yield replace(location, path=f"{folder}/{location.path}")


def has_any(folders: Sequence[os.PathLike[str]]) -> bool:
    """Whether one of these folders of a project may hold something that could run."""
    own = (f"{folder}/{name}" for folder in AGENT_FOLDERS for name in ONLY.get(folder, ("",)))
    names = (*own, *(location.path for location in IN_PROJECT))
    return any(os.path.lexists(os.path.join(folder, name)) for folder in folders for name in names)  # noqa: PTH118


def existing_files(
    folder: str, checks: Sequence[Check] = ("all", "names programs")
) -> Iterator[tuple[str, str]]:
    """The existing locations in a folder with these checks, each after its agent's folder, or ""."""
    for location in IN_PROJECT:
        if location.check in checks and os.path.lexists(path := f"{folder}/{location.path}"):
            yield "", path
    for name in AGENT_FOLDERS:
        if not os.path.lexists(own := f"{folder}/{name}"):
            continue
        for location in IN_AGENT_FOLDER:
            is_used = location.check in checks and location.path in ONLY.get(name, (location.path,))
            if is_used and os.path.lexists(path := f"{own}/{location.path}"):
                yield own, path


def configures_agents(path: Path) -> bool:
    """Whether a file is at one of the locations, of whichever folder.

    Ignores case: the file system may too.
    """
    parts = tuple(part.casefold() for part in path.parts)
    known = _known_parts()
    return any(parts[at : at + 1] in known or parts[at : at + 2] in known for at in range(1, len(parts)))


@cache
def _known_parts() -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(location.path.casefold().split("/")) for location in locations())
