"""Convert office documents, e-books and PDFs to Markdown: `convert(name, data)`."""

from pathlib import PurePath
from typing import Literal, Protocol, TypeAlias

from tau.base.late import late
from tau.coding.readers.documents.limits import SECONDS, Deadline, DocumentError, TextLimitReached
from tau.coding.readers.documents.markdown import MarkdownWriter

_docx = late("tau.coding.readers.documents.docx")
_epub = late("tau.coding.readers.documents.epub")
_xml_package = late("tau.coding.readers.documents.xml_package")
_pdf = late("tau.coding.readers.documents.pdf")
_pptx = late("tau.coding.readers.documents.pptx")
_xlsx = late("tau.coding.readers.documents.xlsx")

__all__ = ["DocumentError", "convert", "kind_of"]

_Package: TypeAlias = "_xml_package.XmlPackage"
_Kind = Literal["pdf", "zip", "rtf", "old", "unknown"]
OLD = {".doc": "docx", ".ppt": "pptx", ".xls": "xlsx"}
NAMES = {
    ".pdf": "a PDF file",
    ".docx": "a Word document",
    ".pptx": "a PowerPoint presentation",
    ".xlsx": "an Excel workbook",
    ".epub": "an electronic book",
    ".rtf": "a rich text file",
}
PDF_PROBE_BYTES = 1024  # readers accept garbage before the header, up to here


class OfficeReader(Protocol):
    """The interface of each office format module."""

    def read(self, package: _Package, main: str, out: MarkdownWriter) -> None: ...


def kind_of(data: bytes) -> _Kind:
    """Detect the kind by content, regardless of the name."""
    if data.startswith(b"PK\x03\x04"):
        return "zip"
    if data.startswith(b"{\\rtf"):
        return "rtf"
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "old"
    return "pdf" if b"%PDF-" in data[:PDF_PROBE_BYTES] else "unknown"


def convert(name: str, data: bytes, *, seconds: float = SECONDS) -> str:
    """Convert the document to Markdown. Raises DocumentError with a one-sentence reason.

    Runs on the calling thread, for at most about `seconds`; PDFs are better
    left to `tau.coding.readers.documents.worker`, which can stop pdfium and survives its crashes.
    """
    out = MarkdownWriter()
    try:
        _convert(name, data, out, Deadline(seconds))
    except TextLimitReached:
        out.note("The document is too long to show in full; truncated here")
    except RecursionError:
        raise DocumentError("its elements are nested too deeply.") from None
    except MemoryError:
        raise DocumentError("there is not enough memory.") from None
    return out.text() or "[The document has no text]\n"


def _convert(name: str, data: bytes, out: MarkdownWriter, deadline: Deadline) -> None:
    suffix = PurePath(name).suffix.casefold()
    kind = kind_of(data)
    if not data:
        raise DocumentError("the file is empty.")
    if kind == "pdf":
        _pdf.read(data, out, deadline)
    elif kind == "rtf":
        raise DocumentError(f"rich text (.rtf) is not supported; {_way_out('docx')}")
    elif kind == "zip":
        _zipped(_xml_package.XmlPackage(data, deadline), out)
    elif kind == "old":
        raise DocumentError(_old(suffix, data))
    elif suffix in OLD:
        raise DocumentError(f"it is not a {suffix} file; to identify it, use bash: file, head -c 200.")
    else:
        what = NAMES.get(suffix, "a document")
        raise DocumentError(f"it is not {what}, or its beginning is damaged; use bash: file, head -c 200.")


def _zipped(package: _Package, out: MarkdownWriter) -> None:
    """Dispatch by the content type of the main part."""
    if "[Content_Types].xml" in package:
        relations = package.relations("").values()
        main = next((each.target for each in relations if each.kind == "officeDocument"), "")
        if not main:
            raise DocumentError("its container does not name the main document.")
        reader = _reader(_content_type(package, main), main)
        if reader is None:
            raise DocumentError("it is an unsupported kind of office file.")
        reader.read(package, main, out)
    elif "META-INF/container.xml" in package:
        _epub.read(package, out)
    elif "mimetype" in package and b"opendocument" in package.read("mimetype")[:200]:
        command = "soffice --headless --convert-to docx FILE"
        raise DocumentError(f"OpenDocument files are not supported; convert it first, e.g. with: {command}.")
    else:
        raise DocumentError("it is a zip archive, but not a document.")


def _reader(content_type: str, main: str) -> OfficeReader | None:
    """Return the module for a main part, by content type, else by the part's folder."""
    if "binary" in content_type:
        return None
    readers: tuple[tuple[tuple[str, ...], str, OfficeReader], ...] = (
        (("wordprocessingml", "ms-word"), "word/", _docx),
        (("presentationml", "ms-powerpoint"), "ppt/", _pptx),
        (("spreadsheetml", "ms-excel"), "xl/", _xlsx),
    )
    for words, folder, reader in readers:
        if any(word in content_type for word in words) or (not content_type and main.startswith(folder)):
            return reader
    return None


def _content_type(package: _Package, part: str) -> str:
    for each in package.tree("[Content_Types].xml"):
        if each.get("PartName", "").lstrip("/").casefold() == part.casefold():
            return each.get("ContentType", "")
    return ""


def _old(suffix: str, data: bytes) -> str:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return "it is protected with a password."
    streams = {"WordDocument": ".doc", "PowerPoint Document": ".ppt", "Workbook": ".xls"}
    found = (kind for stream, kind in streams.items() if stream.encode("utf-16-le") in data)
    kind = suffix if suffix in OLD else next(found, ".doc")
    return f"the old binary format ({kind}) is not supported; {_way_out(OLD[kind])}"


def _way_out(target: str) -> str:
    command = f"soffice --headless --convert-to {target} FILE"
    return f"convert it with LibreOffice ({command}) and read the .{target} file."
