"""Content is kept and chrome dropped, on pages of 20 kinds; a warm worker stays, and comes back."""

import asyncio

import pytest

from tau.backends.web import worker as workers
from tau.backends.web.html import convert_html
from tau.backends.web.worker import PageWorker
from tau.base.run import LocalRunner
from tests.support.soak import is_soaking
from tests.support.web_pages import KINDS, marked_pages, shares

URL = "https://example.com/docs/page"


def test_content_is_kept_and_chrome_dropped() -> None:
    pages = marked_pages(10 if is_soaking() else 1)
    assert len(pages) >= len(KINDS) == 20
    kept, dropped = shares([(page, convert_html(page.html, URL).text) for page in pages])
    assert kept >= 0.98
    assert dropped >= 0.98


def test_one_process_converts_page_after_page_and_is_replaced_when_it_ends() -> None:
    async def main() -> None:
        runner = LocalRunner()
        worker = PageWorker(runner)
        pids = []
        for number in range(3):
            result = await worker.convert_page(f"<h1>Page {number}</h1>", URL, "")
            assert result.text == f"# Page {number}\n"
            assert worker.process is not None
            pids.append(worker.process.pid)
            if number == 1:
                await worker.process.kill(grace=0.0)
        assert pids[0] == pids[1] != pids[2]
        await worker.close()
        assert worker.process is None
        runner.close()

    asyncio.run(main())


@pytest.mark.parametrize("limit", ["MAX_TAGS", "MAX_INPUT_CHARS"])
def test_a_page_that_is_cut_says_so(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, limit, 20)
    source = "<p>word</p>" * 30

    async def main() -> None:
        runner = LocalRunner()
        worker = PageWorker(runner)
        result = await worker.convert_page(source, URL, "")
        assert "were converted" in result.notes[0]
        assert "word" in result.text
        await worker.close()
        runner.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("source", "text", "hidden"),
    [
        ('<p>a</p><div STYLE="DISPLAY : none !important">evil</div>', "a\n", 1),
        ("<style>.h, #z {display: none}</style>a<i class=h>evil</i><i id=z hidden>evil</i>", "a\n", 2),
        ("<div hidden>evil<p hidden>evil<b style='opacity:0'>evil</b></p></div>a", "a\n", 3),
        ("<style>@media print{.h{display:none}}</style><p class=h>a</p>", "a\n", 0),
        ("<style>.t{display:none} .t.on{display:block}</style><p class=t>a</p>", "a\n", 0),
        ("<p style='opacity:0.5;font-size:0.9em'>a</p><p style='font-size:0px'>evil</p>", "a\n", 1),
    ],
)
def test_hidden_text_is_dropped_and_counted(source: str, text: str, hidden: int) -> None:
    result = convert_html(source, URL)
    assert (result.text, result.hidden) == (text, hidden)
