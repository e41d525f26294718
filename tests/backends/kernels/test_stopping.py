"""Cells that do not end, kernels that do: time limits, aborts, crashes, and no leftovers."""

import asyncio
import gc
import os
import signal
from pathlib import Path

import pytest

from tau.backends.kernels.cells import KernelError
from tests.backends.kernels.kernel_rig import (
    NEVER,
    World,
    in_world,
    is_alive,
    needs_node,
    quick_limits,
    run_cells,
    until,
)
from tests.support.limits import growing

STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(600)",
        "while True: pass",
        "import asyncio\nawait asyncio.sleep(600)",
        "async def spin():\n    while True: pass\nawait spin()",
        "import threading\nthreading.Event().wait()",
        "import subprocess\nsubprocess.run(['sleep', '60'])",
        "import os\nos.system('sleep 600')",
        "sum(i for i in iter(int, 1))",
    ],
)
def test_time_limit_interrupts_the_cell_and_keeps_the_variables(tmp_path: Path, code: str) -> None:
    async def work(made: World) -> None:
        await made.run("x = 5")
        text, limit_s = "", 0.15
        while not text:  # on a busy machine, the limit may pass before the first line runs
            stopped = await made.run(f"print('begun')\n{code}", timeout_s=limit_s)
            assert (stopped.end.status, stopped.end.timed_out) == ("interrupted", True), stopped
            text, limit_s = stopped.text, limit_s * 2
        assert not stopped.end.lost and text.startswith("begun\n")
        assert (await made.run("x")).text == "5\n"

    in_world(tmp_path, work)


# Without the word `import`, for which the kernel would load everything first.
SLOW_IMPORT = """
x = 5
load = getattr(__builtins__, "__imp" "ort__")
class Slow:
    def find_spec(self, name, *_):
        if name == "asyncio":
            end = load("time").monotonic() + 2.5
            while load("time").monotonic() < end:
                load("time").sleep(0.01)
load("sys").meta_path.insert(0, Slow())
"""


def test_time_limit_of_a_cell_that_has_not_begun_keeps_the_variables(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        await made.run(SLOW_IMPORT)  # after it, the kernel imports asyncio
        stopped = await made.run("while True: pass", timeout_s=0.1)
        assert (stopped.end.status, stopped.end.timed_out, stopped.end.lost) == ("interrupted", True, False)
        assert (await made.run("x")).text == "5\n"

    in_world(tmp_path, work)


def test_unresponsive_cell_loses_its_kernel(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        await made.run("x = 5")
        stopped = await made.run(STUBBORN, timeout_s=0.1)
        assert (stopped.end.status, stopped.end.lost) == ("interrupted", True)
        after = await made.run("'x' in globals()")
        assert after.text == (
            "[The Python kernel was restarted: it had to be ended. All variables are lost.]\nFalse\n"
        )

    in_world(tmp_path, work)


def test_only_the_next_cell_waits_for_an_unresponsive_one(tmp_path: Path) -> None:
    code = STUBBORN.replace("while True:", "open('begun', 'w').close()\nwhile True:")

    async def work(made: World) -> None:
        running = asyncio.ensure_future(made.run(code))
        await until((tmp_path / "begun").exists)
        [slot] = made.kernels._slots.values()
        kernel = slot.kernel
        assert kernel is not None
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert kernel.alive and kernel.stopping is not None
        after = await made.run("1 + 1")
        assert not kernel.alive and kernel.stopping is None
        assert after.text == (
            "[The Python kernel was restarted: it had to be ended. All variables are lost.]\n2\n"
        )

    in_world(tmp_path, work)


@pytest.mark.parametrize("code", ["import time\ntime.sleep(600)", STUBBORN], ids=["obeys", "does not"])
def test_abort_stops_the_cell_and_its_processes(tmp_path: Path, code: str) -> None:
    begin = "import subprocess\nchild = subprocess.Popen(['sleep', '61'])\n"
    begin += "open('pid', 'w').write(str(child.pid))\n"

    async def work(made: World) -> None:
        running = asyncio.ensure_future(made.run(begin + code))
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until(lambda: not is_alive(int((tmp_path / "pid").read_text())))
        assert (await made.run("1 + 1")).text.endswith("2\n")

    in_world(tmp_path, work)


def test_late_interrupt_does_no_harm(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        pid = int((await made.run("import os\nos.getpid()")).text)
        for _ in range(5):
            os.kill(pid, signal.SIGINT)
            assert (await made.run("1")).text == "1\n"
        await made.run("import asyncio\nawait asyncio.sleep(0)")
        for _ in range(5):
            os.kill(pid, signal.SIGINT)
            assert (await made.run("2")).text == "2\n"

    in_world(tmp_path, work)


def test_time_limit_pauses_while_the_host_works(tmp_path: Path) -> None:
    class SlowHost:
        pause_s = 0.0

        async def concurrency(self) -> int:
            await asyncio.sleep(self.pause_s)
            return 2

    host = SlowHost()

    async def work(made: World) -> None:
        for limit_s in growing(0.3):
            host.pause_s = limit_s + 0.05
            ran = await made.run("parallel([lambda: 1])", timeout_s=limit_s)
            if not ran.end.timed_out:
                break
        assert (ran.end.status, ran.text) == ("ok", "[1]\n")
        late = await made.run("parallel([lambda: 1])\nimport time\ntime.sleep(600)", timeout_s=0.3)
        assert late.end.timed_out

    in_world(tmp_path, work, host=host)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os._exit(3)", "it exited with code 3"),
        ("import os; os.kill(os.getpid(), 9)", "it was killed by signal SIGKILL"),
        ("import os; os.closerange(3, 100)", "it was killed by signal SIGKILL"),
    ],
)
def test_dead_kernel_is_reported_and_restarted_once(tmp_path: Path, code: str, reason: str) -> None:
    async def work(made: World) -> None:
        died = await made.run(code)
        assert died.end.status == "died" and died.end.lost
        if "closerange" not in code:
            assert died.end.reason == reason
        again = await made.run("1")
        assert again.text.startswith("[The Python kernel was restarted: ") and again.text.endswith("1\n")
        await made.run(code)
        with pytest.raises(KernelError, match="died 2 times"):
            await made.run("1")
        assert (await made.run("1", reset=True)).text == "1\n"

    in_world(tmp_path, work)


def test_processes_of_a_dead_kernel_are_killed(tmp_path: Path) -> None:
    code = (
        "import os, subprocess\none = subprocess.Popen(['sleep', '62'])\n"
        "two = subprocess.Popen(['sleep', '62'], start_new_session=True)\n"
        "open('pids', 'w').write(f'{one.pid} {two.pid}')\nos._exit(1)"
    )
    (ran,) = run_cells(tmp_path, code)
    assert ran.end.status == "died"
    assert not any(is_alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def wait_for_death(pid: int) -> None:
    """Blocks the event loop, so that it does not learn of it."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_kernel_that_died_while_idle_is_restarted(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        pid = int((await made.run("import os\nos.getpid()")).text)
        os.kill(pid, signal.SIGKILL)
        wait_for_death(pid)
        again = await made.run("1")
        assert again.text.startswith("[The Python kernel was restarted: it ") and again.text.endswith("\n1\n")

    in_world(tmp_path, work)


def test_unresponsive_kernel_is_killed(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        pid = int((await made.run("import os\nos.getpid()")).text)
        os.kill(pid, signal.SIGSTOP)
        await until(lambda: not is_alive(pid))
        assert "stopped responding" in (await made.run("1")).text

    in_world(tmp_path, work, limits=quick_limits())


def test_unused_kernel_is_stopped(tmp_path: Path) -> None:
    moment, looks = [0.0], []

    def clock() -> float:
        looks.append(moment[0])
        return moment[0]

    async def work(made: World) -> None:
        pid = int((await made.run("import os\nos.getpid()")).text)
        moment[0] = 299.0
        await until(lambda: looks.count(299.0) == 2)
        assert is_alive(pid)
        moment[0] = 601.0
        await until(lambda: not is_alive(pid))
        assert "was idle for 5 minutes" in (await made.run("1")).text

    in_world(tmp_path, work, limits=quick_limits(), clock=clock)


def test_fifth_session_replaces_the_least_recently_used(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        pids = {}
        for session in "abcd":
            pids[session] = int((await made.run("import os\nos.getpid()", session=session)).text)
        await made.run("1", session="a")
        await made.run("1", session="e")
        assert [is_alive(pids[session]) for session in "abcd"] == [True, False, True, True]
        assert "another session needed its slot" in (await made.run("1", session="b")).text

    in_world(tmp_path, work)


def test_five_sessions_cannot_run_at_once(tmp_path: Path) -> None:
    code = "import os, time\nopen(f'on-{os.getpid()}', 'w').close()\n"
    code += "while not os.path.exists('go'): time.sleep(0.01)"

    async def work(made: World) -> None:
        busy = [asyncio.ensure_future(made.run(code, session=session)) for session in "abcd"]
        await until(lambda: len(list(tmp_path.glob("on-*"))) == 4)
        with pytest.raises(KernelError, match="4 Python kernels are busy"):
            await made.run("1", session="e")
        (tmp_path / "go").touch()
        assert {ran.end.status for ran in await asyncio.gather(*busy)} == {"ok"}

    in_world(tmp_path, work)


def test_cells_of_one_session_wait_for_each_other(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        await made.run("seen = []")
        await asyncio.gather(
            *(made.run(f"seen.append({n})\nimport time\ntime.sleep(0.01)") for n in range(5))
        )
        assert (await made.run("seen")).text == "[0, 1, 2, 3, 4]\n"

    in_world(tmp_path, work)


def test_reset_forgets_everything(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        await made.run("x = 1")
        assert (await made.run("'x' in globals()", reset=True)).text == "False\n"

    in_world(tmp_path, work)


def test_kernel_per_call_keeps_nothing(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        first = await made.run("x = 1\nimport os\nos.getpid()")
        assert not is_alive(int(first.text))
        assert (await made.run("'x' in globals()")).text == "False\n"

    in_world(tmp_path, work, mode="per-call")


def test_forgetting_a_session_stops_its_kernels(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        pid = int((await made.run("import os\nos.getpid()", session="s")).text)
        await made.kernels.forget("s")
        assert not is_alive(pid)

    in_world(tmp_path, work)


def test_closing_stops_a_running_cell(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        running = asyncio.ensure_future(
            made.run("open('pid', 'w').write(str(__import__('os').getpid()))\nwhile True: pass")
        )
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        running.cancel()
        await asyncio.wait([running])

    in_world(tmp_path, work)
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_kernel_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such luck' >&2\nexit 4\n")
    broken.chmod(0o755)

    async def work(made: World) -> None:
        with pytest.raises(KernelError, match=r"exited during startup\. Output: no such luck"):
            await made.run("1")

    in_world(tmp_path, work, python=str(broken))


def test_long_output_blocks_nothing(tmp_path: Path) -> None:
    async def work(made: World) -> None:
        code = "import sys\nfor _ in range(300): sys.stdout.write('x' * 65536)\n"
        code += "display({'a': 'y' * 1_000_000})\nprint('end')"
        ran = await made.run(code)
        assert len(ran.text) == 300 * 65536 + 4 and len(ran.events) == 1

    in_world(tmp_path, work)


def descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.soak)])
def test_nothing_leaks(tmp_path: Path, count: int) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("there is no /proc here to count descriptors in")

    async def work(made: World) -> None:
        await made.run("import os, threading")
        used = "len(os.listdir('/proc/self/fd')), threading.active_count()"
        before = (await made.run(used)).text, descriptors(), len(asyncio.all_tasks())
        for number in range(count):
            code = ("1 / 0", "display([1])", "parallel([lambda: 1, lambda: 2])", "print('x')")[number % 4]
            await made.run(code)
        assert ((await made.run(used)).text, descriptors(), len(asyncio.all_tasks())) == before
        kernel = next(iter(made.kernels._slots.values())).kernel
        assert kernel is not None and not kernel._shown and not kernel._late

    in_world(tmp_path, work)


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.soak)])
def test_short_lived_kernels_leave_nothing_behind(tmp_path: Path, count: int) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("there is no /proc here to count descriptors in")

    async def work(made: World) -> None:
        await made.run("1", reset=True)
        before = descriptors(), len(asyncio.all_tasks())
        for _ in range(count):
            await made.run("1", reset=True)
        assert (descriptors(), len(asyncio.all_tasks())) == before

    in_world(tmp_path, work)


@needs_node
@pytest.mark.parametrize(
    ("code", "lost"),
    [
        ("while (true) {}", False),
        ("await new Promise(() => {})", True),
        ("await 0; while (true) {}", True),
    ],
)
def test_time_limit_stops_javascript_too(tmp_path: Path, code: str, lost: bool) -> None:
    async def work(made: World) -> None:
        await made.run("var x = 5")
        for limit_s in growing(0.2):
            stopped = await made.run(f"console.log('begun');{code}", timeout_s=limit_s)
            if stopped.text:
                break
            await made.run("var x = 5")  # had it not begun, the kernel may have been lost
        assert (stopped.end.status, stopped.end.timed_out) == ("interrupted", True)
        assert (stopped.end.lost, stopped.text) == (lost, "begun\n")
        after = await made.run("typeof x", timeout_s=NEVER)
        assert after.last == ("undefined" if lost else "number")

    in_world(tmp_path, work, "js")
