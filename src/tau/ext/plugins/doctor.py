"""Checks the code of plugins without running it: names that this tau lacks, versions that it is not."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tau import ext
from tau.base.errors import ExtensionError
from tau.ext.extensions.deprecated_names import RENAMED
from tau.ext.extensions.extension import ExtensionSource
from tau.ext.extensions.importer import check_version
from tau.ext.extensions.sources import described

MAX_FILES = 500


def check_code(folder: Path) -> Iterator[str]:
    """What will fail, as sentences with file and line."""
    for number, path in enumerate(sorted(folder.rglob("*.py"))):
        if number >= MAX_FILES:
            yield f"There are more than {MAX_FILES} Python files; the others were not checked."
            return
        if any(part in ("__pycache__", ".venv", "node_modules") for part in path.parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield f"{path}: {error}"
            continue
        yield from _imports(path, tree)
        try:
            check_version(described(ExtensionSource(path.stem, path, "user")))
        except ExtensionError as error:
            yield f"{path}: {error}"


def _imports(path: Path, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="tau"), attr=attr) if f"ExtensionAPI.{attr}" in RENAMED:
                new = RENAMED[f"ExtensionAPI.{attr}"]
                yield f"{path}:{node.lineno}: tau.{attr} goes soon; use {new}."
        if isinstance(node, ast.ImportFrom) and node.module == "tau.ext" and not node.level:
            for name in node.names:
                if name.name in RENAMED:
                    yield f"{path}:{node.lineno}: {name.name} goes soon; use {RENAMED[name.name]}."
                elif name.name not in ext.__all__ and name.name != "*":
                    yield f"{path}:{node.lineno}: tau.ext has no {name.name}."
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tau.") and not node.level:
            if not str(node.module).startswith(("tau.ext", "tau.testing")):
                yield f"{path}:{node.lineno}: {node.module} is internal and may change; use tau.ext."
        elif isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.partition(".")[0]
                if top not in sys.stdlib_module_names and top != "tau" and not _exists(top, path):
                    yield f"{path}:{node.lineno}: the package {top} is not installed."


def _exists(name: str, path: Path) -> bool:
    places = [*sys.path, str(path.parent), str(path.parent.parent)]
    return any(Path(place, name).is_dir() or Path(place, f"{name}.py").is_file() for place in places)
