"""Convert Word documents to Markdown: headings, emphasis, lists, tables, links, notes; no deleted text."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.docx_styles import (
    Numbering,
    ParagraphStyle,
    is_monospaced,
    is_on,
    numbering_of,
    outline_level,
    read_styles,
)
from tau.coding.readers.documents.limits import MAX_DEPTH, DocumentError, check_cells
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

# Transparent wrappers; `del` and `moveFrom` are left out on purpose.
WRAPPERS = {"ins", "moveTo", "smartTag", "customXml", "sdtContent", "Choice", "dir", "bdo", "fldSimple"}
BREAKS = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
NOTES = {"footnoteReference": "", "endnoteReference": "e", "commentReference": "c"}
_HYPERLINK = re.compile(r'\bHYPERLINK\s+(?:\\l\s+)?"([^"]+)"')
_PLAIN_NUMBER = re.compile(r"(\d{1,9})[.)]$")


def read(package: XmlPackage, main: str, out: MarkdownWriter) -> None:
    body = child(package.tree(main), "body")
    if body is None:
        raise DocumentError(f"its part {main} has no body.")
    relations = package.relations(main)
    parts = {relation.kind: relation.target for relation in relations.values() if not relation.external}
    writer = _Writer(package, parts, relations, out)
    writer.blocks(body, 0)
    writer.close_code()
    for kind, prefix, title in (("footnotes", "", ""), ("endnotes", "e", ""), ("comments", "c", "Comment")):
        if kind in parts and parts[kind] in package:
            writer.notes(parts[kind], prefix, title)


class _Writer:
    def __init__(
        self, package: XmlPackage, parts: dict[str, str], relations: dict[str, Relation], out: MarkdownWriter
    ) -> None:
        self._package = package
        self._relations = relations
        self._out = out
        self._styles = read_styles(package.tree_or_none(parts.get("styles", "word/styles.xml")))
        self._numbering = Numbering(package.tree_or_none(parts.get("numbering", "word/numbering.xml")))
        self._code: list[str] = []
        self._referred: set[str] = set()

    def blocks(self, parent: Element, depth: int) -> None:
        """Write the paragraphs and tables of `parent`."""
        for element in _content(parent, depth):
            self._package.deadline.check()
            if local(element) == "tbl":
                self.close_code()
                self._table(element, depth + 1)
            else:
                self._paragraph(element, depth)

    def notes(self, part: str, prefix: str, title: str) -> None:
        """Write referenced footnotes, endnotes and comments as Markdown footnotes."""
        self._relations = self._package.relations(part)
        for note in self._package.tree(part):
            mark = prefix + attribute(note, "id")
            if mark not in self._referred:
                continue
            texts = [self._text(each, 0) for each in _content(note, 0) if local(each) == "p"]
            text = " ".join(markdown.one_line(each) for each in texts if each.strip())
            if title:
                author = attribute(note, "author")
                text = f"{title}{f' by {author}' if author else ''}: {text}"
            self._out.add(f"[^{mark}]: {text}")

    def close_code(self) -> None:
        if self._code:
            lines, self._code = self._code, []
            self._out.add(markdown.fenced("\n".join(lines)))

    def _paragraph(self, paragraph: Element, depth: int) -> None:
        properties = child(paragraph, "pPr")
        style = self._styles.get(attribute(child(properties, "pStyle"), "val"), ParagraphStyle())
        spans = list(self._spans(paragraph, depth))
        bare = markdown.plain_text(spans).strip()
        listed = self._list_marker(properties, style)
        heading = outline_level(properties) or style.heading
        is_code = bool(bare) and not heading and listed is None and not any(span.raw for span in spans)
        if is_code and (style.code or all(span.code or not span.text.strip() for span in spans)):
            self._code.append(markdown.plain_text(spans))
        elif bare:
            self.close_code()
            self._write(spans, heading, listed)
        elif self._code and style.code:
            self._code.append("")
        for box in _text_boxes(paragraph):
            self.blocks(box, depth + 1)

    def _list_marker(self, properties: Element | None, style: ParagraphStyle) -> tuple[str, int] | None:
        """Return the marker and level of an item; a paragraph's numbering overrides its style's."""
        numbering = numbering_of(properties) or style.numbering
        if numbering is None:
            return None
        label = self._numbering.label(*numbering)
        return None if label is None else (label, numbering[1] or style.list_level)

    def _write(self, spans: list[TextRun], heading: int, listed: tuple[str, int] | None) -> None:
        label, level = listed or ("", 0)
        if heading:
            plain = [TextRun(span.text, link=span.link, raw=span.raw, code=span.code) for span in spans]
            text = markdown.inline(plain).strip()
            self._out.add(markdown.heading(heading, f"{label} {text}" if label not in ("", "-") else text))
            return
        text = markdown.inline(spans).strip()
        if listed is None:
            self._out.add(markdown.escape_start(text))
        elif match := _PLAIN_NUMBER.match(label):
            self._out.item(level, f"{match[1]}.", text)
        else:
            self._out.item(level, "-", text if label in ("", "-") else f"{label} {text}")

    def _text(self, paragraph: Element, depth: int) -> str:
        return markdown.inline(self._spans(paragraph, depth)).strip()

    def _spans(self, parent: Element, depth: int, link: str = "") -> Iterator[TextRun]:
        """Yield the text of a paragraph. Link fields span several runs: `field` is the open one's."""
        if depth > MAX_DEPTH:
            raise DocumentError("its elements are nested too deeply.")
        field, instruction = "", ""
        for element in parent:
            tag = local(element)
            if tag == "r":
                mark = child(element, "fldChar")
                if mark is not None:
                    state = attribute(mark, "fldCharType")
                    match = _HYPERLINK.search(instruction) if state == "separate" else None
                    field, instruction = match[1] if match else "", ""
                instruction += "".join(each.text or "" for each in element if local(each) == "instrText")
                yield from self._run(element, link or field)
            elif tag == "hyperlink":
                yield from self._spans(element, depth + 1, self._target(element) or link)
            elif tag == "fldSimple":
                match = _HYPERLINK.search(attribute(element, "instr"))
                yield from self._spans(element, depth + 1, match[1] if match else link)
            elif tag in WRAPPERS:
                yield from self._spans(element, depth + 1, link)
            elif tag in ("sdt", "AlternateContent"):
                yield from self._spans(_chosen(element), depth + 1, link)
            elif tag in ("oMath", "oMathPara"):
                yield TextRun("".join(each.text or "" for each in descendants(element, "t")))

    def _run(self, run: Element, link: str) -> Iterator[TextRun]:
        properties = child(run, "rPr")
        style = self._styles.get(attribute(child(properties, "rStyle"), "val"), ParagraphStyle())
        if is_on(properties, "vanish"):
            return
        bold, italic = style.bold or is_on(properties, "b"), style.italic or is_on(properties, "i")
        strike = is_on(properties, "strike") or is_on(properties, "dstrike")
        code = style.code or is_monospaced(properties)
        for element in run:
            tag = local(element)
            if tag == "t":
                text = markdown.clean(element.text or "")
                yield TextRun(text, bold, italic, code, strike, link)
            elif tag in BREAKS:
                yield TextRun("" if attribute(element, "type") == "page" else BREAKS[tag], code=code)
            elif tag == "sym":
                yield TextRun(_symbol(attribute(element, "char")))
            elif tag in NOTES:
                mark = NOTES[tag] + attribute(element, "id")
                self._referred.add(mark)
                yield TextRun(f"[^{mark}]", raw=True)
            elif tag in ("drawing", "pict", "object", "AlternateContent"):
                yield from self._pictures(element)

    def _pictures(self, drawing: Element) -> Iterator[TextRun]:
        chosen = _chosen(drawing) if local(drawing) == "AlternateContent" else drawing
        source = properties = None
        for element in _outside_boxes(chosen):
            tag = local(element)
            if tag in ("blip", "imagedata") and source is None:
                source = element
            elif tag == "docPr" and properties is None:
                properties = element
        if source is None:
            return
        name = attribute(properties, "descr") or attribute(source, "title") or attribute(properties, "name")
        relation = self._relations.get(attribute(source, "embed") or attribute(source, "id"))
        if not name and relation is not None:
            name = relation.target.rpartition("/")[2]
        yield TextRun(markdown.image(name), raw=True)

    def _target(self, hyperlink: Element) -> str:
        relation = self._relations.get(attribute(hyperlink, "id"))
        anchor = attribute(hyperlink, "anchor")
        if relation is None or not relation.external:
            return f"#{anchor}" if anchor else ""
        return f"{relation.target}#{anchor}" if anchor else relation.target

    def _table(self, table: Element, depth: int) -> None:
        rows = []
        count = 0
        for row in _rows(table, depth):
            rows.append(_cells(row))
            count += len(rows[-1])
            check_cells(count)
        if len(rows) == 1 and len(rows[0]) == 1 and rows[0][0] is not None:
            self.blocks(rows[0][0], depth)  # a frame around text, not data
            self.close_code()
            return
        texts = [["" if each is None else self._cell(each, depth) for each in row] for row in rows]
        self._out.add(markdown.table(texts))

    def _cell(self, cell: Element, depth: int) -> str:
        parts = []
        for element in _content(cell, depth):
            if local(element) == "p":
                properties = child(element, "pPr")
                text = self._text(element, depth)
                listed = self._list_marker(properties, ParagraphStyle())
                parts.append(f"{listed[0]} {text}".strip() if listed and text else text)
            else:
                inner = [_cells(row) for row in _rows(element, depth + 1)]
                parts += [
                    "; ".join("" if each is None else self._cell(each, depth + 1) for each in row)
                    for row in inner
                ]
        return "\n".join(part for part in parts if part)


def _content(parent: Element, depth: int) -> Iterator[Element]:
    """Yield paragraphs and tables, including those inside wrappers."""
    if depth > MAX_DEPTH:
        raise DocumentError("its elements are nested too deeply.")
    for element in parent:
        tag = local(element)
        if tag in ("p", "tbl"):
            yield element
        elif tag in WRAPPERS:
            yield from _content(element, depth + 1)
        elif tag in ("sdt", "AlternateContent"):
            yield from _content(_chosen(element), depth + 1)


def _chosen(element: Element) -> Element:
    """Resolve an alternative to its first choice, a content control to its content."""
    for name in ("Choice", "sdtContent", "Fallback"):
        chosen = child(element, name)
        if chosen is not None and len(chosen):
            return chosen
    return element


def _rows(table: Element, depth: int) -> Iterator[Element]:
    if depth > MAX_DEPTH:
        raise DocumentError("its elements are nested too deeply.")
    for element in table:
        tag = local(element)
        if tag == "tr" and child(element, "trPr", "del") is None:
            yield element
        elif tag in WRAPPERS or tag == "sdt":
            yield from _rows(_chosen(element), depth + 1)


def _cells(row: Element) -> list[Element | None]:
    """Return the cells of a row; None for a continuation of another cell."""
    cells: list[Element | None] = []
    for element in row:
        if local(element) == "sdt":
            element = next((each for each in _chosen(element) if local(each) == "tc"), element)
        if local(element) != "tc":
            continue
        properties = child(element, "tcPr")
        merge = child(properties, "vMerge")
        continued = merge is not None and attribute(merge, "val", "continue") != "restart"
        cells.append(None if continued else element)
        span = number(attribute(child(properties, "gridSpan"), "val"), 1)
        cells += [None] * min(max(span - 1, 0), 62)
    return cells


def _text_boxes(paragraph: Element) -> Iterator[Element]:
    """Yield the contents of text boxes anchored to a paragraph."""
    return (element for element in _outside_boxes(paragraph) if local(element) == "txbxContent")


def _outside_boxes(parent: Element) -> Iterator[Element]:
    """Yield all descendants, without the contents of text boxes and unchosen alternatives."""
    waiting = [parent]
    while waiting:
        element = waiting.pop()
        yield element
        tag = local(element)
        if tag == "AlternateContent":
            waiting += reversed(_chosen(element))
        elif tag != "txbxContent" or element is parent:
            waiting += reversed(element)


def _symbol(code: str) -> str:
    """Map a symbol font character; private-use codes become a bullet."""
    try:
        value = int(code, 16)
        character = chr(value)
    except (ValueError, OverflowError):
        return ""
    return "•" if 0xE000 <= value <= 0xF8FF or not character.isprintable() else character
