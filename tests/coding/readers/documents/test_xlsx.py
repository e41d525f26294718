"""Workbooks become one table per sheet, with the values that Excel last showed."""

import datetime
from pathlib import Path

import pytest

from tau.coding.readers.documents import convert
from tau.coding.readers.documents.xlsx import Format, look_of, written
from tests.coding.readers.documents.samples import excel, library, relations, saved


def markdown_of(rows: str, more: dict[str, str] | None = None) -> str:
    return convert("a.xlsx", excel(f"<sheetData>{rows}</sheetData>", more)).rstrip("\n")


def test_workbook_made_by_openpyxl(tmp_path: Path) -> None:
    book = library("openpyxl").Workbook()
    sheet = book.active
    sheet.title = "Data"
    sheet.append(["name", "when", "share", "sum", "ok", "formula"])
    sheet.append(["x|y", datetime.datetime(2024, 2, 29, 13, 5), 0.256, 0.1 + 0.2, True, "=1+1"])
    sheet["C2"].number_format = "0.0%"
    sheet.append([None, datetime.date(2020, 1, 1), 1, 12_345_678, False, datetime.time(3, 4)])
    hidden = book.create_sheet("Secret")
    hidden.sheet_state = "hidden"
    hidden["C3"] = "two\nlines"
    book.create_sheet("Nothing")
    assert convert("a.xlsx", saved(tmp_path / "a.xlsx", book.save)) == (
        "## Data\n\n| name | when | share | sum | ok | formula |\n| --- | --- | --- | --- | --- | --- |\n"
        "| x\\|y | 2024-02-29 13:05 | 25.6% | 0.3 | TRUE | =1+1 |\n"
        "|  | 2020-01-01 | 1 | 12345678 | FALSE | 03:04 |\n\n"
        "## Secret (hidden)\n\n|  |  | two<br>lines |\n| --- | --- | --- |\n\n"
        "## Nothing\n\n[The sheet is empty]\n"
    )


def test_workbook_made_by_xlsxwriter_with_cached_values(tmp_path: Path) -> None:
    xlsxwriter = library("xlsxwriter")
    path = tmp_path / "a.xlsx"
    book = xlsxwriter.Workbook(str(path), {"constant_memory": True})  # writes its strings into the cells
    sheet = book.add_worksheet("S")
    sheet.write_row(0, 0, ["inline", 2])
    sheet.write_formula(1, 0, "=B1*2", None, 4)
    sheet.write_formula(1, 1, '=IF(1,"yes")', None, "yes")
    sheet.write_formula(2, 0, "=1/0", None, "#DIV/0!")
    book.close()
    assert convert("a.xlsx", path.read_bytes()) == (
        "## S\n\n| inline | 2 |\n| --- | --- |\n| 4 | yes |\n| #DIV/0! |  |\n"
    )


def test_rich_and_shared_strings() -> None:
    rich = "<si><r><t>rich </t></r><r><t>text</t></r><rPh><t>reading</t></rPh></si>"
    strings = f"<sst><si><t>unused</t></si>{rich}</sst>"
    rows = '<row><c t="s"><v>1</v></c><c t="s"><v>99</v></c><c t="inlineStr"><is><t>in</t></is></c></row>'
    assert (
        markdown_of(rows, {"xl/sharedStrings.xml": strings})
        == "## One\n\n| rich text |  | in |\n| --- | --- | --- |"
    )


def test_more_rows_than_shown() -> None:
    rows = "".join(f'<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>' for row in range(1, 2_102))
    data = excel(f'<dimension ref="A1:A2101"/><sheetData>{rows}</sheetData>')
    text = convert("a.xlsx", data)
    assert "\n| 2000 |\n" in text and "| 2001 |" not in text
    assert text.endswith("[Showing the first 2000 rows of 2101]\n")


def test_more_columns_than_shown() -> None:
    text = markdown_of('<row><c r="A1"><v>1</v></c><c r="CV1"><v>100</v></c><c r="CW1"><v>101</v></c></row>')
    assert text.count("100") == 2 and "101" not in text  # a cell, and the note
    assert text.endswith("[Columns after the first 100 are not shown]")


def test_rows_beyond_the_shown_ones_are_not_read() -> None:
    rows = "".join(f"<row><c><v>{row}</v></c></row>" for row in range(2_001))
    broken = rows + "<row" + "x" * 600_000  # after everything read by then
    assert "[Showing the first 2000 rows]" in markdown_of(broken)


def test_sheet_without_its_part_and_chart_sheet() -> None:
    data = excel("").replace(b"xl/worksheets/sheet1.xml", b"xl/worksheets/sheet2.xml")
    assert convert("a.xlsx", data) == "## One\n\n[The sheet's data is missing]\n"
    chart = {"xl/_rels/workbook.xml.rels": relations(("a", "chartsheet", "worksheets/sheet1.xml"))}
    assert convert("a.xlsx", excel("", chart)) == "## One\n\n[This sheet is a chart]\n"


@pytest.mark.parametrize(
    ("code", "look"),
    [
        ("General", "number"),
        ("#,##0.00", "number"),
        ("0.00%", "percent"),
        ("yyyy-mm-dd", "date"),
        ("mmm", "date"),
        ("hh:mm", "time"),
        ("mm:ss", "time"),
        ("dd/mm/yyyy hh:mm", "datetime"),
        ("[h]:mm:ss", "duration"),
        ('[Red]0.0 "days"', "number"),
        ("[$-409]d-mmm-yy;@", "date"),
        ('0 "m"', "number"),
        ("\\d0", "number"),
    ],
)
def test_number_formats(code: str, look: str) -> None:
    assert look_of(code) == look


@pytest.mark.parametrize(
    ("value", "format", "text"),
    [
        ("1", Format("date"), "1900-01-01"),
        ("59", Format("date"), "1900-02-28"),
        ("61", Format("date"), "1900-03-01"),
        ("45351.5", Format("date"), "2024-02-29 12:00"),
        ("0", Format("date", base_1904=True), "1904-01-01"),
        ("0.75", Format("time"), "18:00"),
        ("1.5", Format("duration"), "36:00:00"),
        ("-1", Format("date"), "-1"),
        ("1e300", Format("date"), "1e+300"),
        ("nan", Format("date"), "nan"),
        ("0.30000000000000004", Format(), "0.3"),
        ("1E-3", Format(), "0.001"),
        ("0.125", Format("percent", 1), "12.5%"),
        ("12 apples", Format(), "12 apples"),
    ],
)
def test_values_appear_as_in_excel(value: str, format: Format, text: str) -> None:
    assert written(value, "n", format) == text


def test_booleans_errors_and_iso_dates() -> None:
    assert written("1", "b", Format()) == "TRUE"
    assert written("#N/A", "e", Format()) == "#N/A"
    assert written("2024-01-02T00:00:00", "d", Format()) == "2024-01-02"
    assert written("12", "str", Format("date")) == "12"
