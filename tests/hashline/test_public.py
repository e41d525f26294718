"""What the library loads, raises and imports."""

import ast
import subprocess
import sys
from pathlib import Path

import tau.hashline
from tau.base.errors import ToolError
from tau.hashline import errors

FOLDER = Path(tau.hashline.__file__).parent


def test_recording_a_shown_text_does_not_load_the_parser() -> None:
    code = "import sys, tau.hashline.snapshots; print('tau.hashline.parser' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_every_error_is_readable_by_a_model() -> None:
    for name in ("ApplyError", "MismatchError", "NoChangeError", "ParseError", "PatchError"):
        assert issubclass(getattr(errors, name), errors.HashlineError)
    assert issubclass(errors.HashlineError, ToolError)


def test_package_is_self_contained() -> None:
    """Only the base errors, msgspec and in-memory parts of the standard library."""
    allowed = {"msgspec", "tau.hashline", "tau.base.errors"}
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
