"""The source files as syntax trees, read once for all shape tests."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tau"


@dataclass(frozen=True)
class Source:
    """One Python file: `where` is its path from the project's root, `module` its dotted name (src only)."""

    path: Path
    where: str
    module: str
    text: str
    tree: ast.Module

    @property
    def layer(self) -> str:
        """The folder (or file) of the package that it belongs to: `agent`, `cli`, `sdk`."""
        return [*self.module.split("."), ""][1]

    def at(self, node: ast.AST) -> str:
        return f"{self.where}:{getattr(node, 'lineno', 1)}"


@cache
def package_sources() -> tuple[Source, ...]:
    return tuple(read(path) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def other_sources() -> tuple[Source, ...]:
    """Tests, benches and tools."""
    folders = (ROOT / name for name in ("tests", "bench", "tools"))
    return tuple(read(path) for folder in folders for path in sorted(folder.rglob("*.py")))


def read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    module = ""
    if path.is_relative_to(PACKAGE):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Source(path, str(path.relative_to(ROOT)), module, text, ast.parse(text, str(path)))


def read_text(text: str) -> Source:
    """A piece of code that is no file, to try a rule on."""
    return Source(Path(), "", "", text, ast.parse(text))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of names, "" for anything else; what is called on the way is written `a().b`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return dotted(node.func) + "()"
    return ""


def imported_names(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Every import as (node, dotted name), a name taken from a module as `module.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node, f"{node.module or ''}.{alias.name}"
