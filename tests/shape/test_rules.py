"""Project rules that can be checked in the source: one place for tasks, processes and output."""

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
    nodes,
    other_sources,
    package_sources,
)

TASK_FILE = "tau.base.tasks"
# The guests of a sandbox start what `base/run.py` asks them to.
GUESTS = {f"tau.backends.sandbox.guest.{name}" for name in ("holder", "landlock", "namespaces")}
PROCESS_FILES = {"tau.base.run", "tau.base.process", "tau.base.orphan_guard", *GUESTS}
PROCESS_MODULES = {"subprocess", "multiprocessing", "pty", "concurrent.futures.process"}
PROCESS_CALLS = re.compile(
    r"os\.(system|popen|fork|forkpty|exec\w+|spawn\w+|posix_spawn\w*)|.*\.(create_subprocess|subprocess)_(exec|shell)"
)
FACES = {"modes", "cli"}


def test_tasks_are_created_in_one_file_and_in_task_groups() -> None:
    found = []
    for source in package_sources():
        if source.module == TASK_FILE:
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
    names: set[str] = set()
    if "TaskGroup" not in source.text:
        return names
    for block in nodes(source.tree, ast.AsyncWith):
        for item in block.items:
            if dotted(item.context_expr).endswith("TaskGroup()") and item.optional_vars is not None:
                names.add(dotted(item.optional_vars).split(".")[-1])
    for argument in nodes(source.tree, ast.arg):
        if argument.annotation and "TaskGroup" in ast.unparse(argument.annotation):
            names.add(argument.arg)
    for assignment in nodes(source.tree, ast.AnnAssign):
        if "TaskGroup" in ast.unparse(assignment.annotation):
            names.add(dotted(assignment.target).split(".")[-1])
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


def test_only_modes_and_cli_write_to_the_terminal() -> None:
    """A module that is also a program (`python -m ...`) may print too."""
    found = []
    for source in package_sources():
        if source.layer in FACES or '__name__ == "__main__"' in source.text:
            continue
        found += [source.at(call) for call in calls(source.tree) if dotted(call.func) == "print"]
        found += [
            source.at(node)
            for node in nodes(source.tree, ast.Attribute)
            if dotted(node) in ("sys.stdout", "sys.stderr")
        ]
    assert not found


def test_imports_are_at_module_top() -> None:
    inner = [
        source.at(node)
        for source in package_sources()
        for function in functions(source.tree)
        for node in nodes(function, ast.Import, ast.ImportFrom)
    ]
    assert not inner


def test_annotations_are_evaluated_so_that_structs_resolve() -> None:
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
        # A tool may also take its prompt from the library it builds on.
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
    if any(nodes(tree, ast.Assert)):
        return True
    return any(name in ("raises", "fail") or name.startswith("assert") for name in called_names(tree))


@cache
def checking_functions() -> set[str]:
    """Test helper functions that assert."""
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
        silent += [
            source.at(function)
            for function in functions(source.tree)
            for mark in function.decorator_list
            if dotted(mark).endswith(("mark.skip", "mark.xfail"))
        ]
    assert not silent


def all_tests() -> Iterator[tuple[Source, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for source in other_sources():
        if source.path.name.startswith("test_"):
            for function in functions(source.tree):
                if function.name.startswith("test_"):
                    yield source, function
