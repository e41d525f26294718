"""debug with real adapters: programs stop where they should, whatever they do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tau.ai.faux import Use
from tests.backends.dap.adapters import js_debug, require_program
from tests.coding.tools.killed import assert_nothing_lives_after_a_kill
from tests.coding.tools.test_debug import debug, write_adapters
from tests.coding.tools.test_lsp import results
from tests.support.free_ports import free_port

LOOP = """\
import sys
import threading
import time

import helper


def work(n):
    total = helper.double(n)
    return total


if sys.argv[1] == "loop":
    while True:
        time.sleep(0.01)
if sys.argv[1] == "threads":
    workers = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
if sys.argv[1] == "fail":
    {}["missing"]
for n in range(5):
    work(n)
print("done", file=sys.stderr)
"""
HELPER = "def double(n):\n    result = n * 2\n    return result\n"
PARENT = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\nprint('parent done')\n"
CHILD = "secret = 42\nprint('child')\n"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A folder with programs, and debugpy from where the tests run."""
    write_adapters(debugpy={"command": sys.executable})
    (tmp_path / "main.py").write_text(LOOP)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "child.py").write_text(CHILD)
    return tmp_path


def test_python_stops_in_a_file_that_is_not_loaded_yet(python: Path) -> None:
    started, placed, first, again, value, ended, output = results(
        python,
        debug("launch", program="main.py", args=["run"]),
        debug("set_breakpoint", file="helper.py", line=2, condition="n > 1"),
        debug("continue"),
        debug("step_out"),
        debug("evaluate", expression="n * 100"),
        debug("remove_breakpoint", file="helper.py", line=2),
        debug("continue"),
    )
    assert "Stopped: entry in <module> at main.py:1" in started
    assert "helper.py:2 if n > 1: set" in placed
    assert "Stopped: breakpoint in double at helper.py:2" in first and "> 2     result = n * 2" in first
    assert "  n: int = 2" in first and "work at main.py:9" in first
    assert "in work at main.py:9" in again
    assert value == "200 (int)"
    assert ended == "No source breakpoints in helper.py."
    assert "The program ended with exit code 0." in output and "[stderr] done" in output


def test_python_counts_hits_and_logs(python: Path) -> None:
    hit, logs, ended = results(
        python,
        debug("launch", program="main.py", args=["run"], file="helper.py", line=3, hit_condition="3"),
        debug("set_breakpoint", file="helper.py", line=2, log_message="n is {n}"),
        debug("continue"),
    )
    assert "  n: int = 2" in hit
    assert "helper.py:2 logs n is {n}: set" in logs
    assert "n is 3" in ended and "n is 4" in ended and "ended with exit code 0" in ended


@pytest.mark.soak
def test_python_stops_at_an_uncaught_exception(python: Path) -> None:
    _, raised, _ = results(
        python,
        debug("launch", program="main.py", args=["fail"]),
        debug("continue"),
        debug("terminate"),
    )
    assert "Stopped: exception (KeyError: 'missing')" in raised and '> 23     {}["missing"]' in raised


@pytest.mark.soak
def test_python_threads_and_an_endless_loop(python: Path) -> None:
    stopped, threads, _ = results(
        python,
        debug("launch", program="main.py", args=["threads"], function="double", file=None),
        debug("threads"),
        debug("terminate"),
    )
    assert "in double at helper.py" in stopped
    assert "worker-0" in threads or "worker-1" in threads
    _, running, paused, _ = results(
        python,
        debug("launch", program="main.py", args=["loop"]),
        debug("continue", timeout=5),
        debug("pause"),
        debug("terminate"),
    )
    assert "The program is running" in running
    assert "Stopped: pause" in paused and "main.py:1" in paused


@pytest.mark.soak
def test_python_children_stop_at_breakpoints_too(python: Path) -> None:
    child, locals_, ended = results(
        python,
        debug("launch", program="parent.py", file="child.py", line=2),
        debug("evaluate", expression="secret"),
        debug("continue"),
    )
    assert "Stopped: breakpoint in <module> at child.py:2" in child
    assert locals_ == "42 (int)"
    assert "parent done" in ended


C = """\
#include <stdio.h>
static int add(int a, int b) {
  int sum = a + b;
  return sum;
}
int main(void) {
  int total = 0;
  for (int i = 0; i < 4; i++)
    total = add(total, i);
  printf("%d\\n", total);
  return 3;
}
"""


def test_c_stops_in_functions_and_at_changed_data(tmp_path: Path) -> None:
    require_program("lldb-dap-19", "cc")
    (tmp_path / "main.c").write_text(C)
    subprocess.run(["cc", "-g", "-O0", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    stopped, code, out, info, end = results(
        tmp_path,
        debug("launch", program="main", file="main.c", line=4, condition="b == 2", adapter="lldb-dap"),
        debug("disassemble", instruction_count=3),
        debug("step_out"),
        debug("data_breakpoint_info", name="total"),
        debug("continue"),
    )
    assert "Stopped: breakpoint" in stopped and "> 4   return sum;" in stopped and "  sum: int = 3" in stopped
    assert "0x" in code
    assert "in main at main.c:9" in out
    assert "data_id" in info
    assert "The program ended with exit code 3." in end and "[stdout] 6" in end


GO = """\
package main

import "fmt"

func add(a, b int) int {
	sum := a + b
	return sum
}

func main() {
	total := 0
	for i := 0; i < 4; i++ {
		total = add(total, i)
	}
	fmt.Println(total)
}
"""


@pytest.mark.soak
@pytest.mark.timeout(180)
def test_go_stops_at_a_condition(tmp_path: Path) -> None:
    require_program("dlv", "go")
    (tmp_path / "go.mod").write_text("module example\n\ngo 1.19\n")
    (tmp_path / "main.go").write_text(GO)
    stopped, value, end = results(
        tmp_path,
        debug("launch", program="main.go", file="main.go", line=7, condition="b == 2", timeout=170),
        debug("evaluate", expression="sum"),
        debug("continue"),
    )
    assert "in main.add at main.go:7" in stopped and "  sum: int = 3" in stopped
    assert value.startswith("3")
    assert "[stdout] 6" in end


JS = """\
function add(a, b) {
  const sum = a + b;
  return sum;
}
let total = 0;
for (let i = 0; i < 4; i++) total = add(total, i);
console.log(total);
"""


def test_javascript_stops_through_its_child_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(js_debug(tmp_path / "bin")), prepend=os.pathsep)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "main.js").write_text(JS)
    stopped, value, _, end = results(
        folder,
        debug("launch", program="main.js", file="main.js", line=3, condition="b === 2"),
        debug("evaluate", expression="sum"),
        debug("remove_breakpoint", file="main.js", line=3),
        debug("continue"),
    )
    assert "Stopped: breakpoint" in stopped and "at main.js:3" in stopped and "  sum: number = 3" in stopped
    assert value == "3 (number)"
    assert "[stdout] 6" in end


def test_a_killed_tau_leaves_no_debugger_behind(python: Path) -> None:
    """Neither the adapter nor the program."""
    call = {"action": "launch", "program": "main.py", "args": ["loop"], "file": "main.py", "line": 14}
    assert_nothing_lives_after_a_kill(python, "debug", call)


@pytest.mark.soak
def test_python_that_waits_at_a_port_is_let_go_afterwards(python: Path) -> None:
    port = free_port()
    listen = f"{sys.executable} -m debugpy --listen 127.0.0.1:{port} --wait-for-client main.py loop"
    _, attached, paused, _, alive = results(
        python,
        Use("bash", command=f"{listen} > /dev/null 2>&1 & P=$!"),
        debug("attach", port=port),
        debug("pause"),
        debug("terminate"),
        Use("bash", command="kill -0 $P && echo alive; kill $P"),
    )
    assert attached.startswith("Attached with debugpy.")
    assert "Stopped: pause" in paused and "main.py:1" in paused
    assert "alive" in alive
