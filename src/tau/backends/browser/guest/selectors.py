"""Finds elements by CSS, text, XPath or accessible name."""

import re

from playwright.async_api import Locator, Page

from tau.backends.browser.guest.errors import TabError

_ENGINES = ("text", "xpath", "pierce", "aria")
_ROLES = (
    *("button", "link", "textbox", "checkbox", "radio", "combobox", "searchbox", "option", "tab", "menuitem"),
    *("switch", "slider", "spinbutton", "treeitem", "listitem", "img", "heading", "dialog", "cell", "row"),
)


def find(page: Page, selector: str) -> Locator:
    """The elements that match. Raises TabError for a prefix that does not exist."""
    if not selector.strip():
        raise TabError("A selector is a text such as #save, text/Save, xpath///a or aria/Save.")
    prefixed = re.match(r"(p-)?([a-z]+)/(.*)", selector, re.DOTALL)
    if prefixed is None or (not prefixed[1] and prefixed[2] not in _ENGINES):
        return page.locator(selector)
    engine, rest = prefixed[2], prefixed[3]
    match engine:
        case "text":
            return page.get_by_text(rest)
        case "xpath":
            return page.locator(f"xpath={rest}")
        case "pierce":
            return page.locator(rest)  # CSS sees through open shadow roots anyway
        case "aria":
            return _by_name(page, rest)
    raise TabError(f'The selector prefix "p-{engine}/" is not supported; use text, xpath, pierce or aria.')


def _by_name(page: Page, text: str) -> Locator:
    """`Save` or `Save[role="button"]`."""
    named = re.fullmatch(r"(?P<name>.*?)\[role=[\"']?(?P<role>[\w-]+)[\"']?\]", text, re.DOTALL)
    roles = _ROLES if named is None else (named["role"],)
    name = text if named is None else named["name"]
    first, *others = (
        page.get_by_role(role, name=name, exact=True) if name else page.get_by_role(role)  # type: ignore[arg-type]
        for role in roles
    )
    for other in others:
        first = first.or_(other)
    return first if named is not None else first.or_(page.get_by_label(name, exact=True))
