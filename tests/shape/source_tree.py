"""The source files as syntax trees, read once for all shape tests."""

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

Node = TypeVar("Node", bound=ast.AST)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tau"


@dataclass(frozen=True)
class Source:
    """One Python file: `where` is its path from the project root, `module` its dotted name (src only)."""

    path: Path
    where: str
    module: str
    text: str
    tree: ast.Module

    @property
    def layer(self) -> str:
        """The folder (or file) of the package it belongs to: `agent`, `cli`, `sdk`."""
        return [*self.module.split("."), ""][1]

    def at(self, node: ast.AST) -> str:
        return f"{self.where}:{getattr(node, 'lineno', 1)}"


@cache
def package_sources() -> tuple[Source, ...]:
    return read_all(PACKAGE)


@cache
def other_sources() -> tuple[Source, ...]:
    """Tests, benches and tools."""
    return read_all(*(ROOT / name for name in ("tests", "bench", "tools")))


def read_all(*folders: Path) -> tuple[Source, ...]:
    """Freeze the million nodes, which all stay, so that the garbage collector skips them."""
    gc.disable()
    try:
        return tuple(read(path) for folder in folders for path in sorted(folder.rglob("*.py")))
    finally:
        gc.freeze()
        gc.enable()


def read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    module = ""
    if path.is_relative_to(PACKAGE):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Source(path, str(path.relative_to(ROOT)), module, text, ast.parse(text, str(path)))


def read_text(text: str) -> Source:
    """A piece of code without a file, to try a rule on."""
    return Source(Path(), "", "", text, ast.parse(text))


@cache
def nodes_by_kind(tree: ast.Module) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree):
        found[type(node)].append(node)
    return found


def nodes(tree: ast.AST, *kinds: type[Node]) -> Iterator[Node]:
    """The nodes of these kinds in a file or a part of one."""
    if isinstance(tree, ast.Module):
        for kind in kinds:
            yield from cast("list[Node]", nodes_by_kind(tree).get(kind, []))
    else:
        yield from (node for node in ast.walk(tree) if isinstance(node, kinds))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from nodes(tree, ast.FunctionDef)
    yield from nodes(tree, ast.AsyncFunctionDef)


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return nodes(tree, ast.ClassDef)


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return nodes(tree, ast.Call)


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of names, "" for anything else; calls on the way are written `a().b`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return dotted(node.func) + "()"
    return ""


def imported_names(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Every import as (node, dotted name), an imported name as `module.name`."""
    for node in nodes(tree, ast.Import):
        for alias in node.names:
            yield node, alias.name
    for node in nodes(tree, ast.ImportFrom):
        for alias in node.names:
            yield node, f"{node.module or ''}.{alias.name}"
