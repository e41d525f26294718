"""A long conversation: a bounded part of it is in the page, and what is read stays where it is."""

import pytest
from playwright.sync_api import Page, expect

from tests.modes.serve.page.page_site import Site, long_session, send
from tests.support.fake_answers import Answer, Text

MOST_ELEMENTS = 4_000
LONG = Answer((Text("Another line of the answer.\n\n" * 60, deltas=60),))
TOP = """() => {
  const scroller = document.querySelector('#scroller').getBoundingClientRect();
  const isSeen = (one) => one.getBoundingClientRect().bottom > scroller.top + 40;
  const seen = [...document.querySelectorAll('.item')].find(isSeen);
  return [seen.dataset.id, Math.round(seen.getBoundingClientRect().top)];
}"""


@pytest.fixture
def reader(page: Page, site: Site) -> Page:
    """The page with a session of 800 messages."""
    session = long_session(site, 400)
    page.goto(f"{site.base}/#/s/{session}")
    expect(page.locator(".item .assistant").last).to_contain_text("Answer 399")
    return page


def elements(page: Page) -> int:
    count: int = page.evaluate("document.querySelectorAll('*').length")
    return count


def test_pages_up_to_the_first_message_and_back_in_a_bounded_page(reader: Page) -> None:
    assert reader.locator(".item").count() <= 80
    seen: set[str] = set()
    while not reader.get_by_text("Question 0", exact=True).count():
        first = reader.locator(".item").first.get_attribute("data-id") or ""
        assert first not in seen
        seen.add(first)
        reader.evaluate("document.querySelector('#scroller').scrollTop = 0")
        expect(reader.locator(".item").first).not_to_have_attribute("data-id", first)
        assert elements(reader) < MOST_ELEMENTS
    assert reader.locator("#newer").is_visible()
    while reader.locator("#newer").is_visible():
        last = reader.locator(".item").last.get_attribute("data-id") or ""
        reader.evaluate("const box = document.querySelector('#scroller'); box.scrollTop = box.scrollHeight")
        expect(reader.locator(".item").last).not_to_have_attribute("data-id", last)
        assert elements(reader) < MOST_ELEMENTS
    expect(reader.locator(".item .assistant").last).to_contain_text("Answer 399")
    reader.evaluate("document.querySelector('#scroller').scrollTop = 0")
    reader.click("#latest")
    expect(reader.locator(".item").last).to_be_in_viewport()


def test_reading_up_stays_where_it_is_while_an_answer_streams(reader: Page, site: Site) -> None:
    reader.evaluate("document.querySelector('#scroller').scrollTop -= 900")
    expect(reader.locator("#latest")).to_be_visible()
    where = reader.evaluate(TOP)
    site.tau.script(LONG)
    site.command(reader, "prompt", message="Go on")
    expect(reader.locator(".item p").last).to_have_text("Another line of the answer.")
    assert reader.evaluate(TOP) == where
    reader.evaluate("document.querySelector('#scroller').scrollTop -= 3000")
    site.tau.script("Short.")
    send(reader, "And now to the end")
    expect(reader.locator(".item p").last).to_have_text("Short.")
    expect(reader.locator(".item").last).to_be_in_viewport()


def test_end_is_followed_while_an_answer_streams(reader: Page, site: Site) -> None:
    site.tau.script(LONG)
    send(reader, "Go on")
    expect(reader.locator(".item .assistant p").last).to_have_text("Another line of the answer.")
    expect(reader.locator("#stop")).to_be_hidden()
    expect(reader.locator(".item footer").last).to_be_in_viewport()
