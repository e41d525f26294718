"""Print mode with real language servers and debuggers: a rename, a type error, a bug in Python and in C."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends.dap.adapters import require_program
from tests.backends.lsp.servers import REAL
from tests.e2e.program import Program
from tests.support.fake_answers import Call

pytestmark = pytest.mark.soak

MAIN = "def area(width: int, height: int) -> int:\n    return width * height\n"
USER = "from shapes import area\n\n\ndef describe() -> str:\n    return str(area(2, 3))\n"
BUGGY_PYTHON = """def total(values):
    result = 0
    for value in values:
        result = value
    return result


print(total([1, 2, 3]))
"""
BUGGY_C = """#include <stdio.h>
int total(int *values, int count) {
  int result = 0;
  for (int i = 1; i < count; i++)
    result += values[i];
  return result;
}
int main(void) {
  int values[3] = {1, 2, 3};
  printf("%d\\n", total(values, 3));
}
"""


def told(tau: Program) -> dict[str, str]:
    """The results that the model got, by call."""
    messages = tau.server.requests[-1].body["messages"]
    return {one["tool_call_id"]: str(one["content"]) for one in messages if one["role"] == "tool"}


def test_a_rename_and_a_type_error_fixed_from_the_result_of_an_edit(
    tau: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join((str(REAL / "py/bin"), os.environ["PATH"])))
    if shutil.which("basedpyright-langserver") is None:
        pytest.skip("make test-servers installs basedpyright")
    (tau.project / "pyproject.toml").touch()
    (tau.project / "shapes.py").write_text(MAIN)
    (tau.project / "user.py").write_text(USER)
    rename = {"action": "rename", "file": "shapes.py", "line": 1, "symbol": "area", "new_name": "surface"}
    fixed = USER.replace("area", "surface")
    tau.script(
        Call("lsp", rename, id="rename"),
        Call("read", {"path": "user.py"}, id="read"),
        Call("write", {"path": "user.py", "content": fixed.replace("str(s", "(s")}, id="break"),
        Call("write", {"path": "user.py", "content": fixed}, id="fix"),
        Call("lsp", {"action": "diagnostics", "file": "user.py"}, id="check"),
        "Renamed.",
    )
    ran = tau.ask("rename area to surface")
    assert (ran.stdout, ran.stderr) == ("Renamed.\n", "")
    results = told(tau)
    assert "Applied rename:\\nshapes.py: 1 edit\\nuser.py: 2 edits" in repr(results["rename"])
    assert 'new error: Type "int" is not assignable to return type "str"' in results["break"]
    assert "error" not in results["fix"]
    assert results["check"] == "OK"
    assert (tau.project / "user.py").read_text() == fixed


@pytest.mark.parametrize("language", ["python", "c"])
def test_a_bug_is_found_with_breakpoints(
    tau: Program, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if language == "python":
        monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
        name, program, line, source, seen = "main.py", "main.py", 4, BUGGY_PYTHON, "value: int = 1"
        change = ("result = value\n", "result += value\n")
    else:
        require_program("gcc", "lldb-dap-19")
        name, program, line, source, seen = "main.c", "main", 5, BUGGY_C, "i: int = 1"
        change = ("i = 1", "i = 0")
    (tau.project / "pyproject.toml").touch()
    (tau.project / name).write_text(source)
    build = f"gcc -g -O0 -o main {name}"
    if language == "c":
        subprocess.run(build.split(), cwd=tau.project, check=True)
    run = f"{build} && ./main" if language == "c" else f"{sys.executable} main.py"
    tau.script(
        Call("debug", {"action": "launch", "program": program, "file": name, "line": line}, id="launch"),
        Call("debug", {"action": "step_over"}, id="step"),
        Call("debug", {"action": "continue"}, id="continue"),
        Call("debug", {"action": "terminate"}, id="end"),
        Call("write", {"path": name, "content": source.replace(*change)}, id="fix"),
        Call("bash", {"command": run}, id="run"),
        "Fixed.",
    )
    ran = tau.ask("the total is wrong")
    assert (ran.stdout, ran.stderr) == ("Fixed.\n", "")
    results = told(tau)
    assert "Stopped: breakpoint" in results["launch"] and seen in results["launch"]
    assert f"> {line}" in results["launch"]
    assert "Stopped: step" in results["step"]
    assert results["run"].strip().startswith("6")
