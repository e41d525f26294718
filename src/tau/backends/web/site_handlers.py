"""Site handlers: for the pages of known sites, their API says more than their HTML.

Each handler is a file in `site_data`: `match` finds its pages by host and path, `requests` are what its API
is asked, `template` makes Markdown of the answers. The first match wins, in the order of `ORDER`.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from msgspec import DecodeError, Struct, convert, json

from tau.backends.web.addresses import WebError, WebUrl, parse_web_url
from tau.backends.web.captions import caption_track, player_data, transcript
from tau.backends.web.client import GuardedRequest, WebClient
from tau.backends.web.plain_text import plain_text
from tau.backends.web.site_templates import SEPARATOR, Rendering, look_up, render
from tau.backends.web.worker import PageWorker
from tau.base.sizes import MIB

FOLDER = Path(__file__).parent / "site_data"
TRACKS = "captions.playerCaptionsTracklistRenderer.captionTracks"
MAX_ANSWER_BYTES = 8 * MIB
SECONDS = 10.0


class Site(Struct, frozen=True, kw_only=True):
    """`match` is a pattern for `host/path?query`. `optional` requests may fail. `body` makes them POST.

    Requests may use groups of the match, `host`, and answers of earlier requests. If an answer lacks
    `needs`, there is no such page. `captions` is the page that names a video's caption tracks.
    """

    name: str
    match: str
    requests: dict[str, str]
    optional: dict[str, str] = {}
    body: str = ""
    headers: dict[str, str] = {}
    needs: str = ""
    captions: str = ""
    template: str


@cache
def load_sites() -> list[Site]:
    order = (FOLDER / "ORDER").read_text(encoding="utf-8").split()
    return [convert(tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")), Site) for name in order]


def find_site(url: WebUrl) -> Site | None:
    return next((site for site in load_sites() if _match(site, url) is not None), None)


def site_hosts(url: WebUrl) -> list[str]:
    """The hosts that the handler of a page asks."""
    site = find_site(url)
    if site is None:
        return []
    addresses = (*site.requests.values(), *site.optional.values(), site.captions)
    hosts = [re.match(r"https?://([^/{}]+)/", address) for address in addresses]
    return list(dict.fromkeys(found[1].partition(":")[0] for found in hosts if found is not None))


def _match(site: Site, url: WebUrl) -> re.Match[str] | None:
    if url.origin[2] not in (80, 443):
        return None
    return re.fullmatch(site.match, f"{url.host.removeprefix('www.')}{url.target.rstrip('/')}")


async def read_site(site: Site, url: WebUrl, client: WebClient, worker: PageWorker) -> tuple[str, list[str]]:
    """Markdown and notes. Raises WebError if the site's API fails."""
    found = _match(site, url)
    assert found is not None
    values: dict[str, object] = {name: unquote(value or "") for name, value in found.groupdict().items()}
    values |= {"host": url.host, "url": str(url)}
    for name, address in site.requests.items():
        values[name] = await _ask(site, address, values, client)
    for name, address in site.optional.items():
        try:
            values[name] = await _ask(site, address, values, client)
        except WebError:
            values[name] = None
    if site.needs and look_up(values, site.needs) in (None, "", [], {}):
        raise WebError(f"the API of {site.name} has no such page.")
    notes = []
    if site.captions:
        try:
            await _add_transcript(site, values, client)
        except WebError as error:
            notes.append(f"no transcript: {error}")
    rendering = Rendering()
    text = render(site.template, values, rendering)
    text = _fill(text, await _converted(rendering.html, str(url), worker))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n", notes


async def _add_transcript(site: Site, values: dict[str, object], client: WebClient) -> None:
    page = await _ask(site, site.captions, values, client)
    values["player"] = player_data(page if isinstance(page, str) else "")
    address, language = caption_track(look_up(values["player"], TRACKS))
    own = parse_web_url(site.captions.partition("{")[0])
    track = parse_web_url(address, own)
    if track.origin != own.origin:  # only hosts that were declared
        raise WebError(f"its captions are on another host, {track.host}.")
    answer = await _ask(site, "{track|raw}", {"track": str(track)}, client)
    values |= {"language": language, "transcript": transcript(answer)}


async def _ask(site: Site, address: str, values: Mapping[str, object], client: WebClient) -> object:
    def value(match: re.Match[str]) -> str:
        found = look_up(values, match[1])
        text = "" if found is None else str(found)
        return text if match[2] else quote(text, safe="")

    filled = re.sub(r"\{([\w.$]+)(\|raw)?\}", value, address)
    headers = {"accept": "application/json, */*;q=0.5", **site.headers}
    body = re.sub(r"\{([\w.$]+)()\}", lambda match: str(look_up(values, match[1]) or ""), site.body)
    if body:
        headers["content-type"] = "application/json"
    request = GuardedRequest(
        method="POST" if body else "GET",
        headers=headers,
        body=body.encode() or None,
        max_bytes=MAX_ANSWER_BYTES,
    )
    response = await client.fetch(parse_web_url(filled), request, seconds=SECONDS)
    if not response.ok:
        raise WebError(f"{response.url.host} answered {response.status}.")
    text = response.body.decode("utf-8", "replace")
    if "json" in response.content_type:
        try:
            return json.decode(text)
        except (DecodeError, RecursionError):
            raise WebError(f"{response.url.host} sent invalid JSON.") from None
    if response.content_type.endswith("xml"):
        return _tree(text, response.url.host)
    return text


def _tree(text: str, host: str) -> Any:
    """XML as values: elements by name, in a list if there are several; `#text` and attributes by name."""
    if "<!ENTITY" in text:
        raise WebError(f"{host} sent XML with entities.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        raise WebError(f"{host} sent invalid XML.") from None

    def plain(node: ElementTree.Element) -> Any:
        result: dict[str, Any] = dict(node.attrib)
        for child in node:
            result.setdefault(child.tag.rpartition("}")[2], []).append(plain(child))
        text = (node.text or "").strip()
        return {**result, "#text": text} if result else text

    return {root.tag.rpartition("}")[2]: plain(root)}


async def _converted(sources: Sequence[str], url: str, worker: PageWorker) -> list[str]:
    """Each HTML text as Markdown, in one run of the worker."""
    if not sources:
        return []
    mark = f"{SEPARATOR}x"
    joined = f"<p>{mark}</p>".join(f"<div>{source}</div>" for source in sources)
    result = await worker.convert_page(f"<main>{joined}</main>", url, "")
    texts = [text.strip() for text in result.text.split(mark)]
    return texts if len(texts) == len(sources) else [plain_text(source) for source in sources]


def _fill(text: str, converted: Sequence[str]) -> str:
    return re.sub(rf"{SEPARATOR}(\d+);", lambda match: converted[int(match[1])], text)
