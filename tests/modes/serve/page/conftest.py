"""A real `tau serve` with the fake model server, and a browser, once for all tests of a module."""

import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.coding.export.chromium import program
from tests.e2e.program import FAKE, TAU, Program
from tests.support.fake_server import FakeServer
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

    def call(self, address: str, body: Any) -> None:
        """Post as another client."""
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = program()
    if found is None:
        pytest.skip("Chromium is not installed; apt-get install chromium brings it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with FakeServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAU_HOME", str(folder / "home"))
        site = Site(Program(server, folder), folder)
        yield site
        site.close()


@pytest.fixture
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """A browser profile; a page error or a blocked resource fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    problems: list[str] = []
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("console", lambda message: message.type == "error" and problems.append(message.text))
    context.on("request", lambda request: _is_local(request.url, site) or problems.append(request.url))
    yield context
    context.close()
    assert [problem for problem in problems if not EXPECTED.search(problem)] == []


EXPECTED = re.compile(r"status of (409|401|404)|ERR_INTERNET_DISCONNECTED|net::ERR_FAILED")


def _is_local(url: str, site: Site) -> bool:
    return url.startswith((site.base, "data:", "blob:"))


@pytest.fixture
def page(context: BrowserContext, site: Site) -> Page:
    """Signed in, no session is open."""
    page = context.new_page()
    page.goto(site.address)
    expect(page.locator("#new-session")).to_be_visible()
    return page


def start_session(page: Page) -> str:
    """Start a session and return its id."""
    page.click("#new-session")
    expect(page.locator("body")).to_have_attribute("data-view", "session")
    page.wait_for_url(re.compile("#/s/"))
    return page.url.rpartition("/")[2]


def send(page: Page, text: str) -> None:
    page.fill("#prompt", text)
    page.press("#prompt", "Enter")


def scrolled(page: Page) -> Any:
    return page.evaluate("document.querySelector('#scroller').scrollTop")
