"""Styles and numbering of Word documents: headings, code, and list labels."""

import re
from xml.etree.ElementTree import Element

from msgspec import Struct

from tau.coding.readers.documents.xml_package import attribute, child, local, number

_HEADING = re.compile(r"heading (\d)$", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number) ([2-9])$", re.IGNORECASE)
_CODE_STYLE = re.compile(r"\bcode\b|preformatted|verbatim|\bsource\b", re.IGNORECASE)
_MONOSPACED = re.compile(
    r"courier|consolas|\bmono|monaco|menlo|lucida console|fixedsys|source code|inconsolata", re.IGNORECASE
)
MAX_ANCESTORS = 20
MAX_LEVEL = 8


class ParagraphStyle(Struct, frozen=True, kw_only=True):
    """`heading` is 0 if not a heading; `numbering` is (list id, level) or None.

    `bold` and `italic` apply to character styles only: a whole bold paragraph would be noise.
    """

    heading: int = 0
    code: bool = False
    bold: bool = False
    italic: bool = False
    numbering: tuple[str, int] | None = None
    list_level: int = 0  # `List Bullet 3` is a separate list, indented like a third level


class ListLevel(Struct, frozen=True, kw_only=True):
    """One level of a list: `format` as Word calls it, `text` with %1 to %9 for the numbers."""

    format: str = "decimal"
    text: str = ""
    start: int = 1


def read_styles(tree: Element | None) -> dict[str, ParagraphStyle]:
    """Read styles by id, with inheritance resolved."""
    if tree is None:
        return {}
    elements = {attribute(each, "styleId"): each for each in tree if local(each) == "style"}
    return {id: _style(each, elements) for id, each in elements.items()}


def _style(element: Element, elements: dict[str, Element]) -> ParagraphStyle:
    heading, code = 0, False
    numbering: tuple[str, int] | None = None
    current: Element | None = element
    for _ in range(MAX_ANCESTORS):
        if current is None:
            break
        name = attribute(child(current, "name"), "val")
        heading = heading or _heading(name, current)
        code = code or bool(_CODE_STYLE.search(name)) or is_monospaced(child(current, "rPr"))
        numbering = numbering or numbering_of(child(current, "pPr"))
        current = elements.get(attribute(child(current, "basedOn"), "val"))
    words = child(element, "rPr") if attribute(element, "type") == "character" else None
    return ParagraphStyle(
        heading=heading,
        code=code and not heading,
        bold=is_on(words, "b"),
        italic=is_on(words, "i"),
        numbering=numbering,
        list_level=_list_level(attribute(child(element, "name"), "val")),
    )


def _list_level(name: str) -> int:
    match = _LIST.match(name)
    return int(match[1]) - 1 if match else 0


def _heading(name: str, element: Element) -> int:
    match = _HEADING.match(name)
    if match is not None:
        return int(match[1])
    return 1 if name.casefold() == "title" else outline_level(child(element, "pPr"))


def outline_level(properties: Element | None) -> int:
    """Return the outline level of a paragraph, 1 to 9, or 0 if it has none."""
    element = child(properties, "outlineLvl")
    level = number(attribute(element, "val"), 9) if element is not None else 9
    return level + 1 if 0 <= level <= MAX_LEVEL else 0


def numbering_of(properties: Element | None) -> tuple[str, int] | None:
    element = child(properties, "numPr")
    if element is None:
        return None
    level = number(attribute(child(element, "ilvl"), "val"))
    return attribute(child(element, "numId"), "val"), min(max(level, 0), MAX_LEVEL)


def is_on(properties: Element | None, name: str) -> bool:
    """Whether a toggle property is present and not turned off."""
    element = child(properties, name)
    return element is not None and attribute(element, "val", "true") not in ("0", "false", "off", "none")


def is_monospaced(properties: Element | None) -> bool:
    fonts = child(properties, "rFonts")
    return fonts is not None and bool(_MONOSPACED.search(attribute(fonts, "ascii")))


class Numbering:
    """Counts the items of each list and labels them."""

    def __init__(self, tree: Element | None) -> None:
        self._lists: dict[str, dict[int, ListLevel]] = {}
        self._abstract_of: dict[str, str] = {}
        self._counts: dict[str, dict[int, int]] = {}
        if tree is not None:
            self._read(tree)

    def _read(self, tree: Element) -> None:
        abstracts = {
            attribute(each, "abstractNumId"): {
                number(attribute(level, "ilvl")): _level(level) for level in each if local(level) == "lvl"
            }
            for each in tree
            if local(each) == "abstractNum"
        }
        for each in tree:
            if local(each) != "num":
                continue
            id, abstract = attribute(each, "numId"), attribute(child(each, "abstractNumId"), "val")
            levels = dict(abstracts.get(abstract, {}))
            restarts = False
            for override in each:
                if local(override) == "lvlOverride":
                    restarts = True
                    at = number(attribute(override, "ilvl"))
                    levels[at] = _overridden(override, levels.get(at, ListLevel()))
            self._lists[id] = levels
            self._abstract_of[id] = f"num {id}" if restarts else f"abstract {abstract}"

    def label(self, id: str, level: int) -> str | None:
        """Return the next item's label: `-` for a bullet, its number, "" for none; None if not in a list."""
        levels = self._lists.get(id)
        if id in ("", "0") or levels is None:
            return None
        look = levels.get(level, ListLevel())
        if look.format == "bullet":
            return "-"
        counts = self._counts.setdefault(self._abstract_of[id], {})
        counts[level] = counts.get(level, look.start - 1) + 1
        for deeper in [each for each in counts if each > level]:
            del counts[deeper]
        if look.format == "none":
            return ""
        return _label(look.text or f"%{level + 1}.", counts, levels)


def _label(text: str, counts: dict[int, int], levels: dict[int, ListLevel]) -> str:
    def one(match: re.Match[str]) -> str:
        at = int(match[1]) - 1
        look = levels.get(at, ListLevel())
        return format_number(counts.get(at, look.start), look.format)

    return re.sub(r"%([1-9])", one, text).strip()


def _level(element: Element) -> ListLevel:
    return ListLevel(
        format=attribute(child(element, "numFmt"), "val", "decimal"),
        text=attribute(child(element, "lvlText"), "val"),
        start=number(attribute(child(element, "start"), "val"), 1),
    )


def _overridden(override: Element, before: ListLevel) -> ListLevel:
    own = child(override, "lvl")
    look = _level(own) if own is not None else before
    start = child(override, "startOverride")
    value = number(attribute(start, "val"), 1) if start is not None else look.start
    return ListLevel(format=look.format, text=look.text, start=value)


def format_number(value: int, format: str) -> str:
    """Format a list number: 3, c, C, iii, III, 03."""
    if format in ("lowerLetter", "upperLetter") and 0 < value <= 26 * 20:
        letters = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letters if format == "lowerLetter" else letters.upper()
    if format in ("lowerRoman", "upperRoman") and 0 < value < 4000:
        roman = _roman(value)
        return roman if format == "upperRoman" else roman.lower()
    return f"{value:02d}" if format == "decimalZero" else str(value)


def _roman(value: int) -> str:
    steps = zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    )
    written = ""
    for step, letters in steps:
        count, value = divmod(value, step)
        written += letters * count
    return written
