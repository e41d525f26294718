"""Python cells in a real kernel: values, output, errors, display."""

import asyncio
import base64
import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest

from tau.backends.kernels import cells
from tests.backends.kernels.kernel_rig import World, in_world, run_cells

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_variables_and_functions_persist_across_cells(tmp_path: Path) -> None:
    *_, last = run_cells(
        tmp_path, "x = 20", "def double(n):\n    return 2 * n", "import math", "double(x) + math.floor(2.5)"
    )
    assert (last.text, last.end.status, last.end.exit_code) == ("42\n", "ok", 0)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 + 1", "2\n"),
        ("'a'", "'a'\n"),
        ("None", ""),
        ("x = 5", ""),
        ("x = 5\nx", "5\n"),
        ("5;", ""),
        ("", ""),
        ("# only a remark", ""),
        ("print('a'); 'b'", "a\n'b'\n"),
        ("for i in range(2): print(i)", "0\n1\n"),
        ("1\n2", "2\n"),
        ("__name__", "'__main__'\n"),
        ("import sys; sys.argv", "['']\n"),
        ("print('ünï \\udc80')", "ünï \\udc80\n"),
    ],
)
def test_value_of_the_last_line_is_shown(tmp_path: Path, code: str, text: str) -> None:
    (ran,) = run_cells(tmp_path, code)
    assert (ran.text, ran.end.status) == (text, "ok")


def test_last_value_has_a_name(tmp_path: Path) -> None:
    assert run_cells(tmp_path, "6 * 7", "_ + 1")[1].text == "43\n"


def test_top_level_await_works_and_tasks_continue_between_cells(tmp_path: Path) -> None:
    begin = """
import asyncio
count = 0
async def tick():
    global count
    while True:
        count += 1
        await asyncio.sleep(0.001)
ticking = asyncio.create_task(tick())
await asyncio.sleep(0)
"""
    wait = "import time\nbefore = count\ntime.sleep(0)\nbefore"
    more = "while count < before + 3:\n    await asyncio.sleep(0.001)\nticking.cancel()\ncount > before"
    *_, last = run_cells(tmp_path, begin, wait, more)
    assert last.text == "True\n"


def test_create_task_works_in_a_cell_without_await_as_in_jupyter(tmp_path: Path) -> None:
    begin = "import asyncio\nasync def work():\n    return 3\ntask = asyncio.create_task(work())"
    first, second, third = run_cells(tmp_path, begin, "asyncio.get_running_loop().is_running()", "await task")
    assert (first.end.status, first.text) == ("ok", "")
    assert (second.text, third.text) == ("True\n", "3\n")


def test_library_that_needs_a_running_loop_finds_one(tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text("import asyncio\nloop = asyncio.get_running_loop()\n")
    (ran,) = run_cells(tmp_path, "import needy\nneedy.loop.is_running()")
    assert ran.text == "True\n"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("x = 1\n!ls -l", "run a command with subprocess.run or the tool bash"),
        ("files = !ls", "run a command with subprocess.run or the tool bash"),
        ("%matplotlib inline\nx = 1", "there are no `%` magics"),
        ("%%time\nx = 1", "there are no `%` magics"),
    ],
)
def test_ipython_syntax_gets_a_hint(tmp_path: Path, code: str, text: str) -> None:
    ran, after = run_cells(tmp_path, code, "if:")
    assert ran.end.status == "error" and "SyntaxError" in ran.text and text in ran.text
    assert "plain Python" not in after.text


@pytest.mark.parametrize("import_", ["import os", "import os, asyncio\nawait asyncio.sleep(0)"])
@pytest.mark.parametrize("rest", ["", "if not pid: raise ValueError('in the fork')", "if not pid: exit(3)"])
def test_fork_in_a_cell_does_not_answer_for_the_kernel(tmp_path: Path, import_: str, rest: str) -> None:
    fork = f"{import_}\npid = os.fork()\n{rest}"
    wait = "code = os.waitpid(pid, 0)[1]\nprint('parent', os.waitstatus_to_exitcode(code))"
    forked, waited, last = run_cells(tmp_path, fork, wait, "1 + 1")
    assert (forked.end.status, last.text) == ("ok", "2\n")
    assert waited.text.splitlines()[-1] == f"parent {3 if 'exit' in rest else 1 if rest else 0}"


def test_fork_in_a_background_task_does_not_answer_for_the_kernel(tmp_path: Path) -> None:
    begin = """
import asyncio, os
async def later():
    global pid
    await asyncio.sleep(0.01)
    pid = os.fork()
    open('forked', 'w').close()
pid = None
task = asyncio.create_task(later())
"""

    async def work(made: World) -> None:
        await made.run(begin)
        while not (tmp_path / "forked").exists():  # noqa: ASYNC110 - files do not notify
            await asyncio.sleep(0.005)
        waited = await made.run("os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
        assert (waited.text, (await made.run("1 + 1")).text) == ("0\n", "2\n")

    in_world(tmp_path, work)


def test_asyncio_run_works_in_a_cell_without_await(tmp_path: Path) -> None:
    code = "import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    return 3\nasyncio.run(work())"
    first, second = run_cells(tmp_path, "import asyncio\nawait asyncio.sleep(0, 2)", code)
    assert (first.text, second.text) == ("2\n", "3\n")


def test_output_of_children_and_descriptors_comes_in_order(tmp_path: Path) -> None:
    code = """
import os, sys, subprocess
print('one')
os.write(1, b'two\\n')
subprocess.run(['sh', '-c', 'echo three >&2'])
print('four', file=sys.stderr)
print('five', end='')
"""
    (ran,) = run_cells(tmp_path, code)
    assert ran.text == "one\ntwo\nthree\nfour\nfive"


def test_output_of_c_code_is_captured(tmp_path: Path) -> None:
    (ran,) = run_cells(tmp_path, "import ctypes\nctypes.CDLL(None).printf(b'from C\\n');")
    assert ran.text == "from C\n"


def test_error_has_no_internal_frames(tmp_path: Path) -> None:
    _, ran = run_cells(tmp_path, "def half(n):\n    return 1 / n", "half(0)")
    assert ran.end.status == "error" and ran.end.exit_code == 1
    lines = [line for line in ran.text.splitlines() if line.strip("~^ ")]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "<cell 2>", line 1, in <module>',
        "    half(0)",
        '  File "<cell 1>", line 2, in half',
        "    return 1 / n",
        "ZeroDivisionError: division by zero",
    ]


def test_only_the_last_library_frame_is_shown(tmp_path: Path) -> None:
    (ran,) = run_cells(tmp_path, "import json\njson.loads('{')")
    assert ran.text.count("  File ") == 2
    assert "raw_decode" in ran.text or "decoder.py" in ran.text
    assert ran.last.startswith("json.decoder.JSONDecodeError")


@pytest.mark.parametrize("code", ["1 +", "def f(:\n  pass", "  x = 1", "'unclosed"])
def test_syntax_error_says_where(tmp_path: Path, code: str) -> None:
    (ran,) = run_cells(tmp_path, code)
    assert ran.end.status == "error"
    assert 'File "<cell 1>", line 1' in ran.text and "Traceback" not in ran.text


def test_error_does_not_end_the_kernel(tmp_path: Path) -> None:
    *_, last = run_cells(tmp_path, "x = 1", "raise ValueError('no')", "x")
    assert last.text == "1\n"


@pytest.mark.parametrize(
    ("code", "status", "exit_code", "text"),
    [
        ("import sys; sys.exit()", "ok", 0, ""),
        ("import sys; sys.exit(3)", "error", 3, ""),
        ("exit_text = 'gone'\nraise SystemExit(exit_text)", "error", 1, "gone\n"),
    ],
)
def test_exiting_a_cell_early_keeps_the_kernel(
    tmp_path: Path, code: str, status: str, exit_code: int, text: str
) -> None:
    _, ran, after = run_cells(tmp_path, "x = 1", code, "x")
    assert (ran.end.status, ran.end.exit_code, ran.text) == (status, exit_code, text)
    assert after.text == "1\n"


@pytest.mark.parametrize(
    "code", ["input('name? ')", "import sys; sys.stdin.readline()", "import sys\nfor line in sys.stdin: pass"]
)
def test_reading_stdin_fails(tmp_path: Path, code: str) -> None:
    (ran,) = run_cells(tmp_path, code)
    assert ran.end.stdin_wanted and ran.end.exit_code == 1
    assert ran.last == "EOFError: Kernel requested stdin; interactive input is not supported."


def test_reading_stdin_fails_even_if_the_cell_continues(tmp_path: Path) -> None:
    (ran,) = run_cells(tmp_path, "try:\n    input()\nexcept EOFError:\n    print('went on')")
    assert (ran.end.status, ran.end.exit_code, ran.end.stdin_wanted) == ("error", 1, True)


def test_displayed_values_appear_in_order_with_the_text(tmp_path: Path) -> None:
    order: list[str] = []

    async def work(made: World) -> None:
        made.seen = lambda event: order.append(
            event.data.decode().strip() if isinstance(event, cells.TextOutput) else type(event).__name__
        )
        await made.run(
            "print('a')\ndisplay({'k': [1]})\nprint('b')\ndisplay(Markdown('# m'))\nHTML('<b>h</b>')"
        )

    in_world(tmp_path, work)
    assert [one for one in order if one] == ["a", "JsonOutput", "b", "MarkdownOutput", "HtmlOutput"]


def test_values_use_their_richest_representation(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PNG)
    forms = """
class Png:
    def _repr_png_(self): return open('dot.png', 'rb').read()
class Mark:
    def _repr_markdown_(self): return '*m*'
class Page:
    def _repr_html_(self): return '<i>p</i>'
class Table(Page):
    def __repr__(self): return 'a table'
class Data:
    def _repr_json_(self): return {'d': 1}
class Bundle:
    def _repr_mimebundle_(self, **_): return {'text/markdown': '**b**', 'text/plain': 'b'}
class Broken:
    def _repr_html_(self): raise ValueError
    def __repr__(self): return 'plain'
"""
    _, *ran = run_cells(
        tmp_path,
        forms,
        *(
            "Png()",
            "Mark()",
            "Page()",
            "Table()",
            "Data()",
            "Bundle()",
            "Broken()",
            "open('dot.png', 'rb').read()",
        ),
        "display({'type': 'image', 'data': open('dot.png', 'rb').read()})",
        "display(1, 'two', (3, {'x': None}), {4}, [float('nan')], [object])",
    )
    picture = cells.ImageOutput(base64.b64encode(PNG).decode(), "image/png")
    assert [one.events for one in ran[:9]] == [
        [picture],
        [cells.MarkdownOutput("*m*")],
        [cells.HtmlOutput("<i>p</i>")],
        [],
        [cells.JsonOutput({"d": 1})],
        [cells.MarkdownOutput("**b**")],
        [],
        [picture],
        [picture],
    ]
    assert (ran[3].text, ran[6].text) == ("a table\n", "plain\n")
    assert ran[9].text == "1\ntwo\n{4}\n[nan]\n[<class 'object'>]\n"
    assert ran[9].events == [cells.JsonOutput([3, {"x": None}])]


FAKE_PYPLOT = """
class Figure:
    def __init__(self, number): self.number = number
    def savefig(self, file, format, **_): file.write(PNG)
Figure.__module__ = "matplotlib.figure"
import base64
PNG = base64.b64decode("{data}")
figures = {{}}
def figure(number): return figures.setdefault(number, Figure(number))
def get_fignums(): return list(figures)
def close(which): figures.clear() if which == "all" else figures.pop(which.number)
"""


def test_figures_are_shown_after_the_cell_and_closed(tmp_path: Path) -> None:
    folder = tmp_path / "matplotlib"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "pyplot.py").write_text(FAKE_PYPLOT.format(data=base64.b64encode(PNG).decode()))
    drawn, nothing, named, backend = run_cells(
        tmp_path,
        "import matplotlib.pyplot as plt\nplt.figure(1)\nplt.figure(2)\nprint('drawn')",
        "plt.get_fignums()",
        "plt.figure(7)",
        "import os; os.environ['MPLBACKEND']",
    )
    assert [type(event) for event in drawn.events] == [cells.ImageOutput, cells.ImageOutput]
    assert (drawn.text, nothing.text, nothing.events) == ("drawn\n", "[]\n", [])
    assert len(named.events) == 1 and backend.text == "'Agg'\n"


def test_helpers_work(tmp_path: Path) -> None:
    ran = run_cells(
        tmp_path,
        "write('a/one.txt', 'b\\na\\nb\\n'); append('a/one.txt', 'c\\n'); read('a/one.txt')",
        "read('a/one.txt', offset=2, limit=2)",
        "sort('b\\na\\nb'), sort('b\\na\\nb', reverse=True, unique=True)",
        "uniq('a\\na\\nb\\na'), uniq('a\\na\\nb', count=True)",
        "counter('a\\nb\\na'), counter([1, 1, 2], limit=1), counter('a\\nb\\na', reverse=True)",
        "write('.hidden', ''); print(tree('.')); print(tree('.', max_depth=1, hidden=True))",
        "write('b.txt', 'b\\nA\\nb\\nc\\n'); print(diff('a/one.txt', 'b.txt'))",
        "env('NEW', 'value'), env('NEW'), env('MISSING'), env()['NEW']",
        "log('half'); phase('two')",
        "read('https://example.com')",
    )
    assert ran[0].text == "'b\\na\\nb\\nc\\n'\n" and ran[1].text == "'a\\nb\\n'\n"
    assert ran[2].text == "('a\\nb\\nb', 'b\\na')\n"
    assert ran[3].text == "('a\\nb\\na', [(2, 'a'), (1, 'b')])\n"
    assert ran[4].text == "([(2, 'a'), (1, 'b')], [(2, 1)], [(1, 'b'), (2, 'a')])\n"
    assert ran[5].text == f"{tmp_path}\n  a/\n    one.txt\n{tmp_path}\n  a/\n  .hidden\n"
    assert ran[6].text == "--- a/one.txt\n+++ b.txt\n@@ -1,4 +1,4 @@\n b\n-a\n+A\n b\n c\n\n"
    assert ran[7].text == "('value', 'value', None, 'value')\n"
    events = [event.event for event in ran[8].events if isinstance(event, cells.StatusOutput)]
    assert events == [{"op": "log", "message": "half"}, {"op": "phase", "title": "two"}]
    assert ran[0].events[0] == cells.StatusOutput(
        {"op": "write", "path": str(tmp_path / "a/one.txt"), "chars": 6}
    )
    assert "is a URL" in ran[9].last


def test_sources_are_available_to_inspect(tmp_path: Path) -> None:
    *_, last = run_cells(
        tmp_path, "1", "def f():\n    return 'the source'", "import inspect\nprint(inspect.getsource(f))"
    )
    assert "return 'the source'" in last.text


def test_classes_defined_in_cells_can_be_pickled(tmp_path: Path) -> None:
    *_, last = run_cells(
        tmp_path, "class A:\n    pass", "import pickle\ntype(pickle.loads(pickle.dumps(A()))) is A"
    )
    assert last.text == "True\n"


def test_project_modules_are_found_and_not_shadowed_by_ours(tmp_path: Path) -> None:
    for name in ("core", "prelude", "loop", "bridge"):
        (tmp_path / f"{name}.py").write_text(f"mine = {name!r}")
    *_, last = run_cells(
        tmp_path,
        "tree()",
        "import core, prelude, loop, bridge",
        "core.mine, prelude.mine, loop.mine, bridge.mine",
    )
    assert last.text == "('core', 'prelude', 'loop', 'bridge')\n"


def test_zero_bytes_and_invalid_text_pass_through(tmp_path: Path) -> None:
    seen = bytearray()

    async def work(made: World) -> None:
        made.seen = lambda event: seen.extend(event.data) if isinstance(event, cells.TextOutput) else None
        await made.kernels.run_python(
            "import os\nfor i in range(100): os.write(1, bytes(range(256)))", cwd=tmp_path, listen=made.seen
        )

    in_world(tmp_path, work)
    assert bytes(seen) == bytes(range(256)) * 100


def test_output_between_cells_belongs_to_the_next_one(tmp_path: Path) -> None:
    begin = """
import os, threading, time
def late():
    while not os.path.exists('go'):
        time.sleep(0.001)
    print('late')
thread = threading.Thread(target=late)
thread.start()
"""

    async def work(made: World) -> None:
        await made.run(begin)
        (tmp_path / "go").touch()
        assert (await made.run("thread.join()")).text == "late\n"

    in_world(tmp_path, work)


def test_forked_process_does_not_speak_for_the_kernel(tmp_path: Path) -> None:
    code = """
import os
pid = os.fork()
if pid == 0:
    try:
        tool.read(path='x')
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(pid, 0);
"""
    ran, after = run_cells(tmp_path, code, "1 + 1")
    assert "Only the kernel process" in ran.text and after.text == "2\n"


def test_children_do_not_inherit_the_channel(tmp_path: Path) -> None:
    child = "import os; print('TAU_KERNEL' in os.environ, sorted(os.listdir('/proc/self/fd')))"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}]);"
    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - a plain look
        pytest.skip("there is no /proc here to see descriptors in")
    (ran,) = run_cells(tmp_path, code)
    assert ran.text == "False ['0', '1', '2', '3']\n"


def other_pythons() -> list[str]:
    """Interpreters of other versions on this machine."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    found = [shutil.which(f"python3.{minor}") for minor in range(8, 20)]
    system = [path for path in found if path is not None and "shims" not in path]
    pyenv = [str(path) for path in home.glob(".pyenv/versions/3.[89].*/bin/python")]
    pyenv += [str(path) for path in home.glob(".pyenv/versions/3.1*/bin/python")]
    own = Path(sys.executable).resolve()
    return sorted({path for path in (*system, *pyenv) if Path(path).resolve() != own})


@pytest.mark.parametrize("python", other_pythons() or [""])
def test_older_and_newer_pythons_run_cells_too(tmp_path: Path, python: str) -> None:
    if not python:
        pytest.skip("there is no other Python on this machine")

    async def work(made: World) -> None:
        await made.run("import asyncio\nx = await asyncio.sleep(0, 20)")
        assert (await made.run("x + sum(parallel([lambda: 1, lambda: 2]))")).text == "23\n"
        failed = await made.run("def f():\n    return 1 / 0\nf()")
        assert failed.last == "ZeroDivisionError: division by zero" and "guest" not in failed.text
        shown = await made.run("display({'a': 1}); write('x', tree()); counter('a\\nb')")
        assert cells.JsonOutput({"a": 1}) in shown.events
        stopped = await made.run("import time\ntime.sleep(600)", timeout_s=0.2)
        assert (stopped.end.status, stopped.end.lost) == ("interrupted", False)
        assert (await made.run("x")).text == "20\n"

    in_world(tmp_path, work, python=python)
