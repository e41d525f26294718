"""The names that others may use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tau.hashline
from tau.base.errors import ToolError

FOLDER = Path(tau.hashline.__file__).parent


def test_every_public_name_is_there_and_none_is_forgotten() -> None:
    names = tau.hashline.__all__
    assert names == sorted(names)
    assert all(hasattr(tau.hashline, name) for name in names)
    imported = {
        alias.name
        for node in ast.walk(ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module != "tau.base.late"
        for alias in node.names
    }
    assert imported == set(names)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tau.hashline.nothing


def test_recording_what_was_shown_does_not_load_the_parser() -> None:
    code = "import sys, tau.hashline.snapshots; print('tau.hashline.parser' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_every_error_is_one_that_a_model_may_read() -> None:
    for name in ("ApplyError", "MismatchError", "NoChangeError", "ParseError", "PatchError"):
        assert issubclass(getattr(tau.hashline, name), tau.hashline.HashlineError)
    assert issubclass(tau.hashline.HashlineError, ToolError)


def test_it_stands_alone() -> None:
    """Nothing but the base errors, msgspec and what the standard library has for work in memory."""
    allowed = {"msgspec", "tau.hashline", "tau.base.errors", "tau.base.late"}
    outside = {"os", "subprocess", "socket", "asyncio", "shutil", "tempfile", "io"}
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                )
                for module in modules:
                    known = any(module == name or module.startswith(f"{name}.") for name in allowed)
                    top = module.partition(".")[0]
                    assert known or (top in sys.stdlib_module_names and top not in outside), (
                        path.name,
                        module,
                    )
