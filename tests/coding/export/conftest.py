"""One browser for all tests of this folder, since starting it is most of their cost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coding.export.chromium import Page, browser, program


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if program() is None:
        pytest.skip("Chromium is not installed; apt-get install chromium brings it")
    folder: Path = tmp_path_factory.mktemp("browser")
    with browser(folder) as opened:
        yield opened


@pytest.fixture
def fresh(page: Page) -> Page:
    """A browser with default viewing conditions and nothing recorded yet."""
    page.look()
    page.requests.clear()
    page.console.clear()
    return page
