"""Convert Excel workbooks to Markdown: each sheet as a table of the last calculated values."""

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.markdown import MarkdownWriter
from tau.coding.readers.documents.xml_package import (
    Relation,
    XmlPackage,
    attribute,
    child,
    children,
    descendants,
    local,
    number,
    stream,
)

_Look = Literal["number", "percent", "date", "time", "datetime", "duration"]

_BUILT_IN_RANGES: list[tuple[int, int, _Look]] = [
    (9, 10, "percent"),
    (14, 17, "date"),
    (18, 21, "time"),
    (22, 22, "datetime"),
    (27, 31, "date"),
    (32, 35, "time"),
    (36, 36, "date"),
    (45, 45, "time"),
    (46, 46, "duration"),
    (47, 47, "time"),
    (50, 54, "date"),
    (55, 56, "time"),
    (57, 58, "date"),
]
BUILT_IN = {id: look for first, last, look in _BUILT_IN_RANGES for id in range(first, last + 1)}
_NOT_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
LAST_SERIAL = 2_958_466  # in Excel's serial days: just after the year 9999


class Format(Struct, frozen=True, gc=False):
    """A number format: `decimals` is for percentages, `base_1904` the epoch of serial dates."""

    look: _Look = "number"
    decimals: int = 0
    base_1904: bool = False


def read_formats(styles: Element | None, base_1904: bool) -> list[Format]:
    """Read the number format of each cell style."""
    if styles is None:
        return []
    codes = {
        number(attribute(each, "numFmtId")): attribute(each, "formatCode")
        for each in children(styles, "numFmts")
    }
    formats: list[Format] = []
    for each in children(styles, "cellXfs"):
        if local(each) == "xf":
            id = number(attribute(each, "numFmtId"))
            code = codes.get(id, "0.00%" if id == 10 else "")
            look = look_of(code) if id in codes else BUILT_IN.get(id, "number")
            formats.append(Format(look, _decimals(code), base_1904))
    return formats


def look_of(code: str) -> _Look:
    """Classify a number format; only its section for positive numbers counts."""
    first = _NOT_CODES.sub("", code.partition(";")[0]).casefold()
    if re.search(r"\[[hms]+\]", first):
        return "duration"
    if "general" in first:
        return "number"
    has_date = "y" in first or "d" in first or ("m" in first and "h" not in first and "s" not in first)
    has_time = "h" in first or "s" in first
    if has_date or has_time:
        return "datetime" if has_date and has_time else "date" if has_date else "time"
    return "percent" if "%" in first else "number"


def written(value: str, kind: str, format: Format) -> str:
    """Format a cell of type `n`, `b`, `e` or `d`; other text is unchanged."""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(value, value)
    if kind == "d":
        return value.replace("T00:00:00", "").removesuffix("Z").replace("T", " ")
    if kind != "n" or value.startswith("="):
        return value
    try:
        amount = float(value)
    except ValueError:
        return value
    if not math.isfinite(amount):
        return value
    if format.look == "percent":
        return f"{amount * 100:.{format.decimals}f}%"
    if format.look == "number":
        return _number(value, amount)
    return _date(amount, format) or _number(value, amount)


def _number(value: str, amount: float) -> str:
    """Format with Excel's fifteen digits; the rest is floating-point noise."""
    if re.fullmatch(r"-?\d{1,15}", value):
        return value
    return f"{amount:.15g}"


def _date(serial: float, format: Format) -> str:
    """Format a serial date as ISO text; "" if out of range."""
    if not 0 <= serial < LAST_SERIAL:
        return ""
    if format.look == "duration":
        minutes, seconds = divmod(round(serial * 86_400), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    if format.base_1904:
        epoch = datetime(1904, 1, 1)
    else:
        epoch = datetime(1899, 12, 30) if serial >= 60 else datetime(1899, 12, 31)  # 1900 was no leap year
    try:
        moment = epoch + timedelta(seconds=round(serial * 86_400))
    except OverflowError:
        return ""
    time = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    if format.look == "time" and serial < 1:
        return time
    date = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return date if format.look == "date" and time == "00:00" else f"{date} {time}"


def _decimals(code: str) -> int:
    match = re.search(r"0\.(0+)", code.partition(";")[0])
    return min(len(match[1]), 10) if match else 0


MAX_ROWS = 2_000
MAX_COLUMNS = 100
MAX_SHEETS = 200
MAX_CELLS = 1_000_000  # of all sheets together
MAX_CELL_CHARS = 32_768  # Excel's own limit
_CELL_NAME = re.compile(r"([A-Za-z]{1,3})(\d{0,7})")
_LAST_ROW = re.compile(r"\d+$")


class _SheetCell(Struct, frozen=True, gc=False):
    """A raw cell: `kind` is its `t` attribute, `style` its `s`."""

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
    last_row: int = 0  # as declared by the sheet, else 0
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
    """Streams the first rows of a sheet; the rest is neither unpacked nor parsed."""

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
        """Finish the row; False when the limit is reached."""
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
    """Return the cell's value, or its formula if it was never calculated."""
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
    """Read the strings that cells refer to, up to the last one."""
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
    """Return the text of all runs, without phonetic readings."""
    parts = []
    for each in element:
        tag = local(each)
        if tag == "t":
            parts.append(each.text or "")
        elif tag == "r":
            parts += [inner.text or "" for inner in each if local(inner) == "t"]
    return "".join(parts)[:MAX_CELL_CHARS]


def _write(
    package: XmlPackage, sheet: Sheet, formats: list[Format], strings: dict[int, str], out: MarkdownWriter
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
    package: XmlPackage, sheet: Sheet, formats: list[Format], strings: dict[int, str]
) -> Iterator[list[str]]:
    for row in sheet.rows:
        package.deadline.check()
        texts = [""] * (row[-1].column + 1)
        for cell in row:
            value = cell.value
            if cell.kind == "s":
                value = strings.get(number(value, -1), "")
            format = formats[cell.style] if 0 <= cell.style < len(formats) else Format()
            texts[cell.column] = markdown.clean(written(value, cell.kind, format))
        yield texts


def _column(letters: str) -> int:
    """`A` is 0, `AA` is 26."""
    index = 0
    for letter in letters.upper():
        index = index * 26 + ord(letter) - 64
    return index - 1
