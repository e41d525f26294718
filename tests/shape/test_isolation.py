"""The rules that tests/conftest.py keeps, tried out."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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
    code = compile("async def forever():\\n    await asyncio.sleep(60)", SOURCE + "/x.py", "exec")
    names = {"asyncio": asyncio}
    exec(code, names)
    async def main():
        HARNESS.task = asyncio.get_running_loop().create_task(names["forever"]())
        await asyncio.sleep(0)
    asyncio.run(main())

def test_good():
    subprocess.run(["true"], check=True)

def test_orphan():
    subprocess.run(["sh", "-c", "sleep 60 >/dev/null 2>&1 &"], check=True)

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


def test_each_test_has_a_home_of_its_own_and_no_keys(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    assert home.is_dir() and not list(home.iterdir())
    assert Path.home() == home
    assert Path(os.environ["TAU_HOME"]).is_relative_to(home)
    assert not [name for name in os.environ if name.endswith(("_API_KEY", "_proxy", "_PROXY"))]


def test_other_machines_cannot_be_reached_but_loopback_can() -> None:
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
def test_what_a_test_leaves_behind_fails_it(tmp_path: Path) -> None:
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
    assert "ERROR at teardown of test_good " not in report
    assert "tests of this module left processes running" in report
    assert "\nskipped 3: it rains\n" in report
    assert "5 passed, 3 skipped, 1 deselected, 4 errors" in report
