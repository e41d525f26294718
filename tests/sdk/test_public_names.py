"""The names programs import from `tau`: they exist, they are typed, and they cost nothing unused."""

import ast
import asyncio
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tau
from tau.agent import events
from tau.ai import wire
from tau.ai.faux import Faux, Say
from tests.sdk.test_sdk_examples import PAGE, examples
from tests.shape.source_tree import PACKAGE


def for_type_checkers() -> dict[str, str]:
    """Names and modules imported by the block `if TYPE_CHECKING`."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    found = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names:
            assert alias.asname == alias.name, "without `as`, type checkers take it for a private import"
            found[alias.name] = node.module
    return found


def test_type_checkers_and_programs_see_the_same_names() -> None:
    typed = for_type_checkers()
    assert {*typed, "__version__"} == set(tau.__all__)
    assert len(tau.__all__) == len(set(tau.__all__))
    different = [
        name
        for name, home in typed.items()
        if getattr(tau, name) is not getattr(importlib.import_module(home), name)
    ]
    assert not different


def test_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_missing_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Session_'"):
        _ = tau.Session_  # type: ignore[attr-defined]
    assert not hasattr(tau, "nothing") and "create_session" in dir(tau)


def test_every_event_and_every_message_can_be_imported() -> None:
    defined = [
        name
        for module in (events, wire)
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    assert not set(defined) - set(tau.__all__)


def test_names_used_on_the_page_exist() -> None:
    used = set(re.findall(r"\btau\.([A-Za-z_]+)\b(?!\.)", re.sub(r"tau\.ai(\.\w+)?", "", PAGE)))
    assert not used - set(tau.__all__)


def test_examples_pass_a_strict_type_checker(tmp_path: Path) -> None:
    files = []
    for number, (_, _, text) in enumerate(examples()):
        files.append(tmp_path / f"example_{number}.py")
        files[-1].write_text(text)
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    run = subprocess.run([*mypy, *map(str, files)], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_importing_the_package_loads_none_of_its_modules() -> None:
    code = "import sys; before = set(sys.modules); import tau; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["tau", "tau.base", "tau.base.late", "tau.base.version"]


def test_tools_can_be_written_without_loading_the_coding_agent() -> None:
    code = "import sys; from tau import Tool, ToolOutput; print('tau.coding' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_names_used_for_comparison_exist(tmp_path: Path) -> None:
    table = PAGE[PAGE.index("## Names you may know") :]
    chains = set(re.findall(r"\b((?:session|store|log)(?:\.[a-z_]+)+)", table))

    async def main() -> list[str]:
        options = tau.SessionOptions(cwd=tmp_path, stream=Faux([[Say("ok")]]).stream, save=False)
        async with tau.create_session(options) as session:
            roots = {"session": session, "store": tau.session_store(), "log": session.log}
            return [chain for chain in chains if not reaches(roots, chain)]

    assert len(chains) > 25
    assert not asyncio.run(main())


def reaches(roots: dict[str, object], chain: str) -> bool:
    root, *names = chain.split(".")
    value: object = roots[root]
    for name in names:
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True
