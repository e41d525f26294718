"""Helpers for Python cells: files, text and the environment."""

import difflib
import os
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tau.backends.kernels.guest.cell_loop import GuestKernel

TREE_ENTRIES = 1000
SKIPPED_FOLDERS = {".git", "node_modules", "__pycache__", ".venv", "venv"}


def env(
    kernel: "GuestKernel", key: "str | None" = None, value: "str | None" = None
) -> "dict[str, str] | str | None":
    """Return all environment variables or one; with `value`, set it."""
    if key is None:
        kernel.status("env", count=len(os.environ))
        return dict(sorted(os.environ.items()))
    if value is not None:
        os.environ[key] = str(value)
    kernel.status("env", key=key, set=value is not None)
    return os.environ.get(key)


def read(
    kernel: "GuestKernel", path: "str | os.PathLike[str]", offset: int = 1, limit: "int | None" = None
) -> str:
    """Return the text of a file, or `limit` lines starting at line `offset`."""
    place = _absolute(path)
    with open(place, encoding="utf-8", errors="replace", newline="") as file:  # noqa: PTH123 - slow to import
        text = file.read()
    if offset > 1 or limit is not None:
        first = max(offset, 1) - 1
        text = "".join(text.splitlines(True)[first : None if limit is None else first + limit])
    kernel.status("read", path=place, chars=len(text))
    return text


def write(kernel: "GuestKernel", path: "str | os.PathLike[str]", content: str) -> str:
    """Write text to a file, creating its folders; returns the path."""
    return _write(kernel, "write", path, content, "w")


def append(kernel: "GuestKernel", path: "str | os.PathLike[str]", content: str) -> str:
    """Append text to a file, creating it if missing; returns the path."""
    return _write(kernel, "append", path, content, "a")


def sort(kernel: "GuestKernel", text: str, *, reverse: bool = False, unique: bool = False) -> str:
    """Sort the lines of a text."""
    lines = text.splitlines()
    return "\n".join(sorted(set(lines) if unique else lines, reverse=reverse))


def uniq(kernel: "GuestKernel", text: str, *, count: bool = False) -> "str | list[tuple[int, str]]":
    """Drop repeated adjacent lines; with `count`, return (count, line) pairs."""
    runs: list[tuple[int, str]] = []
    for line in text.splitlines():
        if runs and runs[-1][1] == line:
            runs[-1] = (runs[-1][0] + 1, line)
        else:
            runs.append((1, line))
    return runs if count else "\n".join(line for _, line in runs)


def counter(
    kernel: "GuestKernel", items: "str | Iterable[Any]", *, limit: "int | None" = None, reverse: bool = False
) -> "list[tuple[int, Any]]":
    """Count items, or lines of a text; returns (count, item) pairs, most frequent first."""
    counted = Counter(items.splitlines() if isinstance(items, str) else items)
    pairs = sorted(counted.items(), key=lambda pair: pair[1], reverse=not reverse)
    return [(number, item) for item, number in pairs[:limit]]


def tree(
    kernel: "GuestKernel", path: "str | os.PathLike[str]" = ".", *, max_depth: int = 3, hidden: bool = False
) -> str:
    """List files and folders recursively, as an indented tree."""
    place = _absolute(path)
    lines = [place]
    _add_tree(place, "", max_depth, hidden, lines)
    if len(lines) > TREE_ENTRIES:
        lines[TREE_ENTRIES:] = [f"[… first {TREE_ENTRIES} entries only]"]
    kernel.status("tree", path=place, entries=len(lines) - 1)
    return "\n".join(lines)


def diff(kernel: "GuestKernel", first: "str | os.PathLike[str]", second: "str | os.PathLike[str]") -> str:
    """Return a unified diff of two files; empty if they are equal."""
    texts = [read(kernel, path).splitlines(True) for path in (first, second)]
    lines = difflib.unified_diff(texts[0], texts[1], str(first), str(second))
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def log(kernel: "GuestKernel", message: object) -> None:
    """Show a progress line to the user."""
    kernel.status("log", message=str(message))


def phase(kernel: "GuestKernel", title: object) -> None:
    """Show the user that a new phase begins."""
    kernel.status("phase", title=str(title))


def _write(kernel: "GuestKernel", op: str, path: "str | os.PathLike[str]", content: str, mode: str) -> str:
    place = _absolute(path)
    os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120 - pathlib is slow to import
    with open(place, mode, encoding="utf-8", newline="") as file:  # noqa: PTH123 - the same
        file.write(content)
    kernel.status(op, path=place, chars=len(content))
    return place


def _absolute(path: "str | os.PathLike[str]") -> str:
    text = str(os.fspath(path))
    if "://" in text:
        raise ValueError(f"{text} is a URL; use tool.read(path=...).")
    return os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 - the same


def _add_tree(folder: str, indent: str, depth: int, hidden: bool, lines: "list[str]") -> None:
    if depth <= 0 or len(lines) > TREE_ENTRIES:
        return
    entries = [entry for entry in os.scandir(folder) if hidden or not entry.name.startswith(".")]
    for entry in sorted(entries, key=lambda entry: (not entry.is_dir(), entry.name)):
        is_folder = entry.is_dir(follow_symlinks=False)
        lines.append(indent + "  " + entry.name + ("/" if is_folder else ""))
        if is_folder and entry.name not in SKIPPED_FOLDERS:
            _add_tree(entry.path, indent + "  ", depth - 1, hidden, lines)
