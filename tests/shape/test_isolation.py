"""The rules enforced by tests/conftest.py, tried out."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import ThreadClock

ROOT = Path(__file__).resolve().parents[2]

OFFENDERS = """
import asyncio, os, socket, subprocess, sys, time
from tests.conftest import HARNESS, SOURCE
import pytest

HARNESS.grace_seconds = 0.1

def test_child():
    HARNESS.kept = subprocess.Popen(["sleep", "60"])

def test_network():
    with pytest.raises(AssertionError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

def test_task():
    code = compile("async def forever():\\n    await asyncio.sleep(600)", SOURCE + "/x.py", "exec")
    names = {"asyncio": asyncio}
    exec(code, names)
    async def main():
        HARNESS.task = asyncio.get_running_loop().create_task(names["forever"]())
        await asyncio.sleep(0)
    asyncio.run(main())

async def compute():
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass

def test_held_loop():
    asyncio.run(compute())

HELD = []

def test_held_once():
    HELD.append(1)
    if len(HELD) == 1:
        asyncio.run(compute())

@pytest.mark.holds_loop
def test_held_on_purpose():
    asyncio.run(compute())

def test_good():
    subprocess.run(["true"], check=True)

def test_orphan():
    subprocess.run(["sh", "-c", "sleep 600 >/dev/null 2>&1 &"], check=True)

@pytest.mark.soak
def test_long():
    raise AssertionError

@pytest.mark.parametrize("number", (1, 2))
def test_skipped(number):
    pytest.skip("it rains")

@pytest.mark.skip(reason="it rains")
def test_marked():
    raise AssertionError
"""


def test_a_collection_in_one_thread_does_not_count_as_time_of_another() -> None:
    clock = ThreadClock()
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
    clock.leave_out("start", {})  # this thread collects, and is interrupted here
    seen: list[float] = []
    other = threading.Thread(target=lambda: seen.append(clock.seconds()))
    other.start()
    other.join()
    clock.leave_out("stop", {})
    assert seen[0] < 0.05


def test_each_test_has_its_own_home_and_no_keys(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    assert home.is_dir() and not list(home.iterdir())
    assert Path.home() == home
    assert Path(os.environ["TAU_HOME"]).is_relative_to(home)
    assert not [name for name in os.environ if name.endswith(("_API_KEY", "_proxy", "_PROXY"))]


def test_only_loopback_is_reachable() -> None:
    with pytest.raises(socket.gaierror):
        socket.create_connection(("example.com", 443), timeout=1)

    async def main() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("localhost", port, family=socket.AF_INET)
            text = await reader.read()
            writer.close()
            await writer.wait_closed()
            return text

    assert asyncio.run(main()) == b"hello"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="left processes are found through /proc")
def test_leftovers_fail_a_test(tmp_path: Path) -> None:
    offenders = tmp_path / "test_offenders.py"
    offenders.write_text(OFFENDERS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
    ]
    run = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(tmp_path), "-W", "ignore", str(offenders)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
    )
    report = run.stdout
    assert "ERROR at teardown of test_child " in report, report
    assert "it left a child process" in report
    assert "ERROR at teardown of test_network " in report
    assert "it used the network: connect to ('192.0.2.1', 80)" in report
    assert "ERROR at teardown of test_task " in report
    assert "it left a task: forever" in report
    assert "ERROR at teardown of test_held_loop " in report
    assert "it held the event loop for 1" in report and "coroutine object compute" in report
    assert "ERROR at teardown of test_held_once " not in report
    assert "ERROR at teardown of test_held_on_purpose " not in report
    assert "ERROR at teardown of test_good " not in report
    assert "tests of this module left processes running" in report
    assert "\nskipped 3: it rains\n" in report
    assert "8 passed, 3 skipped, 1 deselected, 5 errors" in report
