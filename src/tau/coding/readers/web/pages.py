"""Fetches a web address and turns what it finds into text: Markdown, formatted JSON, a feed, a document."""

import asyncio
import codecs
import re
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import PurePosixPath

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from tau.agent.ports import ToolContext
from tau.ai.wire import ImageContent
from tau.backends.web.addresses import AllowedHosts, WebError, WebUrl, parse_web_url
from tau.backends.web.client import SECONDS, GuardedRequest, WebClient, WebResponse
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import is_binary, reveal
from tau.coding.readers.documents.limits import MAX_TEXT_CHARS
from tau.config.settings import Settings
from tau.config.web_access import WebAccess

document_kinds = late("tau.coding.readers.documents")
documents = late("tau.coding.readers.documents.worker")
http_status = late("http")
image_header = late("tau.base.image_header")
images = late("tau.coding.images")
site_handlers = late("tau.backends.web.site_handlers")
converters = late("tau.backends.web.converters")
workers = late("tau.backends.web.worker")

MAX_IMAGE_BYTES = 300 * KIB
MAX_SECONDS = 45.0
CACHED_PAGES, CACHED_CHARS = 20, 16 * MIB
POOR_CHARS = 200
_ACCEPT = {"accept": "text/html, application/xhtml+xml, text/markdown;q=0.9, */*;q=0.8"}
_MARKDOWN = {"accept": "text/markdown, text/plain;q=0.9, */*;q=0.1"}
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")


class WebPage(Struct, frozen=True, kw_only=True):
    """`method` says how the text was made; `failed` if the server has no such page."""

    url: str
    final_url: str
    content_type: str = ""
    method: str
    notes: list[str] = []
    text: str = ""
    image: ImageContent | None = None

    @property
    def header(self) -> str:
        rows = [f"URL: {self.final_url}", f"Content-Type: {self.content_type or 'unknown'}"]
        rows.append(f"Method: {self.method}")
        rows += [f"Notes: {'; '.join(self.notes)}"] if self.notes else []
        return "\n".join([*rows, "", "---", "", ""])


class WebPages:
    """A session's pages. Selectors read from those already fetched."""

    def __init__(self, settings: Settings, access: WebAccess, services: AsyncExitStack | None = None) -> None:
        self._settings = settings
        self._access = access
        self.allowed = AllowedHosts(settings.fetch.allow_private)
        self._cache: OrderedDict[tuple[str, bool], WebPage] = OrderedDict()
        self._services = services
        self._worker: workers.PageWorker | None = None

    def hosts(self, url: WebUrl) -> list[str]:
        """What reading it connects to: its host, and that of its site's API or of the chosen service."""
        service = converters.REMOTE_HOSTS.get(self._settings.providers.fetch)
        return list(
            dict.fromkeys([url.host, *site_handlers.site_hosts(url), *([service] if service else [])])
        )

    async def read(
        self, url: WebUrl, ctx: ToolContext, *, raw: bool = False, cached: bool = False
    ) -> WebPage:
        """Raises WebError if the page cannot be fetched."""
        name = f"{url}#{url.fragment}"
        if cached and (found := self._cache.get((name, raw))) is not None:
            return found
        client = WebClient(self.allowed, self._access.may_connect, self._access.environ)
        worker = self._worker or workers.PageWorker(ctx.helpers)
        if self._worker is None and self._services is not None:
            self._worker = worker
            self._services.push_async_callback(worker.close)
        try:
            async with asyncio.timeout(MAX_SECONDS):
                page = await _PageRead(client, url, ctx, self._settings, self._access, worker, raw).read()
        except TimeoutError:
            raise WebError(f"{url} was not read within {MAX_SECONDS:g} s.") from None
        finally:
            await client.close()
            if self._worker is None:
                await worker.close()
        if len(page.text) > MAX_TEXT_CHARS:
            note = f"cut after {MAX_TEXT_CHARS:,} characters"
            page = replace(page, text=page.text[:MAX_TEXT_CHARS], notes=[*page.notes, note])
        page = replace(page, text=await asyncio.to_thread(reveal, page.text))
        for key in {name, f"{page.final_url}#{url.fragment}"}:
            self._cache[key, raw] = page
            self._cache.move_to_end((key, raw))
        while len(self._cache) > CACHED_PAGES or self._cached_chars() > CACHED_CHARS:
            self._cache.popitem(last=False)
        return page

    def _cached_chars(self) -> int:
        return sum({id(page): len(page.text) for page in self._cache.values()}.values())


class _PageRead:
    """One read of an address."""

    def __init__(
        self,
        client: WebClient,
        url: WebUrl,
        ctx: ToolContext,
        settings: Settings,
        access: WebAccess,
        worker: "workers.PageWorker",
        raw: bool,
    ) -> None:
        self._client = client
        self._url = url
        self._ctx = ctx
        self._settings = settings
        self._access = access
        self._worker = worker
        self._raw = raw
        self._notes: list[str] = []

    async def read(self) -> WebPage:
        if not self._raw and (page := await self._from_site()) is not None:
            return page
        response = await self._client.fetch(self._url, GuardedRequest(headers=_ACCEPT))
        if response.truncated:
            self._notes.append(response.truncated)
        if not response.ok:
            return await self._failed(response)
        return await self._converted(response)

    async def _from_site(self) -> WebPage | None:
        site = site_handlers.find_site(self._url)
        if site is None:
            return None
        try:
            text, notes = await site_handlers.read_site(site, self._url, self._client, self._worker)
        except ToolError as error:
            self._notes.append(f"the {site.name} handler failed: {error}")
            return None
        return WebPage(
            url=str(self._url),
            final_url=str(self._url),
            content_type="text/markdown",
            method=site.name,
            notes=notes,
            text=text,
        )

    def _page(self, response: WebResponse, method: str, text: str, **fields: ImageContent) -> WebPage:
        return WebPage(
            url=str(self._url),
            final_url=str(response.url),
            content_type=response.content_type,
            method=method,
            notes=self._notes,
            text=text,
            **fields,
        )

    async def _failed(self, response: WebResponse) -> WebPage:
        try:
            phrase = http_status.HTTPStatus(response.status).phrase
        except ValueError:
            phrase = ""
        self._notes.append(f"HTTP {response.status} {phrase}".rstrip())
        return self._page(
            response, "failed", f"The server answered {response.status} {phrase}".rstrip() + ".\n"
        )

    async def _converted(self, response: WebResponse) -> WebPage:
        body, kind = response.body, response.content_type
        if image_header.image_type(body) is not None:
            return await self._image(response)
        if (document := await self._document(response)) is not None:
            return document
        if is_binary(body) or kind.startswith(("audio/", "video/", "font/")):
            self._notes.append("it is binary")
            size = format_bytes(len(body))
            return self._page(response, "binary", f"[{kind or 'Binary data'}, {size}; not shown]\n")
        text = await asyncio.to_thread(decode_page, body[: 4 * MAX_TEXT_CHARS], response.headers)
        text = text[: MAX_TEXT_CHARS + 1]
        if self._raw:
            return self._page(response, "raw-html" if _is_html(kind, text) else "raw", text)
        if kind == "application/json" or kind.endswith("+json"):
            return self._page(response, "json", await asyncio.to_thread(_format_json, text))
        if kind in _FEED_TYPES or (kind.endswith("xml") and "<html" not in text[:2_000]):
            feed = await self._worker.convert_feed(text)
            return self._page(response, "text" if feed is None else "feed", feed or text)
        if not _is_html(kind, text):
            is_offered = kind == "text/markdown" and not self._url.path.endswith((".md", ".markdown"))
            return self._page(response, "content-negotiation" if is_offered else "text", text)
        return await self._html(response, text)

    async def _image(self, response: WebResponse) -> WebPage:
        info = image_header.read_header(response.body)
        settings = self._settings
        if info is not None and (settings.images.block_images or settings.inspect_image.enabled):
            facts = images.describe(info, len(response.body))
            return self._page(response, "image", f"[{facts}; not sent]\n")
        limits = images.ImageLimits(max_bytes=MAX_IMAGE_BYTES)
        loaded = await asyncio.to_thread(images.load_image, response.body, auto_resize=True, limits=limits)
        return self._page(response, "image", f"{loaded.note}\n", image=loaded.content())

    async def _document(self, response: WebResponse) -> WebPage | None:
        kind = document_kinds.kind_of(response.body)
        name = PurePosixPath(response.url.path).name or "document"
        is_package = b"[Content_Types].xml" in response.body[:4_096] or b"mimetype" in response.body[:64]
        if kind == "unknown" or (kind == "zip" and not is_package):
            return None
        if kind == "pdf" and not name.lower().endswith(".pdf"):
            name = f"{name}.pdf"
        try:
            text = await documents.convert_in_worker(name, response.body, self._ctx.helpers, seconds=SECONDS)
        except document_kinds.DocumentError as error:
            self._notes.append("the document cannot be converted")
            return self._page(response, "failed", f"[Cannot read this document: {error}]\n")
        return self._page(response, "document", text)

    async def _html(self, response: WebResponse, source: str) -> WebPage:
        chosen = self._settings.providers.fetch
        if chosen not in ("auto", "native"):
            try:
                if chosen in converters.REMOTE_HOSTS:
                    url = response.url
                    text = await converters.read_remotely(chosen, url, self._client, self._access.key)
                else:
                    text = await converters.read_locally(chosen, source, self._ctx.helpers)
                return self._page(response, chosen, text)
            except ToolError as error:
                self._notes.append(f"{chosen} failed: {error}")
        result = await self._worker.convert_page(source, str(response.url), self._url.fragment)
        self._notes += result.notes
        if result.hidden:
            self._notes.append(f"{result.hidden} hidden text{'s' * (result.hidden > 1)} dropped")
        for kind, link in result.alternates:
            if "markdown" in kind and (text := await self._try_text(link, _MARKDOWN)):
                return self._page(response, "alternate-markdown", text)
        if len(result.text.strip()) >= POOR_CHARS and not result.needs_script:
            return self._page(response, "html", result.text)
        better = await self._better(response, result.alternates, result.documents)
        if better is not None:
            return better
        if result.needs_script:
            self._notes.append("it needs JavaScript, which read does not run; the tool browser does")
        return self._page(response, "html" if result.text.strip() else "raw", result.text.strip() or source)

    async def _better(
        self, response: WebResponse, alternates: list[tuple[str, str]], files: list[str]
    ) -> WebPage | None:
        """What the site offers besides a page with little text."""
        url = response.url
        if not url.path.endswith("/"):
            text = await self._try_text(f"{url.scheme}://{url.authority}{url.path}.md", _MARKDOWN)
            if text:
                return self._page(response, "md-suffix", text)
        for kind, link in alternates:
            if "markdown" not in kind and (source := await self._try_text(link, _ACCEPT)):
                feed = await self._worker.convert_feed(source)
                if feed is not None:
                    return self._page(response, "feed", feed)
        for link in files[:1]:
            found = await self._try(link, _ACCEPT)
            page = None if found is None else await self._document(found)
            if page is not None and page.method == "document":
                return page
        if url.path == "/":
            for path in ("/.well-known/llms.txt", "/llms.txt", "/llms.md"):
                if text := await self._try_text(path, _MARKDOWN):
                    return self._page(response, "llms.txt", text)
        return None

    async def _try(self, link: str, headers: dict[str, str]) -> WebResponse | None:
        """Only on the host that the call named."""
        try:
            url = parse_web_url(link, self._url)
            if url.host != self._url.host:
                return None
            response = await self._client.fetch(url, GuardedRequest(headers=headers), seconds=SECONDS / 4)
        except WebError:
            return None
        return response if response.ok and response.body.strip() else None

    async def _try_text(self, link: str, headers: dict[str, str]) -> str:
        response = await self._try(link, headers)
        if response is None or is_binary(response.body):
            return ""
        text = decode_page(response.body[:MAX_TEXT_CHARS], response.headers)
        return "" if _is_html(response.content_type, text) else text


def decode_page(body: bytes, headers: Mapping[str, str]) -> str:
    """By byte-order mark, header, meta element, then UTF-8, then windows-1252."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if body.startswith(mark):
            return body.decode(name, "replace")
    declared = re.search(r"charset=[\"']?([\w.:-]+)", headers.get("content-type", ""))
    meta = re.search(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{1,40})", body[:4_096])
    names = ([declared[1]] if declared else []) + ([meta[1].decode("ascii", "replace")] if meta else [])
    for name in names:
        try:
            return body.decode(codecs.lookup(name).name, "replace")
        except (LookupError, UnicodeDecodeError):
            continue
    try:
        return body.decode()
    except UnicodeDecodeError as error:  # perhaps only because it is cut within a character
        is_cut = error.reason == "unexpected end of data"
        return body.decode("utf-8" if is_cut else "cp1252", "replace")


def _is_html(kind: str, text: str) -> bool:
    """Also a page that a server sends as something else, such as its login page for a PDF."""
    if kind in ("text/html", "application/xhtml+xml"):
        return True
    if kind in ("text/plain", "text/markdown"):
        return False
    return re.match(r"\s*<(?:!doctype html|html|head|body)\b", text, re.IGNORECASE) is not None


def _format_json(text: str) -> str:
    try:
        return json.format(text, indent=2) + "\n"
    except (DecodeError, RecursionError):
        return text
