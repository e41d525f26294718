"""Measures the web tools: `bench/web.py [--quick]`.

The 200 marked pages of the tests, converted by tau's warm worker, and by trafilatura and readability if they
are installed: time, the share of content kept and of chrome dropped. Then the browser: the first screenshot
and a warm run, by a bare Playwright script and by tau.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from report import milliseconds

sys.path.insert(0, str(Path(__file__).parents[1]))

import tau
from tau.agent.events import ToolEnd, ToolStart
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.backends.web.worker import PageWorker
from tau.base.run import LocalRunner
from tests.support.web_pages import MarkedPage, marked_pages, shares

URL = "https://example.com/docs/page"
PAGE = "data:text/html,<title>Pens</title><h1>Pens</h1><button>Save</button>"
MEDIAN_MS, TAIL_MS, SCREENSHOT_RATIO, RUN_MS = 5.0, 20.0, 1.3, 30.0
RUNS = 20


def row(name: str, times_s: list[float], pages: list[tuple[MarkedPage, str]]) -> str:
    kept, dropped = shares(pages)
    tail = sorted(times_s)[int(len(times_s) * 0.95)]
    return (
        f"{name:12} median {milliseconds(median(times_s) * 1000):>8}  95 % {milliseconds(tail * 1000):>8}"
        f"  kept {kept:6.1%}  dropped {dropped:6.1%}"
    )


async def convert_warm(pages: list[MarkedPage]) -> tuple[list[float], list[tuple[MarkedPage, str]]]:
    runner = LocalRunner()
    worker, times, made = PageWorker(runner), [], []
    await worker.convert_page(pages[0].html, URL, "")
    for page in pages:
        before = time.perf_counter()
        result = await worker.convert_page(page.html, URL, "")
        times.append(time.perf_counter() - before)
        made.append((page, result.text))
    await worker.close()
    runner.close()
    return times, made


def extract(module: Any, html: str) -> str:
    """What trafilatura or readability make of a page."""
    if module.__name__ == "trafilatura":
        return module.extract(html, include_links=True) or ""
    return str(module.Document(html).summary())


def peers() -> dict[str, Callable[[str], str]]:
    found: dict[str, Callable[[str], str]] = {}
    for name in ("trafilatura", "readability"):
        try:
            found[name] = partial(extract, import_module(name))
        except ImportError:
            print(f"{name} is not installed: pip install trafilatura readability-lxml")
    return found


def measure_pages(few: int) -> None:
    pages = marked_pages(10 // few)
    times, made = asyncio.run(convert_warm(pages))
    print(row("tau, warm", times, made), f"(targets {MEDIAN_MS:g} and {TAIL_MS:g} ms, 98 % and 98 %)")
    for name, convert in peers().items():
        times, made = [], []
        for page in pages:
            before = time.perf_counter()
            made.append((page, convert(page.html)))
            times.append(time.perf_counter() - before)
        print(row(name, times, made))


async def timed(work: Awaitable[Any]) -> float:
    before = time.perf_counter()
    await work
    return time.perf_counter() - before


async def bare_browser(program: str) -> tuple[float, list[float]]:
    """To the first screenshot, from the import on; then scripts on the page."""
    before = time.perf_counter()
    async with import_module("playwright.async_api").async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program, chromium_sandbox=False)
        page = await browser.new_page(viewport={"width": 1365, "height": 768}, device_scale_factor=1.25)
        await page.goto(PAGE)
        await page.screenshot()
        first = time.perf_counter() - before
        runs = [await timed(page.evaluate("() => document.title")) for _ in range(RUNS)]
        await browser.close()
    return first, runs


async def tau_browser(folder: Path) -> tuple[float, list[float]]:
    """The same through the tool, in a session of the product."""
    shoot = "await tab.screenshot()"
    title = "return await tab.evaluate('() => document.title')"
    calls: list[FauxStep] = [
        Use("browser", action="open", url=PAGE),
        *(Use("browser", action="run", code=code) for code in (shoot, *[title] * RUNS)),
    ]
    steps = [[call] for call in [*calls, Say("done")]]
    times: list[float] = []
    options = tau.SessionOptions(
        cwd=folder, stream=Faux(steps).stream, save=False, settings={"tools.approvalMode": "yolo"}
    )
    async with tau.create_session(options) as session:

        def note(event: Any) -> None:
            if isinstance(event, ToolStart | ToolEnd):
                times.append(time.perf_counter())

        session.subscribe(note)
        await session.prompt("go")
    spans = [end - start for start, end in zip(times[::2], times[1::2], strict=True)]
    return spans[0] + spans[1], spans[2:]


def measure_browser(few: int) -> None:
    program = shutil.which("chromium")
    if program is None:
        print("Chromium is not installed")
        return
    pairs = []
    for _ in range(max(5 // few, 1)):
        bare = asyncio.run(bare_browser(program))
        with tempfile.TemporaryDirectory() as folder:
            pairs.append((bare, asyncio.run(tau_browser(Path(folder).resolve()))))
    first = [median(pair[at][0] for pair in pairs) for at in (0, 1)]
    warm = [median(one for pair in pairs for one in pair[at][1]) for at in (0, 1)]
    print(
        f"first screenshot  bare {milliseconds(first[0] * 1000):>9}  tau {milliseconds(first[1] * 1000):>9}"
        f"  ratio {first[1] / first[0]:.2f} (target {SCREENSHOT_RATIO:g})"
    )
    print(
        f"warm run          bare {milliseconds(warm[0] * 1000):>9}  tau {milliseconds(warm[1] * 1000):>9}"
        f"  added {(warm[1] - warm[0]) * 1000:.1f} ms (target {RUN_MS:g} ms)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    few = 5 if parser.parse_args().quick else 1
    measure_pages(few)
    measure_browser(few)


if __name__ == "__main__":
    main()
