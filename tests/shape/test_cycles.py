"""The parts of a session depend on each other in one direction only."""

import grimp

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
