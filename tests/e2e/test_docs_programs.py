"""The examples of docs/rpc.md and docs/json.md, as users copy them: Python, TypeScript and jq."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import TAU, Program
from tests.support.fake_answers import Call, Text
from tests.support.limits import HANG_S
from tests.support.npm_packages import TYPESCRIPT

DOCS = Path(__file__).parent.parent.parent / "docs"
STRICT = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node")


def examples(page: str, language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return found


@pytest.fixture
def path(tau: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tau` is on the PATH, and its default model is the fake one."""
    tau.settings(**{"retry.enabled": False, "defaultProvider": "fake", "defaultModel": "fake-model"})
    program = tmp_path / "bin/tau"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(TAU)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


def run(tau: Program, *argv: str) -> str:
    ran = subprocess.run(argv, capture_output=True, text=True, cwd=tau.project, timeout=2 * HANG_S)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("example", examples("rpc.md", "python"))
def test_python_example_runs(tau: Program, path: None, example: str) -> None:
    tau.script("It is a test.")
    assert run(tau, sys.executable, "-c", example) in ("", "agent_settled It is a test.\n")


def test_typescript_example_compiles_strictly_and_runs(tau: Program, path: None) -> None:
    modules = TYPESCRIPT.require()
    tau.script((Text("I look."), Call("bash", {"command": "echo hi"})), Text("It is a test.", deltas=3))
    [example] = examples("rpc.md", "typescript")
    (tau.project / "node_modules").symlink_to(modules)
    (tau.project / "package.json").write_text('{"type": "module"}')
    (tau.project / "client.ts").write_text(example)
    run(tau, "node", str(modules / "typescript/bin/tsc"), *STRICT, "client.ts")
    assert run(tau, "node", "client.js") == "I look.\n[bash]\nIt is a test.\n10020 tokens\n"


OUTPUTS = (
    "I look.Two files.",
    "bash ok\n",
    '{\n  "output": 20,\n  "cost": 0\n}\n',
    "I look.\nTwo files.\nThis one.\n",
)


@pytest.mark.parametrize(
    ("example", "output"), list(zip(examples("json.md", "sh"), OUTPUTS, strict=True)), ids=range(len(OUTPUTS))
)
def test_shell_example_prints_what_it_says(tau: Program, path: None, example: str, output: str) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    tau.script((Text("I look."), Call("bash", {"command": "echo hi"})), "Two files.", "This one.")
    assert run(tau, "bash", "-c", f"set -o pipefail\n{example}") == output
