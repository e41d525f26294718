"""The content decides how a document is read; failures are one sentence."""

import pytest

from tau.coding.readers import DOCUMENT_EXTENSIONS, names_document
from tau.coding.readers.documents import DocumentError, convert, kind_of
from tau.coding.readers.documents.limits import TextLimitReached
from tau.coding.readers.documents.markdown import MarkdownWriter
from tests.coding.readers.documents.samples import book, excel, office, paragraph, word, zipped

OLD_HEAD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


@pytest.mark.parametrize("name", ["a.pdf", "A.PDF", "x/y.docx", "b.xls", "c.epub", "d.rtf"])
def test_names_of_documents(name: str) -> None:
    assert names_document(name)


@pytest.mark.parametrize("name", ["a.py", "pdf", "a.pdf.txt", ".docx/readme"])
def test_names_of_other_files(name: str) -> None:
    assert not names_document(name)


def test_content_wins_over_the_name() -> None:
    assert convert("a.pdf", word(paragraph("word"))) == "word\n"
    assert convert("a.docx", book("<p>book</p>")) == "book\n"
    assert kind_of(b"\n\n%PDF-1.4") == "pdf"


@pytest.mark.parametrize(
    ("name", "command"), [("a.doc", "docx"), ("a.ppt", "pptx"), ("a.xls", "xlsx"), ("a", "docx")]
)
def test_old_binary_formats_suggest_a_conversion(name: str, command: str) -> None:
    with pytest.raises(DocumentError, match=f"soffice --headless --convert-to {command} FILE"):
        convert(name, OLD_HEAD)


@pytest.mark.parametrize("name", ["a.rtf", "a.doc", "a"])
def test_rich_text_suggests_a_conversion(name: str) -> None:
    with pytest.raises(DocumentError, match=r"rich text.*soffice --headless --convert-to docx FILE"):
        convert(name, rb"{\rtf1 rich}")


def test_old_format_with_a_new_extension_is_recognized() -> None:
    with pytest.raises(DocumentError, match=r"old binary format \(\.xls\)"):
        convert("a.xlsx", OLD_HEAD + "Workbook".encode("utf-16-le"))


def test_encrypted_office_file() -> None:
    with pytest.raises(DocumentError, match="password"):
        convert("a.docx", OLD_HEAD + "EncryptedPackage".encode("utf-16-le"))


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.docx", b"", "the file is empty"),
        ("a.docx", b"<html></html>", "not a Word document"),
        ("a.pdf", b"hello", "not a PDF file"),
        ("a.doc", b"hello", "not a .doc file"),
        ("a.docx", zipped({"readme.txt": "x"}), "a zip archive, but not a document"),
        ("a.docx", zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "OpenDocument"),
        ("a.docx", zipped({"[Content_Types].xml": "<Types/>"}), "does not name the main document"),
        ("a.vsdx", office("visio", "visio/d.xml", "<d/>"), "unsupported kind"),
        ("a.xlsb", office("ms-excel.sheet.binary", "xl/w.bin", ""), "unsupported kind"),
    ],
)
def test_invalid_documents(name: str, data: bytes, why: str) -> None:
    with pytest.raises(DocumentError) as caught:
        convert(name, data)
    assert why in str(caught.value) and str(caught.value).endswith(".")


def test_documents_with_macros_and_undeclared_types_are_read() -> None:
    body = f'<document xmlns:w="w"><body>{paragraph("hi")}</body></document>'
    assert convert("a.docm", office("ms-word.document.macroEnabled", "word/document.xml", body)) == "hi\n"
    bare = zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": '<R><R Id="1" Type="/officeDocument" Target="/word/document.xml"/></R>',
            "word/document.xml": body,
        }
    )
    assert convert("a.docx", bare) == "hi\n"


def test_document_without_text_says_so() -> None:
    assert convert("a.docx", word("<w:p/>")) == "[The document has no text]\n"


def test_text_over_the_limit_is_cut_with_a_note() -> None:
    out = MarkdownWriter(max_chars=20)
    out.add("twelve chars")
    with pytest.raises(TextLimitReached):
        out.add("and some more of them")
    out.note("cut")
    assert out.text() == "twelve chars\n\nand so\n\n[cut]\n"


def test_time_is_limited() -> None:
    for data in (word(paragraph("x") * 50), excel("<sheetData/>"), book("<p>x</p>")):
        with pytest.raises(DocumentError, match="stopped after -1 s"):
            convert("a", data, seconds=-1)


def test_garbage_is_a_document_error_for_every_extension() -> None:
    for extension in DOCUMENT_EXTENSIONS:
        with pytest.raises(DocumentError):
            convert(f"a{extension}", b"nothing of the kind")
