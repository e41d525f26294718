"""Convert (X)HTML chapters of e-books to Markdown; lenient, with HTML's entities only."""

import re
from html.parser import HTMLParser

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.limits import MAX_DEPTH, Deadline, DocumentError, check_cells
from tau.coding.readers.documents.markdown import MarkdownWriter, TextRun

HEADINGS = {f"h{level}": level for level in range(1, 7)}
SKIPPED = {"script", "style", "head", "template", "noscript", "svg", "rp"}
BLOCKS = {
    *("address", "article", "aside", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "header", "html", "main", "nav", "p", "section", "summary"),
}
LISTS = {"ul", "ol", "menu"}
FLUSHING = {*HEADINGS, *BLOCKS, *LISTS, "li", "pre", "blockquote", "hr", "table"}  # they end a paragraph
LOOKS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em", "cite", "dfn", "var"), "italic"),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "code"),
    **dict.fromkeys(("s", "strike", "del"), "strike"),
}
VOID = {"br", "hr", "img", "input", "meta", "link", "col", "wbr", "source", "image"}
MAX_TAG_CHARS = 1_000_000
_SPACE = re.compile(r"[ \t\n\r\f]+")


def convert(text: str, out: MarkdownWriter, deadline: Deadline) -> None:
    """Write the body of an HTML document to `out`."""
    # The standard library's tag pattern needs many times the memory of the tag.
    if max(len(piece.partition("<")[2]) for piece in text.split(">")) > MAX_TAG_CHARS:
        raise DocumentError(f"it has a tag of more than {MAX_TAG_CHARS:,} characters.")
    parser = _Converter(out, deadline)
    try:
        parser.feed(text)
        parser.close()
    except AssertionError:  # the parser raises this for some broken declarations
        parser.finish()
        out.note("The rest of this chapter is broken")
    else:
        parser.finish()


class _Table:
    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.span = 1  # columns of the open cell
        self.cells = 0


class _Converter(HTMLParser):
    """Tracks open lists and tables, active formatting, and the spans of the current block."""

    def __init__(self, out: MarkdownWriter, deadline: Deadline) -> None:
        super().__init__(convert_charrefs=True)
        self._out = out
        self._deadline = deadline
        self._spans: list[TextRun] = []
        self._looks: dict[str, int] = {}
        self._links: list[str] = []
        self._lists: list[int | None] = []  # the next number of each open list, None for bullets
        self._item: str | None = None  # the marker of an item without text so far
        self._heading = 0
        self._quotes = 0
        self._pre = 0
        self._skipping = ""
        self._skip_depth = 0
        self._tables: list[_Table] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._deadline.check()
        if self._skipping:
            self._skip_depth += tag == self._skipping
            return
        values = {name: value or "" for name, value in attrs}
        if tag in SKIPPED:
            self._skipping, self._skip_depth = tag, 1
        elif tag in LOOKS:
            self._looks[LOOKS[tag]] = self._looks.get(LOOKS[tag], 0) + 1
        elif tag == "a":
            target = values.get("href", "")
            self._links = [*self._links[-9:], target if _is_web(target) else ""]
        elif tag in ("img", "image"):
            source = values.get("src") or values.get("href") or values.get("xlink:href", "")
            self._spans.append(
                TextRun(markdown.image(values.get("alt") or source.rpartition("/")[2]), raw=True)
            )
        elif tag == "br":
            self._spans.append(TextRun("\n"))
        elif tag == "rt":
            self._spans.append(TextRun(" ("))
        else:
            self._open_block(tag, values)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED:
            return
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._deadline.check()
        if self._skipping:
            self._skip_depth -= tag == self._skipping
            if self._skip_depth == 0:
                self._skipping = ""
        elif tag in LOOKS:
            self._looks[LOOKS[tag]] = max(self._looks.get(LOOKS[tag], 0) - 1, 0)
        elif tag == "a":
            self._links = self._links[:-1]
        elif tag == "rt":
            self._spans.append(TextRun(")"))
        elif tag not in VOID:
            self._close_block(tag)

    def handle_data(self, data: str) -> None:
        self._deadline.check()
        if self._skipping:
            return
        text = markdown.clean(data)
        if not self._pre:
            text = _SPACE.sub(" ", text)
            if text == " " and (not self._spans or self._spans[-1].text.endswith((" ", "\n"))):
                return
        markdown.pack(self._spans)
        on = self._looks
        link = self._links[-1] if self._links else ""
        code = bool(on.get("code")) and not self._pre
        self._spans.append(
            TextRun(text, bool(on.get("bold")), bool(on.get("italic")), code, bool(on.get("strike")), link)
        )

    def finish(self) -> None:
        self._flush()
        while self._tables:
            self._end_table()

    def _open_block(self, tag: str, values: dict[str, str]) -> None:
        if self._tables and tag in ("tr", "td", "th"):
            self._open_cell(tag, values)
            return
        if tag in FLUSHING:
            self._flush()
        if tag in HEADINGS:
            self._heading = HEADINGS[tag]
        elif tag in LISTS:
            start = values.get("start", "")
            first = int(start) if start.isdecimal() and len(start) < 7 else 1
            if len(self._lists) >= MAX_DEPTH:
                raise DocumentError("its lists are nested too deeply.")
            self._lists.append(first if tag == "ol" else None)
        elif tag == "li":
            self._begin_item()
        elif tag == "pre":
            self._pre += 1
        elif tag == "blockquote":
            self._quotes = min(self._quotes + 1, 10)
        elif tag == "hr" and not self._tables:
            self._out.add("---")
        elif tag == "table":
            if len(self._tables) >= MAX_DEPTH:
                raise DocumentError("its tables are nested too deeply.")
            self._tables.append(_Table())

    def _close_block(self, tag: str) -> None:
        if self._tables and tag in ("td", "th"):
            self._end_cell()
        elif self._tables and tag == "table":
            self._end_table()
        elif tag in FLUSHING and tag != "table":
            self._flush()
        if tag in HEADINGS:
            self._heading = 0
        elif tag in LISTS:
            self._lists = self._lists[:-1]
            self._item = None
        elif tag == "pre":
            self._pre = max(self._pre - 1, 0)
        elif tag == "blockquote":
            self._quotes = max(self._quotes - 1, 0)

    def _begin_item(self) -> None:
        if not self._lists:
            self._lists.append(None)
        count = self._lists[-1]
        self._item = "-" if count is None else f"{count}."
        if count is not None:
            self._lists[-1] = count + 1

    def _open_cell(self, tag: str, values: dict[str, str]) -> None:
        table = self._tables[-1]
        if tag == "tr":
            self._end_cell()
            if not table.rows or table.rows[-1]:
                table.rows.append([])
        else:
            self._end_cell()
            table.cells += 1
            check_cells(table.cells)
            span = values.get("colspan", "")
            table.span = min(int(span), 50) if span.isdecimal() and len(span) < 5 else 1
            if not table.rows:
                table.rows.append([])
            table.rows[-1].append("")

    def _end_cell(self) -> None:
        self._flush()
        table = self._tables[-1]
        if table.rows and table.rows[-1] and table.span > 1:
            table.cells += table.span - 1
            check_cells(table.cells)
            table.rows[-1] += [""] * (table.span - 1)
        table.span = 1

    def _end_table(self) -> None:
        self._end_cell()
        rows = [row for row in self._tables.pop().rows if row]
        if self._tables:
            self._into_cell("\n".join("; ".join(row) for row in rows))
        else:
            self._out.add(markdown.table(rows))

    def _into_cell(self, text: str) -> None:
        rows = self._tables[-1].rows
        if not rows or not rows[-1]:
            rows.append([text])  # text outside any cell: give it one
        else:
            rows[-1][-1] = f"{rows[-1][-1]}\n{text}".strip()

    def _flush(self) -> None:
        """Write the current block."""
        spans, self._spans = self._spans, []
        if not any(span.text.strip() for span in spans):
            return
        if self._pre and not self._tables:
            self._out.add(self._quoted(markdown.fenced(markdown.plain_text(spans).strip("\n"))))
            return
        text = re.sub(r" *\n *", "\n", markdown.inline(spans)).strip()
        if self._tables:
            self._into_cell(text)
        elif self._heading:
            self._out.add(self._quoted(markdown.heading(self._heading, text)))
        elif self._item is not None:
            marker, self._item = self._item, None
            self._out.item(len(self._lists) - 1, marker, text)
        elif self._lists:
            self._out.add("   " * len(self._lists) + text.replace("\n", "\n" + "   " * len(self._lists)))
        else:
            self._out.add(self._quoted(markdown.escape_start(text)))

    def _quoted(self, text: str) -> str:
        prefix = "> " * self._quotes
        return "\n".join(f"{prefix}{line}".rstrip() for line in text.split("\n")) if prefix else text


def _is_web(target: str) -> bool:
    """Whether a link points to the web; links within the book are dead in a single text."""
    return target.startswith(("http://", "https://", "mailto:", "ftp://"))
