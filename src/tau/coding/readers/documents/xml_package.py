"""Zip packages of XML parts (docx, pptx, xlsx, epub), with size checks and without DTDs."""

import posixpath
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

from msgspec import Struct

from tau.base.sizes import KIB, MIB
from tau.coding.readers.documents.limits import (
    MAX_DEPTH,
    MAX_MARKUP,
    MAX_PART_BYTES,
    MAX_PARTS,
    MAX_RATIO,
    MAX_TOTAL_BYTES,
    RATIO_FREE_BYTES,
    Deadline,
    DocumentError,
)

CHUNK_BYTES = 64 * KIB
MAX_ELEMENT_BYTES = 2 * MIB  # between two tags of a streamed part
MAX_HELD_ELEMENTS = 100_000  # inside one element of a streamed part
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,  # what zipfile raises for an encrypted part
    OSError,
    ValueError,
    UnicodeError,
)


class Relation(Struct, frozen=True):
    """A link between parts: `target` is the other part's name, or a URL if `external`."""

    target: str
    kind: str  # the last segment of its type: `hyperlink`, `image`, `slide`
    external: bool


class XmlPackage:
    """Parts by case-insensitive name, read one at a time."""

    def __init__(self, data: bytes, deadline: Deadline) -> None:
        if data.count(b"PK\x01\x02") > MAX_PARTS:
            raise DocumentError(f"it has more than {MAX_PARTS:,} parts, which no real document has.")
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except _BROKEN as error:
            raise DocumentError(f"its zip container is damaged or cut off ({_reason(error)}).") from error
        self._parts = {info.filename.casefold(): info for info in self._zip.infolist()}
        self._room = MAX_TOTAL_BYTES
        self.deadline = deadline

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._parts

    def read(self, name: str) -> bytes:
        """Read a part. Raises DocumentError if it is missing, damaged or too large."""
        return b"".join(self.chunks(name, MAX_PART_BYTES))

    def chunks(self, name: str, max_bytes: int) -> Iterator[bytes]:
        """Stream a part in chunks; unpacked sizes are counted, not trusted."""
        info = self._parts.get(name.casefold())
        if info is None:
            raise DocumentError(f"its part {name} is missing.")
        seen = 0
        try:
            with self._zip.open(info) as file:
                while chunk := file.read(CHUNK_BYTES):
                    seen += len(chunk)
                    self._account(name, seen, len(chunk), info.compress_size, max_bytes)
                    yield chunk
        except _BROKEN as error:
            raise DocumentError(f"its part {name} is damaged ({_reason(error)}).") from error

    def tree(self, name: str) -> Element:
        """Parse a whole part into memory."""
        return parse(self.read(name), name)

    def tree_or_none(self, name: str) -> Element | None:
        """Like `tree`, for an optional part."""
        return self.tree(name) if name in self else None

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the relations of a part by id; `""` means the whole package."""
        folder, _, file = name.rpartition("/")
        tree = self.tree_or_none(posixpath.join(folder, "_rels", f"{file}.rels"))
        relations: dict[str, Relation] = {}
        for child in tree if tree is not None else ():
            target, kind = child.get("Target", ""), child.get("Type", "").rpartition("/")[2]
            external = child.get("TargetMode", "").casefold() == "external"
            path = target if external else resolve(folder, target)
            relations[child.get("Id", "")] = Relation(path, kind, external)
        return relations

    def _account(self, name: str, seen: int, more: int, packed: int, max_bytes: int) -> None:
        self.deadline.check()
        self._room -= more
        if seen > max_bytes:
            raise DocumentError(f"its part {name} has more than {max_bytes // MIB} MiB.")
        if seen > RATIO_FREE_BYTES and seen > MAX_RATIO * max(packed, 1):
            raise DocumentError(
                f"its part {name} unpacks to over {MAX_RATIO} times its size, like a zip bomb."
            )
        if self._room < 0:
            raise DocumentError(f"its parts unpack to more than {MAX_TOTAL_BYTES // MIB} MiB.")


def resolve(folder: str, target: str) -> str:
    """Resolve `target`, relative to `folder`, to a part name."""
    path = unquote(target.partition("#")[0].replace("\\", "/"))
    path = posixpath.normpath(posixpath.join("/", folder, path))
    return path.lstrip("/")


def parse(data: bytes, name: str) -> Element:
    """Parse XML to a tree. Rejects DTDs (hence all entities) and excessive markup."""
    Prolog(name).feed(data, final=True)
    if data.count(b"<") - data.count(b"</") + data.count(b"=") > MAX_MARKUP:
        raise DocumentError(f"its part {name} has more than {MAX_MARKUP:,} elements and attributes.")
    try:
        return ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise DocumentError(f"its part {name} is not well-formed XML ({error}).") from error


class Prolog:
    """Checks the XML before the root element, the only place where a DTD can declare entities."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._over = False
        self._parser = expat.ParserCreate()
        # Newer versions of expat defer incomplete tokens; here every byte must be parsed at once.
        at_once = getattr(self._parser, "SetReparseDeferralEnabled", None)
        if at_once is not None:
            at_once(False)
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._root

    def feed(self, data: bytes, final: bool = False) -> None:
        """Check more data; free once the root element was seen. Raises DocumentError."""
        if self._over:
            return
        try:
            self._parser.Parse(data, final)
        except _RootReached:
            self._over = True
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise DocumentError(f"its part {self._name} is not well-formed XML ({error}).") from error

    def _doctype(self, root: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise DocumentError(f"its part {self._name} declares entities, which are not expanded here.")

    def _root(self, tag: str, attributes: dict[str, str]) -> None:
        raise _RootReached


class _RootReached(Exception):
    """The prolog has ended."""


def stream(package: XmlPackage, name: str, whole: str) -> Iterator[tuple[bool, str, Element]]:
    """Stream a large part: (whether it ends, tag, element) for each element's start and end.

    Only elements named `whole` are complete when they end; others are emptied along the way.
    """
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    prolog = Prolog(name)
    opened: list[Element] = []
    held = quiet_bytes = 0
    try:
        for chunk in package.chunks(name, MAX_TOTAL_BYTES):
            prolog.feed(chunk)
            parser.feed(chunk)
            quiet_bytes += len(chunk)
            for event, element in parser.read_events():
                quiet_bytes, tag = 0, local(element)
                if event == "start":
                    opened.append(element)
                    held += held > 0 or tag == whole
                else:
                    opened.pop()
                    held = held if tag != whole else 0
                _check_stream(name, len(opened), held, 0)
                yield event == "end", tag, element
            _check_stream(name, 0, 0, quiet_bytes)
            for element in opened:
                if local(element) == whole:
                    break
                element.clear()
        parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise DocumentError(f"its part {name} is not well-formed XML ({error}).") from error


def _check_stream(name: str, depth: int, held: int, quiet_bytes: int) -> None:
    if depth > MAX_DEPTH or held > MAX_HELD_ELEMENTS or quiet_bytes > MAX_ELEMENT_BYTES:
        raise DocumentError(
            f"its part {name} has an element that is larger or deeper than in real documents."
        )


def local(element: Element) -> str:
    """Return the tag without its namespace, which differs between strict and transitional files."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element | None, name: str, default: str = "") -> str:
    """Get an attribute by its local name."""
    if element is None:
        return default
    value = element.get(name)
    if value is not None:
        return value
    for key, value in element.items():
        if key.endswith(f"}}{name}"):
            return value
    return default


def child(element: Element | None, *path: str) -> Element | None:
    """Find the first descendant along a path of local names."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if local(each) == name), None)
    return element


def children(element: Element | None, *path: str) -> Iterable[Element]:
    """Return the children at the end of such a path, if any."""
    parent = child(element, *path)
    return () if parent is None else parent


def descendants(element: Element, name: str) -> Iterator[Element]:
    return (each for each in element.iter() if local(each) == name)


def number(text: str, default: int = 0) -> int:
    """Parse a count; the default if it is invalid or has too many digits."""
    try:
        return int(text) if len(text) <= 12 else default
    except ValueError:
        return default


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
