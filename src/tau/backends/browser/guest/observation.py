"""Lists what is on a page, from the browser's accessibility tree: iframes and shadow roots included."""

import asyncio
import secrets
from typing import Any

from playwright.async_api import CDPSession, ElementHandle, Frame, Page
from playwright.async_api import Error as PlaywrightError

from tau.backends.browser.guest.errors import TabError
from tau.backends.browser.guest.limits import MAX_ELEMENTS, MAX_NAME_CHARS

INTERACTIVE = frozenset(
    (
        *("button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "listbox", "option"),
        *("menuitem", "menuitemcheckbox", "menuitemradio", "slider", "spinbutton", "switch", "tab"),
        *("treeitem", "gridcell", "ColorWell", "Date", "DateTime", "InputTime", "DisclosureTriangle"),
    )
)
_PASSED_OVER = frozenset(("none", "generic", "InlineTextBox", "LineBreak", "RootWebArea", "ignored"))
_STATES = ("checked", "pressed", "expanded", "selected", "disabled", "required", "readonly", "invalid")
_MARK = "function(key) { Object.defineProperty(window, key, {value: this, configurable: true}); }"
_TAKE = "key => { const found = window[key]; delete window[key]; return found; }"
_SCROLL = """() => ({scroll: {x: scrollX, y: scrollY, width: document.documentElement.scrollWidth,
  height: document.documentElement.scrollHeight}, viewport: {width: innerWidth, height: innerHeight}})"""
STALE = "Element {} is stale or unknown: the page changed. Call tab.observe() again."


class ElementIndex:
    """The elements of the last observation, by number."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._nodes: dict[int, tuple[CDPSession, int]] = {}
        self._sessions: list[CDPSession] = []

    async def clear(self) -> None:
        sessions, self._sessions, self._nodes = self._sessions, [], {}
        for session in sessions:
            try:
                await session.detach()
            except PlaywrightError:
                continue  # its frame is gone

    async def observe(self, *, include_all: bool = False, viewport_only: bool = False) -> dict[str, object]:
        await self.clear()
        page = self._page
        elements: list[dict[str, object]] = []
        dropped = 0
        for session, url, nodes in await self._trees():
            for node in nodes:
                described = _describe(node, include_all=include_all)
                number = node.get("backendDOMNodeId")
                if described is None or number is None:
                    continue
                if viewport_only and not await _is_visible(session, number, page):
                    continue
                if len(elements) == MAX_ELEMENTS:
                    dropped += 1
                    continue
                id = len(elements) + 1
                self._nodes[id] = (session, number)
                elements.append({"id": id, **described, **({"frame": url} if url else {})})
        measures = await page.evaluate(_SCROLL)
        more = {"omitted": dropped} if dropped else {}
        return {"url": page.url, "title": await page.title(), **measures, "elements": elements, **more}

    async def element(self, id: Any) -> ElementHandle:
        """Raises TabError if it is not in the page any more."""
        if id not in self._nodes:
            raise TabError(STALE.format(id))
        session, number = self._nodes[id]
        key = f"_{secrets.token_hex(8)}"
        try:
            found = await session.send("DOM.resolveNode", {"backendNodeId": number})
            call = {"objectId": found["object"]["objectId"], "functionDeclaration": _MARK}
            await session.send("Runtime.callFunctionOn", {**call, "arguments": [{"value": key}]})
        except PlaywrightError:
            raise TabError(STALE.format(id)) from None
        for frame in self._page.frames:
            handle = await frame.evaluate_handle(_TAKE, key)
            element = handle.as_element()
            if element is not None:
                if not await element.evaluate("element => element.isConnected"):
                    break
                return element
        raise TabError(STALE.format(id))

    async def _trees(self) -> list[tuple[CDPSession, str, list[dict[str, Any]]]]:
        """The nodes of each frame, with its address unless it is the page itself."""
        page = self._page
        main = await self._session(page)
        assert main is not None
        tree = await main.send("Page.getFrameTree")
        trees = []
        for number, (id, url) in enumerate(_frames(tree["frameTree"])):
            found = await _tree(main, {"frameId": id})
            if found:
                trees.append((main, url if number else "", found))
        for frame in page.frames[1:]:  # those in a separate process
            session = await self._session(frame)
            if session is not None and (found := await _tree(session, {})):
                trees.append((session, frame.url, found))
        return trees

    async def _session(self, target: "Page | Frame") -> CDPSession | None:
        try:
            session = await self._page.context.new_cdp_session(target)
        except PlaywrightError:
            return None  # the frame shares the process of its parent, whose session has its nodes
        self._sessions.append(session)
        return session


async def _tree(session: CDPSession, where: dict[str, str]) -> list[dict[str, object]]:
    try:
        found = await session.send("Accessibility.getFullAXTree", where)
    except PlaywrightError:
        return []
    nodes = {node["nodeId"]: node for node in found["nodes"]}
    ordered: list[dict[str, Any]] = []
    open_ids = [node["nodeId"] for node in reversed(found["nodes"]) if node.get("parentId") not in nodes]
    while open_ids:  # as they are read, a node before what is in it
        node = nodes.pop(open_ids.pop(), None)
        if node is not None:
            ordered.append(node)
            open_ids += reversed(node.get("childIds", ()))
    return ordered


def _frames(tree: dict[str, Any]) -> list[tuple[str, str]]:
    own = (tree["frame"]["id"], tree["frame"]["url"])
    return [own, *(frame for child in tree.get("childFrames", ()) for frame in _frames(child))]


def _describe(node: dict[str, Any], *, include_all: bool) -> dict[str, object] | None:
    """None for a node that is not listed."""
    role = str(node.get("role", {}).get("value", ""))
    name = str(node.get("name", {}).get("value", "")).strip()
    facts = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
    if node.get("ignored") or role in _PASSED_OVER or not role:
        return None
    if not include_all and role not in INTERACTIVE and not facts.get("editable"):
        return None
    if include_all and not name and not facts.get("focusable"):
        return None
    described: dict[str, object] = {"role": role, "name": name[:MAX_NAME_CHARS]}
    value = node.get("value", {}).get("value")
    if value not in (None, ""):
        described["value"] = str(value)[:MAX_NAME_CHARS]
    described |= {state: facts[state] for state in _STATES if facts.get(state) not in (None, False, "false")}
    if facts.get("focused"):
        described["focused"] = True
    if "level" in facts:
        described["level"] = facts["level"]
    return described


async def _is_visible(session: CDPSession, number: int, page: Page) -> bool:
    try:
        async with asyncio.timeout(1):
            found = await session.send("DOM.getContentQuads", {"backendNodeId": number})
    except (PlaywrightError, TimeoutError):
        return False
    size = page.viewport_size or {"width": 100_000, "height": 100_000}
    for quad in found["quads"]:
        across, down = quad[::2], quad[1::2]
        if max(across) > 0 and min(across) < size["width"] and max(down) > 0 and min(down) < size["height"]:
            return True
    return False
