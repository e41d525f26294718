"""The import contracts hold for late imports too, checked by the same engine as plain ones."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import grimp

from tests.shape.source_tree import (
    PACKAGE,
    ROOT,
    Source,
    calls,
    dotted,
    imported_names,
    nodes,
    package_sources,
)

CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "importlinter"
]["contracts"]


def late_calls() -> Iterator[tuple[Source, ast.Call]]:
    for source in package_sources():
        if source.module == "tau.base.late":
            continue
        for call in calls(source.tree):
            if dotted(call.func).split(".")[-1] == "late":
                yield source, call


def late_names() -> Iterator[tuple[Source, str]]:
    for source, call in late_calls():
        if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            yield source, call.args[0].value


def graph_with_late_imports() -> grimp.ImportGraph:
    graph = grimp.build_graph("tau", cache_dir=None)
    for source, name in late_names():
        if name in graph.modules:
            graph.add_import(importer=source.module, imported=name)
    return graph


def layer(line: str) -> grimp.Layer:
    """A line of the layers contract: in `a | b` neither may see the other, `(a)` may be missing."""
    names = [name.strip().strip("()") for name in line.replace(":", "|").split("|")]
    return grimp.Layer(*names, independent=":" not in line)


def test_late_is_called_at_module_top_with_a_literal_name() -> None:
    wrong = []
    for source, call in late_calls():
        plain = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and not call.keywords
        if not plain or call in calls_in_functions(source.tree):
            wrong.append(source.at(call))
    assert not wrong


@cache
def calls_in_functions(tree: ast.Module) -> set[ast.Call]:
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    return {call for node in nodes(tree, *inner) for call in calls(node)}


def test_modules_are_imported_by_name_in_one_place_only() -> None:
    loaders = {"tau.base.late"}
    found = [
        source.at(call)
        for source in package_sources()
        if source.module not in loaders
        for call in calls(source.tree)
        if dotted(call.func)
        in ("__import__", "importlib.import_module", "import_module", "importlib.__import__")
    ]
    assert not found


def test_late_names_existing_modules() -> None:
    missing = [
        f"{source.where}: {name}"
        for source, name in late_names()
        if name.split(".")[0] == "tau"
        and not (PACKAGE.parent / (name.replace(".", "/") + ".py")).is_file()
        and not (PACKAGE.parent / name.replace(".", "/") / "__init__.py").is_file()
    ]
    assert not missing


def test_every_contract_is_of_a_kind_checked_here() -> None:
    assert {contract["type"] for contract in CONTRACTS} <= {"layers", "forbidden"}
    assert any(contract["type"] == "layers" for contract in CONTRACTS)


def test_layers_hold_including_late_imports() -> None:
    graph = graph_with_late_imports()
    broken = []
    for contract in CONTRACTS:
        if contract["type"] == "layers":
            found = graph.find_illegal_dependencies_for_layers(
                layers=[layer(line) for line in contract["layers"]], containers=set(contract["containers"])
            )
            broken += [str(route) for dependency in found for route in dependency.routes]
    assert not broken


def test_forbidden_imports_stay_forbidden_including_late_ones() -> None:
    graph = graph_with_late_imports()
    chains = []
    for contract in CONTRACTS:
        if contract["type"] == "forbidden":
            present = [name for name in contract["source_modules"] if name in graph.modules]
            targets = [name for name in contract["forbidden_modules"] if name in graph.modules]
            for importer in present:
                for imported in targets:
                    chain = graph.find_shortest_chains(importer=importer, imported=imported, as_packages=True)
                    direct_only = contract.get("allow_indirect_imports", False)
                    chains += [" -> ".join(steps) for steps in chain if len(steps) == 2 or not direct_only]
    assert not chains


def test_every_source_folder_is_a_package_the_contracts_see() -> None:
    folders = {source.path.parent for source in package_sources()}
    assert not [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()]


def test_every_package_folder_is_assigned_to_a_layer() -> None:
    placed = {
        name.strip().strip("()")
        for contract in CONTRACTS
        if contract["type"] == "layers"
        for line in contract["layers"]
        for name in line.split("|")
    }
    found = {source.layer for source in package_sources()} - {"", "__main__"}
    assert found <= placed


def test_tools_build_on_coding_and_nothing_in_coding_on_them() -> None:
    """Type-checking imports count too: an edit or a shell that knows its tool is half a tool."""
    below = [
        source for source in package_sources() if source.layer == "coding" and not of_tools(source.module)
    ]
    late = {source.module: name for source, name in late_names() if of_tools(name)}
    found = [f"{source.where}: {late[source.module]}" for source in below if source.module in late]
    found += [
        f"{source.at(node)} {name}"
        for source in below
        for node, name in imported_names(source.tree)
        if of_tools(name)
    ]
    assert below and not found


def of_tools(name: str) -> bool:
    return f"{name}.".startswith("tau.coding.tools.")
