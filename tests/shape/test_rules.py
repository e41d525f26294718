"""Rules of the house that can be read off the source: one place for tasks, for processes and for output."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.shape.source_tree import (
    PACKAGE,
    ROOT,
    Source,
    calls,
    classes,
    dotted,
    functions,
    imported_names,
    other_sources,
    package_sources,
)

TASK_FILES = {"tau.base.tasks", "tau.agent.abort"}
PROCESS_FILES = {"tau.base.run", "tau.base.process", "tau.base.orphan_guard"}
PROCESS_MODULES = {"subprocess", "multiprocessing", "pty", "concurrent.futures.process"}
PROCESS_CALLS = re.compile(
    r"os\.(system|popen|fork|forkpty|exec\w+|spawn\w+|posix_spawn\w*)|.*\.(create_subprocess|subprocess)_(exec|shell)"
)
FACES = {"modes", "cli"}


def test_tasks_are_made_in_two_files_and_in_task_groups() -> None:
    found = []
    for source in package_sources():
        if source.module in TASK_FILES:
            continue
        groups = task_groups(source)
        for call in calls(source.tree):
            receiver, _, name = dotted(call.func).rpartition(".")
            made_in_group = name == "create_task" and receiver.split(".")[-1] in groups
            if name in ("create_task", "ensure_future") and not made_in_group:
                found.append(source.at(call))
    assert not found


def task_groups(source: Source) -> set[str]:
    """Names that hold a TaskGroup: bound by `async with`, or annotated as one."""
    names = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.AsyncWith):
            for item in node.items:
                if dotted(item.context_expr).endswith("TaskGroup()") and item.optional_vars is not None:
                    names.add(dotted(item.optional_vars).split(".")[-1])
        elif isinstance(node, ast.arg) and node.annotation and "TaskGroup" in ast.unparse(node.annotation):
            names.add(node.arg)
        elif isinstance(node, ast.AnnAssign) and "TaskGroup" in ast.unparse(node.annotation):
            names.add(dotted(node.target).split(".")[-1])
    return names


def test_child_processes_start_in_one_place() -> None:
    found = []
    for source in package_sources():
        if source.module in PROCESS_FILES:
            continue
        for node, name in imported_names(source.tree):
            if name in PROCESS_MODULES or name.rpartition(".")[0] in PROCESS_MODULES:
                found.append(source.at(node))
        found += [
            source.at(call) for call in calls(source.tree) if PROCESS_CALLS.fullmatch(dotted(call.func))
        ]
    assert not found


def test_only_faces_write_to_the_terminal() -> None:
    """A module that is also a program (`python -m ...`) may speak too."""
    found = []
    for source in package_sources():
        if source.layer in FACES or '__name__ == "__main__"' in source.text:
            continue
        found += [source.at(call) for call in calls(source.tree) if dotted(call.func) == "print"]
        found += [
            source.at(node)
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Attribute) and dotted(node) in ("sys.stdout", "sys.stderr")
        ]
    assert not found


def test_imports_stand_at_module_top() -> None:
    inner = [
        source.at(node)
        for source in package_sources()
        for function in functions(source.tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not inner


def test_annotations_are_real_so_that_structs_resolve() -> None:
    found = [
        source.at(node)
        for source in package_sources()
        for node, name in imported_names(source.tree)
        if name == "__future__.annotations"
    ]
    assert not found


def test_every_tool_has_its_prompt_beside_it() -> None:
    missing = []
    for source in package_sources():
        if not source.module.startswith("tau.coding.tools."):
            continue
        made = [cls for cls in classes(source.tree) if any("Tool" in ast.unparse(base) for base in cls.bases)]
        # A tool may also take its prompt from the library that it stands on.
        if any("description" not in {node.name for node in functions(cls)} for cls in made):
            prompt = source.path.with_suffix(".md")
            if not prompt.is_file() or not prompt.read_text(encoding="utf-8").strip():
                missing.append(source.where)
    assert not missing


def test_every_folder_with_code_has_its_tests() -> None:
    layers = {source.layer for source in package_sources() if source.path.parent != PACKAGE} - {""}
    without = [layer for layer in sorted(layers) if not list((ROOT / "tests" / layer).rglob("test_*.py"))]
    assert not without


def test_every_test_checks_something() -> None:
    empty = [
        f"{source.at(function)} {function.name}"
        for source, function in all_tests()
        if not asserts(function) and not called_names(function) & checking_functions()
    ]
    assert not empty


def called_names(tree: ast.AST) -> set[str]:
    return {dotted(call.func).split(".")[-1] for call in calls(tree)}


def asserts(tree: ast.AST) -> bool:
    if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        return True
    return any(name in ("raises", "fail") or name.startswith("assert") for name in called_names(tree))


@cache
def checking_functions() -> set[str]:
    """Functions of the tests that assert for others."""
    return {
        function.name
        for source in other_sources()
        for function in functions(source.tree)
        if not function.name.startswith("test_") and asserts(function)
    }


def test_every_skip_says_why() -> None:
    silent = []
    for source in other_sources():
        for call in calls(source.tree):
            if re.search(r"mark\.(skip|skipif|xfail)$", dotted(call.func)):
                silent += [] if any(word.arg == "reason" for word in call.keywords) else [source.at(call)]
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef):
                silent += [
                    source.at(node)
                    for mark in node.decorator_list
                    if dotted(mark).endswith(("mark.skip", "mark.xfail"))
                ]
    assert not silent


def all_tests() -> Iterator[tuple[Source, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for source in other_sources():
        if source.path.name.startswith("test_"):
            for function in functions(source.tree):
                if function.name.startswith("test_"):
                    yield source, function
