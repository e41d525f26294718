"""A real headless browser driven through a pipe: a page's requests, console and looks."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.limits import HANG_S

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--hide-scrollbars",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio"),
    *("--disable-dev-shm-usage", "--no-default-browser-check", "--remote-debugging-pipe"),
)
ANSWER_S = HANG_S


def program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Page:
    """One tab. `requests` are the URLs it requested, `console` its output and errors."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._number = 0
        self._rest = b""
        self._session = ""
        self.requests: list[str] = []
        self.console: list[str] = []
        self._events: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, address: str) -> None:
        self._events.clear()
        self._call("Page.navigate", url=address)
        self._wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True) -> None:
        """Viewing conditions: window size, color scheme, JavaScript on or off."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Emulation.setScriptExecutionDisabled", value=not script)

    def screenshot(self, path: Path) -> None:
        data = self._call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def settle(self) -> None:
        """Process what the page has reported so far."""
        self.evaluate("new Promise(done => setTimeout(done, 50))")

    def _call(self, method: str, **params: Any) -> Any:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _wait_for(self, event: str) -> None:
        while event not in self._events:
            self._next()

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + ANSWER_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict[str, Any]) -> None:
        self._events.append(event)
        match event:
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.consoleAPICalled":
                self.console.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                self.console.append(str(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.console.append(params["entry"]["text"])
            case "Page.javascriptDialogOpening":
                self.console.append(f"dialog: {params['message']}")
                raise AssertionError(self.console[-1])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A fresh browser that keeps everything in `folder` and ends with the block."""
    found = program()
    assert found is not None
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()

    def take_places() -> None:
        """The browser reads from 3 and writes to 4; either may collide with the other pipe."""
        listening, answering = os.dup(their_in), os.dup(their_out)
        high_in, high_out = os.dup2(listening, 90), os.dup2(answering, 91)
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)

    process = subprocess.Popen(
        [found, *FLAGS, f"--user-data-dir={folder / 'profile'}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder), "DBUS_SESSION_BUS_ADDRESS": "disabled:"},
        preexec_fn=take_places,
        close_fds=False,
        start_new_session=True,
    )
    os.close(their_in)
    os.close(their_out)
    try:
        yield Page(our_in, our_out)
    finally:
        os.close(our_out)
        os.close(our_in)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)  # it ends with its pipe
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
