"""Hostile and broken files are refused in one sentence before they take memory or time."""

import random
import re
import tracemalloc
import zipfile
from io import BytesIO

import pytest

from tau.base.sizes import MIB
from tau.coding.readers.documents import DocumentError, convert
from tests.coding.readers.documents.samples import book, excel, office, paragraph, word, zipped

STORED = {"compression": zipfile.ZIP_STORED}  # so that the ratio alone does not reveal them
LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><d>&b;</d>'


def refusal(name: str, data: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        convert(name, data)
    text = str(caught.value)
    assert text.endswith(".") and "\n" not in text
    return text


def test_zip_bomb() -> None:
    bomb = word(f"<w:p><w:r><w:t>{'a' * (20 * MIB)}</w:t></w:r></w:p>")
    assert len(bomb) < 100_000
    assert "like a zip bomb" in refusal("a.docx", bomb)
    assert "like a zip bomb" in refusal("a.epub", book("<p>" * (4 * MIB)))


def test_part_with_a_false_size() -> None:
    data = bytearray(word(paragraph("x" * 10_000)))
    central = data.rindex(b"PK\x01\x02")
    data[central + 24 : central + 28] = (50).to_bytes(4, "little")  # the unpacked size
    assert "is damaged" in refusal("a.docx", bytes(data))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_not_expanded(encoding: str) -> None:
    data = office("wordprocessingml", "word/document.xml", LAUGHS.encode(encoding))
    assert "declares entities" in refusal("a.docx", data)
    sheet = excel("", {"xl/worksheets/sheet1.xml": LAUGHS})
    assert "declares entities" in refusal("a.xlsx", sheet)


def test_declaration_after_a_long_comment_is_noticed() -> None:
    late = f"<!--{'x' * (MIB // 2)}-->{LAUGHS}"
    assert "declares entities" in refusal("a.xlsx", excel("", {"xl/worksheets/sheet1.xml": late}))


def test_external_files_are_not_read() -> None:
    outside = '<!DOCTYPE p SYSTEM "file:///etc/passwd"><package><manifest/><spine/></package>'
    assert "no chapters" in refusal("a.epub", book("x", more={"O/b.opf": outside}))


def test_too_many_parts() -> None:
    assert "more than 20,000 parts" in refusal("a.docx", b"PK\x03\x04" + b"PK\x01\x02" * 20_001)


@pytest.mark.parametrize(
    "body",
    [
        "<w:tbl><w:tr><w:tc>" * 3_000 + "</w:tc></w:tr></w:tbl>" * 3_000,
        "<w:p><w:r><w:pict><w:txbxContent>" * 3_000 + "</w:txbxContent></w:pict></w:r></w:p>" * 3_000,
        "<w:p>" + "<w:ins>" * 3_000 + "</w:ins>" * 3_000 + "</w:p>",
        "<w:sdt><w:sdtContent>" * 3_000 + "</w:sdtContent></w:sdt>" * 3_000,
    ],
    ids=["tables", "boxes", "insertions", "controls"],
)
def test_deep_nesting(body: str) -> None:
    assert "nested too deeply" in refusal("a.docx", word(body, **STORED))


def test_deep_nesting_elsewhere() -> None:
    assert "nested too deeply" in refusal("a.epub", book("<ul>" * 5_000, **STORED))
    assert "nested too deeply" in refusal("a.epub", book("<table><td>" * 5_000, **STORED))
    assert "larger or deeper" in refusal("a.xlsx", excel("<sheetData>" + "<row>" * 5_000, **STORED))


def test_too_many_elements() -> None:
    many = "<w:p/>" * 2_100_000
    assert "more than 2,000,000 elements" in refusal("a.docx", word(many, **STORED))


def test_tables_with_too_many_cells() -> None:
    wide = "<w:tr><w:tc><w:tcPr><w:gridSpan w:val='63'/></w:tcPr></w:tc></w:tr>" * 9_000
    assert "more than 500,000 cells" in refusal("a.docx", word(f"<w:tbl>{wide}</w:tbl>", **STORED))
    cells = "<tr><td colspan='50'>" * 11_000
    assert "more than 500,000 cells" in refusal("a.epub", book(f"<table>{cells}", **STORED))


def test_sheets_are_read_in_bounded_memory() -> None:
    empty = excel(f"<sheetData>{'<row><c/><c/></row>' * 20_000}</sheetData>", **STORED)
    one_row = excel(f"<sheetData><row>{'<c/>' * 60_000}</row></sheetData>", **STORED)
    for data in (empty, one_row):
        tracemalloc.start()
        assert "[The sheet is empty]" in convert("a.xlsx", data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * MIB


def test_endless_element_in_a_sheet() -> None:
    runs = excel(f"<sheetData><row><c><is>{'<r/>' * 110_000}</is></c></row></sheetData>", **STORED)
    assert "larger or deeper" in refusal("a.xlsx", runs)
    tag = excel(f"<sheetData><row x='{'y' * (3 * MIB)}'/></sheetData>", **STORED)
    assert "larger or deeper" in refusal("a.xlsx", tag)


def test_endless_tag_in_a_book() -> None:
    assert "a tag of more than" in refusal("a.epub", book("<a " * 400_000, **STORED))


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("a.docx", word("<w:p>"), "word/document.xml"),
        ("a.xlsx", excel("<sheetData><row>"), "xl/worksheets/sheet1.xml"),
        ("a.docx", office("wordprocessingml", "word/document.xml", ""), "word/document.xml"),
        ("a.docx", office("wordprocessingml", "word/document.xml", "<d"), "word/document.xml"),
        ("a.docx", word("<w:p/>", {"word/styles.xml": "&nope;"}), "word/styles.xml"),
        ("a.epub", zipped({"META-INF/container.xml": "<c>"}), "META-INF/container.xml"),
    ],
)
def test_broken_xml_names_its_part(name: str, data: bytes, part: str) -> None:
    assert f"its part {part} is not well-formed XML" in refusal(name, data)


def test_missing_parts_are_reported() -> None:
    without = zipped(
        {
            "[Content_Types].xml": "<T/>",
            "_rels/.rels": '<R><R Id="1" Type="/officeDocument" Target="word/d.xml"/></R>',
        }
    )
    assert "its part word/d.xml is missing" in refusal("a.docx", without)
    assert "has no body" in refusal("a.docx", office("wordprocessingml", "word/document.xml", "<d/>"))


def test_parts_outside_the_package_do_not_exist() -> None:
    escape = zipped(
        {
            "[Content_Types].xml": "<T/>",
            "_rels/.rels": '<R><R Id="1" Type="/officeDocument" Target="../../../../etc/passwd"/></R>',
        }
    )
    assert "unsupported kind" in refusal("a.docx", escape)


def test_encrypted_part() -> None:
    data = bytearray(word(paragraph("x"), **STORED))
    for match in re.finditer(rb"PK\x01\x02", bytes(data)):
        data[match.start() + 8] |= 1
    for match in re.finditer(rb"PK\x03\x04", bytes(data)):
        data[match.start() + 6] |= 1
    assert "is damaged" in refusal("a.docx", bytes(data))


SOUND = {
    "a.docx": word(paragraph("text", '<w:pStyle w:val="a"/>') * 3 + "<w:tbl><w:tr><w:tc/></w:tr></w:tbl>"),
    "a.xlsx": excel('<sheetData><row><c r="A1" s="1"><v>1</v></c></row></sheetData>'),
    "a.epub": book("<h1>a</h1><ul><li>b</li></ul><table><tr><td>c</td></tr></table>"),
}


@pytest.mark.parametrize("name", SOUND)
def test_truncated_at_any_point(name: str) -> None:
    data = SOUND[name]
    for end in range(len(data)):
        try:
            assert convert(name, data[:end])
        except DocumentError as error:
            assert str(error)


def changed(data: bytes, dice: random.Random) -> bytes:
    """The same with some bytes overwritten, removed or repeated."""
    result = bytearray(data)
    for _ in range(dice.choice((1, 3, 12))):
        at = dice.randrange(len(result) + 1)
        kind = dice.random()
        if kind < 0.5 and at < len(result):
            result[at] = dice.randrange(256)
        elif kind < 0.75:
            del result[at : at + dice.randrange(1, 60)]
        else:
            result[at:at] = result[dice.randrange(len(result) + 1) :][: dice.randrange(1, 60)]
    return bytes(result)


def changed_inside(data: bytes, dice: random.Random) -> bytes:
    """The same for a zip: one of its parts is changed and repacked."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    victim = dice.choice(list(parts))
    return zipped({**parts, victim: changed(parts[victim], dice)})


def fuzz(name: str, rounds: int) -> None:
    dice = random.Random(name)
    for _ in range(rounds):
        data = SOUND[name]
        inside = data.startswith(b"PK") and dice.random() < 0.7
        data = changed_inside(data, dice) if inside else changed(data, dice)
        try:
            assert convert(name, data)
        except DocumentError as error:
            assert str(error)


@pytest.mark.parametrize("name", SOUND)
def test_damaged_at_random(name: str) -> None:
    fuzz(name, 300)


@pytest.mark.soak
@pytest.mark.parametrize("name", SOUND)
def test_damaged_at_random_many_times(name: str) -> None:
    fuzz(name, 20_000)
