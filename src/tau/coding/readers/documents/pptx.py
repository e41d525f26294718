"""Convert PowerPoint files to Markdown: slides in order with titles, bullets, tables, pictures and notes."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.limits import MAX_DEPTH, DocumentError
from tau.coding.readers.documents.markdown import MarkdownWriter, TextRun
from tau.coding.readers.documents.xml_package import (
    Relation,
    XmlPackage,
    attribute,
    child,
    descendants,
    local,
    number,
)

TITLES = {"title", "ctrTitle"}
FURNITURE = {"dt", "ftr", "sldNum", "hdr", "sldImg"}  # date, footer, number: the same on every slide
BULLETED = {"body", "obj", ""}  # placeholders whose paragraphs are bullets unless they say otherwise


def read(package: XmlPackage, main: str, out: MarkdownWriter) -> None:
    relations = package.relations(main)
    slides = [relations.get(attribute_of_relation(each)) for each in descendants(package.tree(main), "sldId")]
    names = [relation.target for relation in slides if relation is not None]
    if not names:
        out.note("The presentation has no slides")
    for index, name in enumerate(names, 1):
        _slide(package, name, index, out)


def attribute_of_relation(element: Element) -> str:
    """Return `r:id`, which is distinct from the plain `id`."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")


def _slide(package: XmlPackage, name: str, index: int, out: MarkdownWriter) -> None:
    tree = package.tree(name)
    relations = package.relations(name)
    shapes = child(tree, "cSld", "spTree")
    if shapes is None:
        raise DocumentError(f"its part {name} has no shapes.")
    writer = _Writer(package, relations, out)
    all_shapes = list(_shapes(shapes, 0))
    title = next((shape for shape in all_shapes if _placeholder(shape) in TITLES), None)
    text = "" if title is None else markdown.one_line(writer.text_of(title))
    hidden = " (hidden)" if attribute(tree, "show") in ("0", "false") else ""
    out.add(markdown.heading(2, f"Slide {index}{hidden}{f': {text}' if text else ''}"))
    for shape in all_shapes:
        package.deadline.check()
        if shape is not title:
            writer.shape(shape)
    notes = [relation for relation in relations.values() if relation.kind == "notesSlide"]
    for relation in notes[:1]:
        _notes(package, relation, out)


def _notes(package: XmlPackage, relation: Relation, out: MarkdownWriter) -> None:
    if relation.target not in package:
        return
    shapes = child(package.tree(relation.target), "cSld", "spTree")
    if shapes is None:
        return
    writer = _Writer(package, package.relations(relation.target), out)
    texts = [writer.text_of(shape) for shape in _shapes(shapes, 0) if _placeholder(shape) == "body"]
    text = "\n".join(text for text in texts if text.strip())
    if text:
        out.add("Notes:\n\n" + "\n".join(f"> {line}".rstrip() for line in text.split("\n")))


class _Writer:
    def __init__(self, package: XmlPackage, relations: dict[str, Relation], out: MarkdownWriter) -> None:
        self._package = package
        self._relations = relations
        self._out = out

    def shape(self, shape: Element) -> None:
        tag = local(shape)
        if tag == "pic":
            self._out.add(markdown.image(_name(shape)))
        elif tag == "graphicFrame":
            self._graphic(shape)
        elif _placeholder(shape) not in FURNITURE:
            self._paragraphs(shape)

    def text_of(self, shape: Element) -> str:
        return "\n".join(self._paragraph(each) for each in _paragraphs(shape))

    def _graphic(self, frame: Element) -> None:
        tables = list(descendants(frame, "tbl"))
        for table in tables:
            rows = [
                [self._cell(cell) for cell in row if local(cell) == "tc"]
                for row in table
                if local(row) == "tr"
            ]
            self._out.add(markdown.table(rows))
        if not tables:
            kind = "chart" if next(descendants(frame, "chart"), None) is not None else "object"
            self._out.add(f"[{kind}: {markdown.one_line(_name(frame)) or 'unnamed'}]")

    def _cell(self, cell: Element) -> str:
        if "1" in (attribute(cell, "hMerge"), attribute(cell, "vMerge")):
            return ""
        return "\n".join(text for each in _paragraphs(cell) if (text := self._paragraph(each)))

    def _paragraphs(self, shape: Element) -> None:
        bulleted = _placeholder(shape) in BULLETED
        counts: dict[int, int] = {}
        for paragraph in _paragraphs(shape):
            text = self._paragraph(paragraph)
            if not text:
                continue
            properties = child(paragraph, "pPr")
            level = min(max(number(attribute(properties, "lvl")), 0), 8)
            numbered = child(properties, "buAutoNum") is not None
            marked = numbered or any(child(properties, each) is not None for each in ("buChar", "buBlip"))
            counts = {each: count for each, count in counts.items() if each <= level}
            if numbered:
                counts[level] = counts.get(level, 0) + 1
                self._out.item(level, f"{counts[level]}.", text)
            elif marked or (bulleted and child(properties, "buNone") is None) or level:
                counts.pop(level, None)
                self._out.item(level, "-", text)
            else:
                self._out.add(markdown.escape_start(text))

    def _paragraph(self, paragraph: Element) -> str:
        return markdown.inline(self._spans(paragraph)).strip()

    def _spans(self, paragraph: Element) -> Iterator[TextRun]:
        for element in paragraph:
            tag = local(element)
            if tag == "br":
                yield TextRun("\n")
            elif tag in ("r", "fld"):
                properties = child(element, "rPr")
                text = "".join(each.text or "" for each in element if local(each) == "t")
                yield TextRun(
                    markdown.clean(text),
                    bold=attribute(properties, "b") in ("1", "true"),
                    italic=attribute(properties, "i") in ("1", "true"),
                    strike=attribute(properties, "strike", "noStrike") != "noStrike",
                    link=self._target(child(properties, "hlinkClick")),
                )
            elif tag in ("m", "AlternateContent"):
                yield TextRun("".join(each.text or "" for each in descendants(element, "t")))

    def _target(self, link: Element | None) -> str:
        relation = None if link is None else self._relations.get(attribute_of_relation(link))
        return relation.target if relation is not None and relation.external else ""


def _shapes(parent: Element, depth: int) -> Iterator[Element]:
    """Yield shapes, pictures and frames in slide order, including those in groups."""
    if depth > MAX_DEPTH:
        raise DocumentError("its groups are nested too deeply.")
    for element in parent:
        tag = local(element)
        if tag in ("sp", "pic", "graphicFrame"):
            yield element
        elif tag in ("grpSp", "Choice"):
            yield from _shapes(element, depth + 1)
        elif tag == "AlternateContent":
            chosen = child(element, "Choice")
            chosen = child(element, "Fallback") if chosen is None or not len(chosen) else chosen
            if chosen is not None:
                yield from _shapes(chosen, depth + 1)


def _paragraphs(shape: Element) -> Iterator[Element]:
    body = child(shape, "txBody")
    return (each for each in (body if body is not None else ()) if local(each) == "p")


def _placeholder(shape: Element) -> str | None:
    """Return the placeholder type of a shape: "" for the generic one, None if it is not a placeholder."""
    element = child(shape, "nvSpPr", "nvPr", "ph")
    return None if element is None else attribute(element, "type")


def _name(shape: Element) -> str:
    properties = next(descendants(shape, "cNvPr"), None)
    return attribute(properties, "descr") or attribute(properties, "name")
