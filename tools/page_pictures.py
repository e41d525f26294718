"""Captures the web page of `tau serve` with a scripted session, at three widths, by day and by night."""

import os
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.coding.export.chromium import program
from tests.coding.export.sample import ANSWER
from tests.e2e.program import Program
from tests.modes.serve.page.page_site import Site, send, start_session
from tests.support.fake_answers import Answer, Call, Text, Thinking
from tests.support.fake_server import FakeServer

SIZES = {"": (1280, 800), "-tablet": (768, 900), "-phone": (360, 740)}
TASKS = [{"phase": "Cart", "items": ["Find where the total is wrong", "Fix it", "Test the empty cart"]}]
CART = "class Cart:\n    def total(self):\n        return sum(item.price for item in self.items)\n"
FIXED = CART.replace("item.price for", "item.price * item.count for")

RENAME = """(folder) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(folder, '/home/me');
}"""


def capture_pages(images: Path) -> None:
    found = program()
    assert found is not None, "Chromium is not installed"
    with tempfile.TemporaryDirectory() as folder, FakeServer() as server, sync_playwright() as playwright:
        os.environ["TAU_HOME"] = f"{folder}/home"
        site = Site(Program(server, Path(folder)), Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            page = browser.new_page(reduced_motion="reduce")
            page.goto(site.address)
            _converse(page, site)
            page.evaluate(RENAME, folder)
            for suffix, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                    page.screenshot(path=images / f"serve-{scheme}{suffix}.png")
        finally:
            site.close()


def _converse(page: Page, site: Site) -> None:
    (site.project / "cart.py").write_text(CART)
    start_session(page)
    plan = Call("todo", {"ops": [{"op": "init", "list": TASKS}]})
    site.tau.script(
        Answer((Thinking("The total sums `price` only."), Text("I will look at the cart."), plan)),
        Answer((Call("read", {"path": "cart.py"}),)),
        Answer((Call("write", {"path": "cart.py", "content": FIXED}),)),
        Answer((Text(ANSWER), Call("bash", {"command": "python -m pytest -q && git push origin main"}))),
    )
    send(page, "The cart's total is wrong when I buy two of a thing. Please find out why, and fix it.")
    page.get_by_role("button", name="Allow once").click()
    site.command(page, "set_session_name", name="Make the cart count")
    expect(page.locator(".question h2")).to_have_text("Allow this command?")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    expect(page.locator("#session-title")).to_have_text("Make the cart count")
