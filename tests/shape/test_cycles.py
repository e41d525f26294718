"""Each module can be imported first, and the parts of a session depend on each other in one direction."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

from tests.shape.source_tree import package_sources
from tests.shape.test_layers import graph_with_late_imports

SESSION = "tau.coding.session"
OWNER = f"{SESSION}.session"  # `Session`, which builds and owns the parts


def cycle_through(graph: grimp.ImportGraph, module: str) -> set[str]:
    """The strongly connected component of a module; type-checking imports count."""
    return {module} | (graph.find_upstream_modules(module) & graph.find_downstream_modules(module))


def test_cycles_are_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "b")):
        graph.add_module(importer)
        graph.add_module(imported)
        graph.add_import(importer=importer, imported=imported)
    assert [cycle_through(graph, module) for module in "abc"] == [{"a"}, {"b", "c"}, {"b", "c"}]


def test_sessions_have_no_import_cycles() -> None:
    graph = graph_with_late_imports()
    modules = graph.find_descendants(SESSION)
    assert OWNER in modules
    assert not {module: cycle for module in modules if len(cycle := cycle_through(graph, module)) > 1}


def test_no_part_imports_the_session_that_owns_it() -> None:
    graph = graph_with_late_imports()
    assert not graph.find_modules_that_directly_import(OWNER) & graph.find_descendants(SESSION)


def imported_first(tree: ast.Module) -> Iterator[str]:
    """What a module imports before it has its own names; `from a import b` may be the module a.b."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def import_order(imports: Mapping[str, set[str]]) -> list[str]:
    """Raises CycleError."""
    return list(TopologicalSorter(imports).static_order())


def test_cycles_of_imports_are_refused() -> None:
    assert import_order({"a": {"b"}, "b": set()}) == ["b", "a"]
    with pytest.raises(CycleError):
        import_order({"a": {"b"}, "b": {"c"}, "c": {"b"}})
    tree = ast.parse("import x\nfrom y import z\nif TYPE_CHECKING:\n    import w\ndef f():\n    import v\n")
    assert list(imported_first(tree)) == ["x", "y", "y.z"]


def test_any_module_can_be_imported_first() -> None:
    known = {source.module for source in package_sources()}
    imports = {
        source.module: {name for name in imported_first(source.tree) if name in known} - {source.module}
        for source in package_sources()
    }
    # A package whose names are re-exported is there once its own imports are done.
    for module, names in imports.items():
        imports[module] = {name for name in names if not module.startswith(f"{name}.")}
    assert len(import_order(imports)) == len(known)
