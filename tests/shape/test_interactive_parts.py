"""The parts of the interactive screen know only what they use, not the application."""

import re
from collections.abc import Iterator, Mapping

from tests.shape.source_tree import Source, imported_names, package_sources

PACKAGE_NAME = "tau.modes.interactive"
MAX_CYCLE = 10
MAX_APP_USERS = 3


def parts() -> list[Source]:
    return [source for source in package_sources() if source.module.startswith(PACKAGE_NAME)]


def import_graph() -> dict[str, set[str]]:
    """Who imports whom inside the package: plain, type-only and late imports."""
    modules = {source.module for source in parts()}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for source in parts():
        for name in names_of(source):
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules:
                graph[source.module].add(target)
    return graph


def names_of(source: Source) -> set[str]:
    """Everything a module imports, at once or late."""
    names = {name for _, name in imported_names(source.tree)}
    return names | set(re.findall(r'\blate\("([\w.]+)"\)', source.text))


def cycles(graph: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """Strongly connected components of more than one node (Kosaraju's algorithm)."""
    order: list[str] = []
    seen: set[str] = set()
    for root in graph:
        stack = [(root, iter(graph[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, targets = stack[-1]
            following = next((target for target in targets if target not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(graph[following])))
    importers: dict[str, set[str]] = {node: set() for node in graph}
    for node, targets_of in graph.items():
        for target in targets_of:
            importers[target].add(node)
    assigned: set[str] = set()
    for root in reversed(order):
        component: set[str] = set()
        pending = [root]
        while pending:
            node = pending.pop()
            if node not in assigned:
                assigned.add(node)
                component.add(node)
                pending.extend(importers[node])
        if len(component) > 1:
            yield component


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, cycles(graph))) == [["a", "b", "c"], ["d", "e"]]


def test_no_large_import_cycle() -> None:
    large = [sorted(cycle) for cycle in cycles(import_graph()) if len(cycle) > MAX_CYCLE]
    assert not large


def test_few_modules_know_the_app() -> None:
    app = f"{PACKAGE_NAME}.app"
    users = {
        source.module
        for source in package_sources()
        if source.module != app
        and f"{PACKAGE_NAME}." in source.text
        and {app, f"{app}.App"} & names_of(source)
    }
    assert len(users) <= MAX_APP_USERS, sorted(users)
