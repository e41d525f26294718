"""Convert PDF files to text, page by page, with pdfium; needs the extra `documents`."""

import re
from contextlib import closing
from typing import Any

from tau.base.late import late
from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.limits import Deadline, DocumentError
from tau.coding.readers.documents.markdown import MarkdownWriter

pdfium = late("pypdfium2")

INSTALL = (
    "reading PDF files needs the package pypdfium2; install it with: pip install 'tau-agent[documents]'."
)
MAX_PAGES = 5_000
PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_BROKEN_WORD = re.compile(r"(?<=\w)[\u00ad\ufffe\x02]\s*\n?")


def read(data: bytes, out: MarkdownWriter, deadline: Deadline) -> None:
    try:
        document = pdfium.PdfDocument(data)
    except ImportError as error:
        raise DocumentError(INSTALL) from error
    except pdfium.PdfiumError as error:
        if error.err_code == PASSWORD_ERROR:
            raise DocumentError("it is protected with a password.") from error
        raise DocumentError("it is damaged, truncated, or not a PDF file.") from error
    try:
        _pages(document, out, deadline)
    finally:
        document.close()


def _pages(document: Any, out: MarkdownWriter, deadline: Deadline) -> None:
    count = len(document)
    if count == 0:
        raise DocumentError("it has no pages.")
    empty = 0
    for index in range(min(count, MAX_PAGES)):
        deadline.check()
        text = _page(document, index)
        empty += not text
        out.add(f"## Page {index + 1} of {count}")
        out.add("[This page cannot be read]" if text is None else text or "[No text on this page]")
    if count > MAX_PAGES:
        out.note(f"Showing the first {MAX_PAGES} of {count} pages")
    if empty == count:
        out.note("No page has text: they are probably scanned. Run OCR first, e.g. with ocrmypdf")


def _page(document: Any, index: int) -> str | None:
    """Return the text of one page, or None if pdfium cannot read it."""
    try:
        page = document[index]
        with closing(page), closing(page.get_textpage()) as text_page:
            text: str = text_page.get_text_bounded()
    except pdfium.PdfiumError:
        return None
    text = _BROKEN_WORD.sub("", text.replace("\r\n", "\n"))
    lines = [line.rstrip() for line in markdown.clean(text).split("\n")]
    return "\n".join(lines).strip("\n")
