"""Writes what the reader of rich text has gathered: paragraphs, headings, items, and tables row by row."""

import re

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.markdown import MarkdownWriter, TextRun

MAX_ROWS = 10_000  # of one table; then another begins
_NUMBER = re.compile(r"(\d{1,9})[.)]$")


class Page:
    """Rich text has no tables, only rows: those that follow each other become one."""

    def __init__(self, out: MarkdownWriter) -> None:
        self._out = out
        self._cells: list[str] = []
        self._rows: list[list[str]] = []

    def add(self, text: str) -> None:
        self._out.add(text)

    def paragraph(self, spans: list[TextRun], heading: int, marker: str | None, level: int) -> None:
        """`marker` is the bullet or number that stands before an item, None for what is no item."""
        if not markdown.plain_text(spans).strip():
            return
        self.end_table()
        text = markdown.inline(spans).strip()
        if heading:
            plain = markdown.inline([TextRun(span.text, link=span.link, raw=span.raw) for span in spans])
            label = f"{marker} " if marker and marker != "•" else ""
            self._out.add(markdown.heading(heading, label + plain))
        elif marker is not None:
            self._item(marker, text, level)
        elif text.startswith("•"):
            self._out.item(level, "-", text[1:])
        elif all(span.code or not span.text.strip() for span in spans):
            self._out.add(markdown.fenced(markdown.plain_text(spans)))
        else:
            self._out.add(markdown.escape_start(text))

    def cell(self, spans: list[TextRun]) -> None:
        self._cells.append(markdown.inline(spans).strip())

    def end_row(self) -> None:
        if self._cells:
            self._rows.append(self._cells)
            self._cells = []
        if len(self._rows) > MAX_ROWS:
            self.end_table()

    def end_table(self) -> None:
        rows, self._rows = self._rows, []
        if self._cells:
            rows.append(self._cells)
            self._cells = []
        if rows:
            self._out.add(markdown.table(rows))

    def _item(self, marker: str, text: str, level: int) -> None:
        match = _NUMBER.match(marker)
        if match is not None:
            self._out.item(level, f"{match[1]}.", text)
        else:
            label = f"{marker} " if marker[:1].isalnum() or marker[:1] == "(" else ""
            self._out.item(level, "-", label + text)
