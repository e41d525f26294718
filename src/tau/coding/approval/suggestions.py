"""Suggests narrow patterns for an approval request: what the user would likely allow again."""

import shlex
from pathlib import Path

from tau.base.files import typed_path
from tau.coding.approval.shell_syntax import simple_commands
from tau.coding.approval.unsafe_options import is_unsafe

MAX_SUGGESTED = 3

# Programs that only inspect or check, whatever their arguments.
_LOOKS = frozenset(
    (
        *(
            "ls",
            "cat",
            "head",
            "tail",
            "wc",
            "grep",
            "rg",
            "pwd",
            "echo",
            "which",
            "file",
            "stat",
            "du",
            "df",
        ),
        *("tree", "diff", "sort", "cut", "ps", "date", "basename", "dirname", "realpath", "id", "uname"),
        *("pytest", "mypy", "pyright", "flake8", "pylint", "tsc", "jest", "vitest", "jq", "find", "fd"),
    )
)
# Programs that do so with these subcommands.
_LOOKS_WITH = {
    "git": frozenset(
        (
            *("status", "diff", "log", "show", "blame", "grep", "ls-files", "rev-parse", "describe"),
            *("shortlog", "add", "commit", "fetch", "ls-tree", "cat-file", "reflog", "merge-base"),
        )
    ),
    "cargo": frozenset(("build", "test", "check", "clippy", "tree", "fmt")),
    "go": frozenset(("build", "test", "vet", "list", "fmt")),
    "npm": frozenset(("test", "ls", "view", "outdated")),
    "pnpm": frozenset(("test", "ls", "view", "outdated")),
    "yarn": frozenset(("test", "list", "info")),
    "pip": frozenset(("list", "show", "freeze", "check")),
    "uv": frozenset(("tree", "lock")),
    "ruff": frozenset(("check", "format")),
    "docker": frozenset(("ps", "images", "logs", "inspect")),
    "kubectl": frozenset(("get", "describe", "logs")),
    "gh": frozenset(),
    "dotnet": frozenset(("build", "test")),
    "make": frozenset(),
}


def suggest_run(command: str) -> tuple[str, ...]:
    """Patterns that together allow this command; none if it is more than a few simple commands."""
    found = simple_commands(command)
    if found is None:
        return ()
    if len(found) > 1 and found[0][0] == "cd":
        found = found[1:]
    patterns = [_of_command(words) for words in found]
    wanted = tuple(dict.fromkeys(pattern for pattern in patterns if pattern))
    return wanted if all(patterns) and len(wanted) <= MAX_SUGGESTED else ()


def suggest_write(target: Path) -> tuple[str, ...]:
    """The files of the same folder."""
    folder = str(target.parent)
    home = str(typed_path("~"))
    if folder == home or folder.startswith(f"{home}/"):
        folder = "~" + folder[len(home) :]
    return () if "*" in folder or not folder.isprintable() or folder == "/" else (f"write: {folder}/*",)


def suggest_connection(host: str) -> tuple[str, ...]:
    return () if "*" in host or not host.isprintable() else (f"connect: {host}",)


def _of_command(words: tuple[str, ...]) -> str:
    program = words[0]
    unsafe = any(is_unsafe(words, at) for at in range(1, len(words)))
    if program in _LOOKS and not unsafe:
        return f"run: {program} *" if len(words) > 1 else f"run: {program}"
    if len(words) > 1 and words[1] in _LOOKS_WITH.get(program, ()) and not unsafe:
        return f"run: {program} {words[1]} *"
    # Exactly this command.
    text = shlex.join(words)
    return "" if "*" in text or not text.isprintable() else f"run: {text}"
