"""PDF files become text page by page, in a worker process where it matters."""

import asyncio
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tau.base.run import Limits, LocalRunner, Process, Sandbox
from tau.coding.readers.documents import DocumentError, convert, worker
from tau.coding.readers.documents import pdf as pdf_reader
from tests.coding.readers.documents.samples import library, word

pytest.importorskip("pypdfium2", reason="pypdfium2 reads PDF files; it is in the extra `documents`")


def pdf(*pages: Sequence[str], password: str = "") -> bytes:
    canvas_module: Any = library("reportlab.pdfgen.canvas")
    encryption = library("reportlab.lib.pdfencrypt").StandardEncryption(password) if password else None
    file = io.BytesIO()
    canvas = canvas_module.Canvas(file, encrypt=encryption)
    for lines in pages:
        for index, line in enumerate(lines):
            canvas.drawString(72, 780 - 16 * index, line)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def test_pages_in_order() -> None:
    assert convert("a.pdf", pdf(["First line", "second"], ["Other page"])) == (
        "## Page 1 of 2\n\nFirst line\nsecond\n\n## Page 2 of 2\n\nOther page\n"
    )


def test_pages_without_text_differ_from_scans() -> None:
    assert "## Page 2 of 2\n\n[No text on this page]\n" in convert("a.pdf", pdf(["x"], []))
    assert "No page has text" in convert("a.pdf", pdf([]))


def test_password_protection_is_reported() -> None:
    with pytest.raises(DocumentError, match="protected with a password"):
        convert("a.pdf", pdf(["x"], password="secret"))


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"1 0 obj<<" * 10_000, b"%PDF-\x00\xff"])
def test_broken_files(data: bytes) -> None:
    with pytest.raises(DocumentError, match="damaged"):
        convert("a.pdf", data)


def test_truncated_file_is_an_error_or_gives_what_is_left() -> None:
    data = pdf(["some text"], ["more text"])
    for end in range(0, len(data), 97):
        try:
            assert "Page 1" in convert("a.pdf", data[:end])
        except DocumentError as error:
            assert str(error)


def test_missing_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.setattr(pdf_reader, "pdfium", type(pdf_reader.pdfium)("pypdfium2"))
    with pytest.raises(DocumentError, match=r"pip install 'tau-agent\[documents\]'"):
        convert("a.pdf", pdf(["x"]))


def test_worker_gives_the_same_result() -> None:
    data = pdf(["Grüße"])
    assert asyncio.run(worker.convert_in_worker("a.pdf", data, LocalRunner())) == convert("a.pdf", data)


def test_worker_reports_the_reason_of_a_failure() -> None:
    with pytest.raises(DocumentError, match="it is damaged, truncated, or not a PDF file"):
        asyncio.run(worker.convert_in_worker("a.pdf", b"%PDF-1.7", LocalRunner()))


def test_other_documents_are_converted_in_a_thread() -> None:
    data = word("<w:p><w:r><w:t>hi</w:t></w:r></w:p>")
    assert asyncio.run(worker.convert_in_worker("a.docx", data, LocalRunner())) == "hi\n"


class Replaced:
    """Runs a different command under the same limits."""

    def __init__(self, *command: str) -> None:
        self._command = command

    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        stdin: bytes | None = None,
    ) -> Process:
        return await LocalRunner().start(self._command, cwd=cwd, limits=limits, stdin=stdin)


def test_hanging_conversion_is_stopped() -> None:
    with pytest.raises(DocumentError, match=r"stopped after -1\.8 s"):
        asyncio.run(worker.convert_in_worker("a.pdf", b"%PDF-1.7", Replaced("sleep", "60"), seconds=-1.8))


def test_crashed_conversion_is_reported() -> None:
    crash = Replaced("sh", "-c", "kill -SEGV $$")
    with pytest.raises(DocumentError, match="the conversion failed"):
        asyncio.run(worker.convert_in_worker("a.pdf", b"%PDF-1.7", crash))


def test_missing_converter_is_reported() -> None:
    with pytest.raises(DocumentError, match="cannot be started"):
        asyncio.run(worker.convert_in_worker("a.pdf", b"%PDF-1.7", Replaced("/no/such/program")))
