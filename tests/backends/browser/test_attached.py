"""browser: pages of programs that were started with remote debugging, and of browsers that run already."""

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.ai.faux import Use
from tests.backends.browser.browser_rig import CHROMIUM, browse, needs_chromium, open_page, run
from tests.support.limits import HANG_S

pytestmark = needs_chromium

ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
HERE = "data:text/html,<title>Mine</title><p>Here</p>"


def close(**more: object) -> Use:
    return Use("browser", action="close", **more)


def test_a_program_is_started_reused_and_ended(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    app = {"path": CHROMIUM, "args": [*ARGS, f"--user-data-dir={profile}", HERE]}
    opened, title, wrong, other, rest, ended, gone = browse(
        tmp_path,
        [
            open_page(app=app),
            run("await tab.title()"),
            open_page(app={**app, "target": "nothing like it"}, name="wrong"),
            open_page(),
            close(),
            open_page(app={**app, "target": "mINe"}, name="again"),
            close(name="again", kill=True),
        ],
    )
    assert opened.text.startswith(f'Opened tab "main" in a program {CHROMIUM}')
    assert title.text == "Mine"
    assert wrong.text.startswith(
        'No page target matched "nothing like it". Available pages:\n- Mine data:text/html'
    )
    assert other.text == f'Tab "main" is bound to a different browser (program {CHROMIUM}). Close it first.'
    assert rest.text == 'Closed tab "main"'
    assert "Title: Mine" in ended.text  # the program was still running
    assert gone.text == 'Closed tab "again"'


@pytest.fixture
def running(tmp_path: Path) -> Iterator[str]:
    """The address of a browser that the user started."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        CHROMIUM or "",
        *ARGS,
        f"--remote-debugging-port={port}",
        f"--user-data-dir={tmp_path / 'own'}",
        HERE,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stderr is not None
            deadline = time.monotonic() + HANG_S
            while "DevTools listening" not in process.stderr.readline():
                assert time.monotonic() < deadline
            yield f"http://127.0.0.1:{port}"
            assert process.poll() is None  # it is not ended with its tab
        finally:
            process.terminate()


def test_a_running_browser_is_attached_to_through_the_sandbox(running: str, tmp_path: Path) -> None:
    opened, told, closed = browse(
        tmp_path, [open_page(), run("await tab.title()"), close()], {"browser.cdpUrl": f"{running}/"}
    )
    assert f"browser at {running}" in opened.text and "Title: Mine" in opened.text
    assert (told.text, closed.text) == ("Mine", 'Closed tab "main"')
