"""Where a repository keeps what agents run: the table of locations, and a quick look whether there are any.

To have another one watched, add a row. Everything that a repository supplies and that starts a process or
is imported needs one.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Check = Literal["all", "names programs", "shell lines"]
"""What counts: every file; values that name programs; prompts with lines to run."""


class TrustLocation(NamedTuple):
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
    TrustLocation("mcp.json", "MCP server", "names programs"),
    TrustLocation(".mcp.json", "MCP server", "names programs"),
    TrustLocation("mcp_config.json", "MCP server", "names programs"),
    TrustLocation("lsp.json", "language server", "names programs"),
    TrustLocation("lsp.yaml", "language server", "all"),
    TrustLocation("lsp.yml", "language server", "all"),
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
                yield location._replace(path=f"{folder}/{location.path}")


def has_any(folders: Sequence[os.PathLike[str]]) -> bool:
    """Whether one of these folders of a project may hold something that could run."""
    own = (f"{folder}/{name}" for folder in AGENT_FOLDERS for name in ONLY.get(folder, ("",)))
    names = (*own, *(location.path for location in IN_PROJECT))
    return any(os.path.lexists(os.path.join(folder, name)) for folder in folders for name in names)  # noqa: PTH118
