"""`tau serve` as a process with the fake model server, and what a person does on its page."""

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tau.ai.wire import UserMessage
from tau.coding.session.storage.log import SessionLog
from tests.coding.export.sample import TIME, answer
from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S

SHUTDOWN_S = 10
expect.set_options(timeout=HANG_S * 1000)


class Site:
    """The server's address, and the model behind it."""

    def __init__(self, tau: Program, folder: Path) -> None:
        self.tau = tau
        self.project = tau.project
        tau.settings(**{"retry.enabled": False, "titles.enabled": False, "tools.approvalMode": "ask"})
        environment = {**os.environ, "TAU_HOME": str(tau.home), "HOME": str(folder)}
        self._process = subprocess.Popen(
            [*TAU, "serve", *FAKE, "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=tau.project,
            env=environment,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert "#token=" in self.address
        self.base = self.address.partition("/#")[0]

    def command(self, page: Page, command: str, **body: Any) -> None:
        """Run a command of the page's session as another client."""
        address = f"{self.base}/v1/sessions/{page.url.rpartition('/')[2]}/commands/{command}"
        token = self.address.partition("#token=")[2]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=HANG_S) as answer:
            answer.read()

    def close(self) -> None:
        assert self._process.stdout is not None
        self._process.terminate()
        self._process.wait(SHUTDOWN_S)
        self._process.stdout.close()


def start_session(page: Page) -> str:
    """Start a session and return its id."""
    page.click("#new-session")
    expect(page.locator("body")).to_have_attribute("data-view", "session")
    page.wait_for_url(re.compile("#/s/"))
    return page.url.rpartition("/")[2]


def send(page: Page, text: str) -> None:
    page.fill("#prompt", text)
    page.press("#prompt", "Enter")


def long_session(site: Site, pairs: int) -> str:
    """Write a session with so many questions and answers; returns its id."""
    folder = site.tau.home / "sessions" / f"--{str(site.project).strip('/').replace('/', '-')}--"
    folder.mkdir(parents=True, exist_ok=True)
    log = SessionLog.new(folder, site.project, title=f"{pairs} questions")
    for number in range(pairs):
        log.append_message(UserMessage(f"Question {number}", TIME))
        log.append_message(
            answer(f"Answer {number} with `code` and **bold**.\n\n```python\nx = {number}\n```")
        )
    log.close()
    return log.header.id
