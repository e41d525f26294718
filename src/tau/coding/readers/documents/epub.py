"""Convert e-books to Markdown: title and author, then the chapters in reading order."""

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from xml.etree.ElementTree import Element

from tau.coding.readers.documents import html, markdown
from tau.coding.readers.documents.limits import DocumentError
from tau.coding.readers.documents.markdown import MarkdownWriter
from tau.coding.readers.documents.xml_package import (
    XmlPackage,
    attribute,
    children,
    descendants,
    local,
    parse,
    resolve,
)

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
CHAPTER_TYPES = {"application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document", ""}
_DECLARED = re.compile(
    rb"""<(?:\?xml|meta)[^>]{0,200}?(?:encoding|charset)\s*=\s*["']?([A-Za-z0-9._-]{2,40})"""
)

# Python has codecs that are not character sets, and some that are very slow.
_KNOWN = re.compile(
    r"(us-)?ascii$|utf-?(8|16)|iso-?8859|latin|windows-?\d|cp\d|koi8|big5|gb|euc|shift|mac", re.I
)


def read(package: XmlPackage, out: MarkdownWriter) -> None:
    rootfile = next(descendants(package.tree(CONTAINER), "rootfile"), None)
    opf = attribute(rootfile, "full-path")
    if not opf:
        raise DocumentError(f"its part {CONTAINER} does not say where the book is.")
    tree = package.tree(opf)
    _front(tree, out)
    locked = set(_encrypted(package))
    chapters = list(_chapters(tree, posixpath.dirname(opf)))
    if not chapters:
        raise DocumentError("it has no chapters.")
    if all(chapter in locked for chapter in chapters):
        raise DocumentError(
            "its text is encrypted (copy protection), so only its owner's reader can open it."
        )
    for chapter in chapters:
        package.deadline.check()
        if chapter in locked:
            out.note(f"The chapter {chapter} is encrypted")
        elif chapter not in package:
            out.note(f"The chapter {chapter} is missing")
        else:
            html.convert(decoded(package.read(chapter)), out, package.deadline)


def _front(tree: Element, out: MarkdownWriter) -> None:
    metadata = list(children(tree, "metadata"))
    metadata += [each for element in metadata if local(element) == "dc-metadata" for each in element]
    titles = [each.text or "" for each in metadata if local(each).casefold() == "title"]
    people = [each.text or "" for each in metadata if local(each).casefold() == "creator"]
    if titles and titles[0].strip():
        out.add(markdown.heading(1, markdown.escape(markdown.clean(titles[0]))))
    authors = ", ".join(markdown.one_line(markdown.clean(name)) for name in people if name.strip())
    if authors:
        out.add(f"by {markdown.escape(authors)}")


def _chapters(tree: Element, folder: str) -> Iterator[str]:
    items = {
        attribute(each, "id"): resolve(folder, attribute(each, "href"))
        for each in children(tree, "manifest")
        if attribute(each, "media-type") in CHAPTER_TYPES
    }
    seen: set[str] = set()
    for each in children(tree, "spine"):
        name = items.get(attribute(each, "idref"))
        if name is not None and name not in seen:
            seen.add(name)
            yield name


def _encrypted(package: XmlPackage) -> Iterator[str]:
    """Yield copy-protected parts; obfuscated fonts do not matter here."""
    if ENCRYPTION in package:
        tree = parse(package.read(ENCRYPTION), ENCRYPTION)
        for reference in descendants(tree, "CipherReference"):
            yield resolve("", attribute(reference, "URI"))


def decoded(data: bytes) -> str:
    """Decode a chapter by its byte-order mark, its declared encoding, else as UTF-8."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    match = _DECLARED.search(data[:2048])
    encoding = match[1].decode("ascii") if match else "utf-8"
    if _KNOWN.match(encoding):
        with suppress(LookupError):
            return data.decode(encoding, "replace")
    return data.decode("utf-8", "replace")
