"""The examples and the code of `tau plugin new` pass strict type checkers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tau.ext.plugins import scaffold
from tests.backends.lsp.servers import REAL

ROOT = Path(__file__).resolve().parents[2]


def written_code(folder: Path) -> list[str]:
    """All of it, in one folder."""
    for path in (ROOT / "docs" / "examples" / "extensions").glob("*.py"):
        shutil.copy(path, folder)
    for kind in scaffold.FILES:
        scaffold.write(f"my-{kind}", kind, folder / "made")
    return [str(path) for path in folder.rglob("*.py")]


def test_mypy_accepts_the_examples_and_templates(tmp_path: Path) -> None:
    files = written_code(tmp_path)
    options = ("--strict", "--config-file", str(ROOT / "pyproject.toml"), "--explicit-package-bases")
    made = [str(path) for path in (tmp_path / "made").iterdir()]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": os.pathsep.join([str(tmp_path), *made])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_pyright_accepts_the_examples_and_templates(tmp_path: Path) -> None:
    pyright = REAL / "py" / "bin" / "basedpyright"
    if not pyright.exists():
        pytest.skip("make test-servers installs basedpyright")
    written_code(tmp_path)
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src"), "made/my-extension"],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [str(pyright), "--pythonpath", sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
