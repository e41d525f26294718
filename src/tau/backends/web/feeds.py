"""Writes RSS and Atom feeds as Markdown. Runs in the conversion worker."""

import re
from xml.etree import ElementTree

from tau.backends.web.plain_text import plain_text

MAX_ENTRIES = 50
MAX_SUMMARY_CHARS = 1_000


def convert_feed(source: str) -> str:
    """Raises ValueError if it is not a feed."""
    if "<!ENTITY" in source[:10_000]:
        raise ValueError("it defines entities")
    try:
        root = ElementTree.fromstring(source)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from None
    for node in root.iter():
        node.tag = str(node.tag).rpartition("}")[2]
    channel = next(root.iter("channel"), root)
    entries = [*root.iter("item"), *root.iter("entry")]
    if not entries and root.tag not in ("rss", "feed", "RDF"):
        raise ValueError("it has no entries")
    lines = [f"# {_text(channel, 'title') or 'Feed'}", _text(channel, "description", "subtitle"), ""]
    for entry in entries[:MAX_ENTRIES]:
        link = _text(entry, "link") or next(
            (
                one.get("href", "")
                for one in entry.findall("link")
                if one.get("rel", "alternate") == "alternate"
            ),
            "",
        )
        date = _text(entry, "pubDate", "published", "updated", "date")
        summary = _text(entry, "description", "summary", "encoded", "content")
        lines += [f"## {_text(entry, 'title') or 'Untitled'}", " ".join(filter(None, (date, link)))]
        lines += ["", summary[:MAX_SUMMARY_CHARS], ""]
    if len(entries) > MAX_ENTRIES:
        lines.append(f"[{len(entries) - MAX_ENTRIES} more entries]")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _text(node: ElementTree.Element, *names: str) -> str:
    for name in names:
        for child in node.findall(name):
            text = "".join(child.itertext()).strip()
            if text:
                return plain_text(text) if "<" in text or "&" in text else text
    return ""
