"""Excel workbooks to Markdown: each sheet as a table of the values that Excel last showed."""

import re
from collections.abc import Iterator
from itertools import islice
from xml.etree.ElementTree import Element

from msgspec import Struct

from tau.coding.documents import markdown
from tau.coding.documents.markdown import MarkdownWriter
from tau.coding.documents.package import (
    Relation,
    XmlPackage,
    attribute,
    child,
    descendants,
    local,
    number,
    stream,
)
from tau.coding.documents.xlsx_values import Formats, read_formats, written

MAX_ROWS = 2_000
MAX_COLUMNS = 100
MAX_SHEETS = 200
MAX_CELLS = 1_000_000  # of all sheets together
MAX_CELL_CHARS = 32_768  # Excel's own limit
_CELL_NAME = re.compile(r"([A-Za-z]{1,3})(\d{0,7})")
_LAST_ROW = re.compile(r"\d+$")


class _SheetCell(Struct, frozen=True, gc=False):
    """As it stands in the file: `kind` is its `t`, `style` its `s`."""

    column: int
    kind: str
    style: int
    value: str


class Sheet(Struct, frozen=True, kw_only=True):
    name: str
    hidden: bool
    rows: list[list[_SheetCell]] = []
    more_rows: bool = False
    more_columns: bool = False
    last_row: int = 0  # as the sheet itself says, 0 if it does not
    note: str = ""


def read(package: XmlPackage, main: str, out: MarkdownWriter) -> None:
    workbook = package.tree(main)
    relations = package.relations(main)
    parts = {relation.kind: relation.target for relation in relations.values() if not relation.external}
    elements = list(descendants(workbook, "sheet"))
    sheets: list[Sheet] = []
    cells_left = MAX_CELLS
    for element in elements[:MAX_SHEETS]:
        sheet = _sheet(package, element, relations, cells_left)
        cells_left -= sum(len(row) for row in sheet.rows)
        sheets.append(sheet)
    base_1904 = attribute(child(workbook, "workbookPr"), "date1904") in ("1", "true")
    formats = read_formats(package.tree_or_none(parts.get("styles", "xl/styles.xml")), base_1904)
    strings = _shared_strings(package, parts.get("sharedStrings", "xl/sharedStrings.xml"), sheets)
    for sheet in sheets:
        _write(package, sheet, formats, strings, out)
    if len(elements) > MAX_SHEETS:
        out.note(f"Showing {MAX_SHEETS} of {len(elements)} sheets")


def _sheet(package: XmlPackage, element: Element, relations: dict[str, Relation], cells_left: int) -> Sheet:
    name = markdown.clean(element.get("name", "")) or "Sheet"
    hidden = element.get("state", "visible") != "visible"
    relation = relations.get(next((value for key, value in element.items() if key.endswith("}id")), ""))
    if relation is None or relation.target not in package:
        return Sheet(name=name, hidden=hidden, note="The sheet's data is missing")
    if relation.kind != "worksheet":
        return Sheet(name=name, hidden=hidden, note="This sheet is a chart")
    return _Reader(package, relation.target, min(cells_left, MAX_CELLS)).read(name, hidden)


class _Reader:
    """Reads the first rows of one sheet piece by piece; what follows them is neither unpacked nor parsed."""

    def __init__(self, package: XmlPackage, part: str, cells_left: int) -> None:
        self._package = package
        self._part = part
        self._cells_left = cells_left
        self._rows: list[list[_SheetCell]] = []
        self._row: list[_SheetCell] = []
        self._more_rows = self._more_columns = False
        self._last_row = 0

    def read(self, name: str, hidden: bool) -> Sheet:
        for ended, tag, element in stream(self._package, self._part, "c"):
            if tag == "dimension" and not ended:
                match = _LAST_ROW.search(element.get("ref", ""))
                self._last_row = number(match[0]) if match else 0
            elif tag == "c" and ended:
                self._cell(element)
            elif ended and (tag == "sheetData" or (tag == "row" and not self._end_of_row())):
                break
        return Sheet(
            name=name,
            hidden=hidden,
            rows=self._rows,
            more_rows=self._more_rows,
            more_columns=self._more_columns,
            last_row=self._last_row,
        )

    def _cell(self, element: Element) -> None:
        match = _CELL_NAME.match(element.get("r", ""))
        previous = self._row[-1].column if self._row else -1
        column = _column(match[1]) if match else previous + 1
        value = _raw_value(element)
        if not value:
            return
        if column >= MAX_COLUMNS:
            self._more_columns = True
        elif column > previous:
            kind, style = element.get("t", "n"), number(element.get("s", ""))
            self._row.append(_SheetCell(column, kind, style, value[:MAX_CELL_CHARS]))

    def _end_of_row(self) -> bool:
        """Keep the row; False when there is no room for more."""
        if not self._row:
            return True
        if len(self._rows) == MAX_ROWS or len(self._row) > self._cells_left:
            self._more_rows = True
            return False
        self._cells_left -= len(self._row)
        self._rows.append(self._row)
        self._row = []
        return True


def _raw_value(cell: Element) -> str:
    """What is in the cell; a formula that was never calculated stands for itself."""
    formula = ""
    for element in cell:
        tag = local(element)
        if tag == "v" and element.text:
            return element.text
        if tag == "is":
            return _rich_text(element)
        if tag == "f" and element.text:
            formula = f"={element.text}"
    return formula


def _shared_strings(package: XmlPackage, part: str, sheets: list[Sheet]) -> dict[int, str]:
    """Those strings that the cells refer to, read up to the last one of them."""
    wanted = {
        number(cell.value, -1) for sheet in sheets for row in sheet.rows for cell in row if cell.kind == "s"
    }
    if not wanted or part not in package:
        return {}
    strings: dict[int, str] = {}
    last, index = max(wanted), 0
    for ended, tag, element in stream(package, part, "si"):
        if ended and tag == "si":
            if index in wanted:
                strings[index] = _rich_text(element)
            if index == last:
                break
            index += 1
    return strings


def _rich_text(element: Element) -> str:
    """The text of all runs, without the readings that Japanese workbooks add."""
    parts = []
    for each in element:
        tag = local(each)
        if tag == "t":
            parts.append(each.text or "")
        elif tag == "r":
            parts += [inner.text or "" for inner in each if local(inner) == "t"]
    return "".join(parts)[:MAX_CELL_CHARS]


def _write(
    package: XmlPackage, sheet: Sheet, formats: Formats, strings: dict[int, str], out: MarkdownWriter
) -> None:
    package.deadline.check()
    out.add(markdown.heading(2, f"{sheet.name}{' (hidden)' if sheet.hidden else ''}"))
    if sheet.note:
        out.note(sheet.note)
        return
    if not sheet.rows:
        out.note("The sheet is empty")
        return
    out.add(markdown.table(list(islice(_texts(package, sheet, formats, strings), MAX_ROWS))))
    if sheet.more_rows:
        of = f" of {sheet.last_row}" if sheet.last_row > len(sheet.rows) else ""
        out.note(f"Showing the first {len(sheet.rows)} rows{of}")
    if sheet.more_columns:
        out.note(f"Columns after the first {MAX_COLUMNS} are not shown")


def _texts(
    package: XmlPackage, sheet: Sheet, formats: Formats, strings: dict[int, str]
) -> Iterator[list[str]]:
    for row in sheet.rows:
        package.deadline.check()
        texts = [""] * (row[-1].column + 1)
        for cell in row:
            value = cell.value
            if cell.kind == "s":
                value = strings.get(number(value, -1), "")
            texts[cell.column] = markdown.clean(written(value, cell.kind, formats.of(cell.style)))
        yield texts


def _column(letters: str) -> int:
    """`A` is 0, `AA` is 26."""
    index = 0
    for letter in letters.upper():
        index = index * 26 + ord(letter) - 64
    return index - 1
