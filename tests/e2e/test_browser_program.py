"""kill -9 of tau, of a tab's worker or of its browser leaves no process and no profile behind."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.backends.browser.browser_rig import CHROMIUM, needs_chromium
from tests.e2e.program import Program
from tests.support.fake_answers import Call
from tests.support.limits import HANG_S
from tests.support.soak import seeds

pytestmark = needs_chromium

PAGE = "data:text/html,<title>Here</title>"
OPEN = Call("browser", {"action": "open", "url": PAGE}, id="open")
CODE = "open('ready', 'w').close()\nawait tab.wait_for('#never')"
STAY = Call("browser", {"action": "run", "code": CODE, "timeout": 60}, id="stay")


def processes(mark: str) -> dict[int, str]:
    """The live processes that were started with this variable, and their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_marked = mark.encode() in (entry / "environ").read_bytes()
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if is_marked and state not in "ZX":
                found[int(entry.name)] = words
    return found


def wait(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)


def leftovers() -> list[str]:
    walked = os.walk(os.environ["TMPDIR"])  # skips what is removed meanwhile
    return [f"{folder}/{name}" for folder, inner, _ in walked for name in inner if name.startswith("tab-")]


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short one: Chromium's sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="tk-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


@pytest.mark.parametrize(
    ("victim", "sandbox"),
    [("tau", "auto"), ("tau", "off"), ("worker", "auto"), ("driver", "off"), ("browser", "off")],
)
@pytest.mark.parametrize("number", seeds(1, 20))
def test_a_kill_leaves_nothing(
    victim: str,
    sandbox: str,
    number: int,
    tau: Program,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, float], None],
) -> None:
    monkeypatch.setenv("TAU_BROWSER_PATH", CHROMIUM or "")
    mark = f"MARK_OF_TEST={temporary}"
    monkeypatch.setenv("MARK_OF_TEST", str(temporary))
    tau.settings(**{"retry.enabled": False, "sandbox.mode": sandbox, "tools.approvalMode": "yolo"})
    tau.script(OPEN, STAY, "done")
    program = tau.start("-p", "look")
    try:
        wait((tau.project / "ready").exists, lambda: processes(mark))
        found = processes(mark)
        words = {
            "worker": "kernels/guest/main.py",
            "driver": "run-driver",
            "browser": "--remote-debugging-pipe",
        }
        assert all(any(word in line for line in found.values()) for word in words.values()), found
        killed = time.monotonic()
        if victim == "tau":
            program.kill()
        else:
            pids = [pid for pid, line in found.items() if words[victim] in line and "--type=" not in line]
            os.kill(pids[0], signal.SIGKILL)
        program.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    wait(lambda: not processes(mark) and not leftovers(), lambda: (processes(mark), leftovers()))
    record_property(f"seconds from the kill of {victim} (sandbox {sandbox})", time.monotonic() - killed)


def test_a_broken_button_is_found_fixed_and_shown(tau: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAU_BROWSER_PATH", CHROMIUM or "")
    page = "<title>Shop</title><button onclick=\"docment.title = 'Saved'\">Save</button>\n"
    look = "await tab.click('text/Save')\nreturn [message['text'] for message in await tab.console()]"
    again = "await tab.click('text/Save')\nawait tab.screenshot(save='shop.png')\nreturn await tab.title()"
    serve = "python3 -m http.server 8391 --bind 127.0.0.1 >/dev/null 2>&1 &\n"
    connect = 'import socket; socket.create_connection(("127.0.0.1", 8391))'
    serve += f"until python3 -c '{connect}' 2>/dev/null; do :; done"
    url = "http://localhost:8391/"
    tau.settings(**{"retry.enabled": False})
    tau.script(
        Call("write", {"path": "index.html", "content": page}, id="write"),
        Call("bash", {"command": serve}, id="serve"),
        Call("browser", {"action": "open", "url": url}, id="open"),
        Call("browser", {"action": "run", "code": look}, id="look"),
        Call("write", {"path": "index.html", "content": page.replace("docment", "document")}, id="fix"),
        Call("browser", {"action": "open", "url": url}, id="reload"),
        Call("browser", {"action": "run", "code": again}, id="again"),
        "The button works.",
    )
    ran = tau.ask("build a shop and test it")
    assert (ran.stdout, ran.stderr) == ("The button works.\n", "")
    messages = tau.server.requests[-1].body["messages"]
    told = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    assert "Title: Shop" in str(told["open"])
    assert "docment is not defined" in str(told["look"])
    assert "Saved" in str(told["again"]) and "Screenshot 1706x960" in str(told["again"])
    assert (tau.project / "shop.png").read_bytes().startswith(b"\x89PNG")
    assert "image_url" in str(messages[-2:])
