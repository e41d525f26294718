"""Says, without decoding a table, whether a folder may have language servers or debug adapters."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tau.base.files import typed_path
from tau.config.paths import Paths, repo_root

PROJECT_FOLDERS = (".tau", ".omp", ".pi", ".claude")
MAX_LISTED = 5_000  # entries of a folder that are compared with markers
MAX_CHECKED = 1_000  # a folder with more of them is looked at in a thread


def definition_names(stem: str) -> tuple[str, ...]:
    """The files that define programs: `lsp.json` and the like."""
    return f"{stem}.json", f".{stem}.json", f"{stem}.yaml", f"{stem}.yml"


def may_have_programs(table: Path, stem: str, cwd: Path, paths: Paths) -> bool:
    """Whether something there is named in the table, or can define programs. Never a wrong no."""
    own = definition_names(stem)
    for folder in (paths.home, typed_path("~"), *plugin_folders(paths)):
        if any(os.path.lexists(f"{folder}/{name}") for name in own):
            return True
    text = table.read_text(encoding="utf-8")
    for folder in {cwd, repo_root(cwd) or cwd}:
        names = list(islice(folder_names(folder), MAX_CHECKED + 1))
        if len(names) > MAX_CHECKED or any(_is_known(name, text, own) for name in names):
            return True
    return False


def plugin_folders(paths: Paths) -> list[Path]:
    """The user's installed plugins."""
    folder = paths.home / "plugins"
    names = sorted(name for name in folder_names(folder) if not name.startswith("."))
    return [folder / name for name in names if os.path.isdir(f"{folder}/{name}")]  # noqa: PTH112


def folder_names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in islice(entries, MAX_LISTED))
    except OSError:
        return


def _is_known(name: str, table: str, own: tuple[str, ...]) -> bool:
    if name in own or name in PROJECT_FOLDERS or f'"{name}"' in table or f'"{name}/' in table:
        return True
    return "." in name and f'"*{name[name.rindex(".") :]}"' in table
