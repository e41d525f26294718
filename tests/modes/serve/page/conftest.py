"""A real `tau serve` with the fake model server, and a browser, once for all tests of a module."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.coding.export.chromium import program
from tests.e2e.program import Program
from tests.modes.serve.page.page_site import Site
from tests.support.fake_server import FakeServer

EXPECTED = re.compile(r"status of (409|401|404)|ERR_INTERNET_DISCONNECTED|net::ERR_FAILED")


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


def _is_local(url: str, site: Site) -> bool:
    return url.startswith((site.base, "data:", "blob:"))


@pytest.fixture
def page(context: BrowserContext, site: Site) -> Page:
    """Signed in, no session is open."""
    page = context.new_page()
    page.goto(site.address)
    expect(page.locator("#new-session")).to_be_visible()
    return page
