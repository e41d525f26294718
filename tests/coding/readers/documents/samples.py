"""Documents to convert: made by real libraries, or by hand where a detail matters."""

import io
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

CONTENT_TYPES = '<Types><Override PartName="/{part}" ContentType="application/x.{kind}.main+xml"/></Types>'
RELATIONS = (
    '<Relationships><Relationship Id="r1" Type="http://x/officeDocument" Target="{part}"/></Relationships>'
)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
Parts = Mapping[str, str | bytes]


def zipped(parts: Parts, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def office(kind: str, part: str, content: str | bytes, more: Parts | None = None, **how: int) -> bytes:
    """A package with its main part and `more`."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": CONTENT_TYPES.format(part=part, kind=kind),
        "_rels/.rels": RELATIONS.format(part=part),
        part: content,
        **(more or {}),
    }
    return zipped(parts, **how)


def word(body: str, more: Parts | None = None, **how: int) -> bytes:
    """A Word document with this body and these `relations`."""
    document = f"<w:document {W} {R}><w:body>{body}</w:body></w:document>"
    return office("wordprocessingml", "word/document.xml", document, more, **how)


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def relations(*rows: tuple[str, str, str]) -> str:
    """(id, kind, target); a URL is external."""
    inner = ""
    for id, kind, target in rows:
        mode = ' TargetMode="External"' if ":" in target else ""
        inner += f'<Relationship Id="{id}" Type="http://x/{kind}" Target="{target}"{mode}/>'
    return f"<Relationships>{inner}</Relationships>"


def excel(sheet: str, more: Parts | None = None, state: str = "visible", **how: int) -> bytes:
    """A workbook with one sheet, given as the content of its XML."""
    book = f'<workbook {R}><sheets><sheet name="One" state="{state}" r:id="a"/></sheets></workbook>'
    parts = {
        "xl/_rels/workbook.xml.rels": relations(("a", "worksheet", "worksheets/sheet1.xml")),
        "xl/worksheets/sheet1.xml": f"<worksheet>{sheet}</worksheet>",
        **(more or {}),
    }
    return office("spreadsheetml", "xl/workbook.xml", book, parts, **how)


def book(*chapters: str | bytes, more: Parts | None = None, **how: int) -> bytes:
    """An e-book with these chapters."""
    items = "".join(
        f'<item id="c{index}" href="text/c%20{index}.xhtml" media-type="application/xhtml+xml"/>'
        for index in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{index}"/>' for index in range(len(chapters)))
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<c><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></c>',
        "O/b.opf": f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"O/text/c {index}.xhtml": chapter for index, chapter in enumerate(chapters)},
        **(more or {}),
    }
    return zipped(parts, **how)


def library(name: str) -> Any:
    """A library that writes such files; part of the `dev` extra."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their warnings are not ours
        return pytest.importorskip(name, reason=f"{name} writes the sample; it is in the extra `dev`")


def saved(path: Path, save: Callable[[str], object]) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(str(path))
    return path.read_bytes()
