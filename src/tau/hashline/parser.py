"""Parses a patch: sections of hunks, tolerated variants, and errors for the rest."""

from msgspec import Struct

from tau.hashline.errors import ParseError
from tau.hashline.format import FILE_MARK, Header, parse_listing, strip_numbers
from tau.hashline.hunks import Hunk, Patch, Section
from tau.hashline.tokenizer import Operation, Token, tokenize

OPERATIONS = "`replace N..M:`, `delete N..M` or `insert before N:|after N:|head:|tail:`"
BARE_ROWS_WARNING = (
    "Body rows without `+` were taken as text (from line {line} of the patch). "
    "Write every body row as `+TEXT`, and `+` alone for a blank line."
)
PASTED_ROWS_WARNING = (
    "Line numbers pasted with the body rows were removed (from line {line} of the patch). "
    "Write a body row as `+TEXT`, without its number."
)
_SHOWN_CHARS = 80


class _Row(Struct, frozen=True):
    text: str
    line: int
    bare: bool


class _Parser:
    """Takes tokens one by one; `hunks` of the open section and `sections` are complete."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.bare_line = 0
        self.pasted_line = 0
        self.header: Header | None = None
        self.header_line = 0
        self.hunks: list[Hunk] = []
        self.operation: Operation | None = None
        self.operation_line = 0
        self.rows: list[_Row] = []
        self.blanks: list[_Row] = []

    def feed(self, token: Token) -> None:
        if token.kind == "row":
            self._row(_Row(token.text, token.line, bare=False))
        elif token.kind == "blank":
            if self.rows:
                self.blanks.append(_Row(token.text, token.line, bare=True))
        elif token.kind == "header":
            self._open(token.header, token)
        elif self.header is None and token.kind not in ("envelope", "foreign"):
            self._open(parse_listing(token.text), token)
        elif token.kind == "operation":
            self._begin(token)
        elif token.kind == "text":
            self._row(_Row(token.text, token.line, bare=True))
        elif token.kind != "envelope":
            raise ParseError(_refusal(token), line=token.line)

    def close_hunk(self) -> None:
        operation, line = self.operation, self.operation_line
        if operation is None:
            return
        rows = self._body()
        if not rows and not operation.kind.startswith("delete"):
            raise ParseError(_empty(operation), line=line)
        self.hunks.append(Hunk(operation.kind, operation.first, operation.last, rows, line))
        self.operation = None
        self.rows, self.blanks = [], []

    def close_section(self) -> None:
        self.close_hunk()
        if self.header is None:
            return
        path, tag = self.header.path, self.header.tag
        if not self.hunks:
            raise ParseError(f"the section for {path} has no hunk. Add {OPERATIONS}.", line=self.header_line)
        assert tag is not None
        self.sections.append(Section(path, tag, tuple(self.hunks), self.header_line))
        self.header, self.hunks = None, []

    def drop_unfinished(self) -> None:
        """Drop a hunk without its body, and a section without hunks."""
        if self.operation is not None and not self.rows and not self.operation.kind.startswith("delete"):
            self.operation = None
        if self.operation is None and not self.hunks:
            self.header = None

    def patch(self) -> Patch:
        warnings = []
        if self.bare_line:
            warnings.append(BARE_ROWS_WARNING.format(line=self.bare_line))
        if self.pasted_line:
            warnings.append(PASTED_ROWS_WARNING.format(line=self.pasted_line))
        return Patch(tuple(self.sections), tuple(warnings))

    def _open(self, header: Header | None, token: Token) -> None:
        if header is None:
            raise ParseError(
                f'input must begin with "{FILE_MARK}PATH#TAG" on its first line that is not blank; '
                f'got "{_short(token.text)}". Copy the header from the latest read or search.',
                line=token.line,
            )
        self.close_section()
        if not header.path:
            raise ParseError(f"the section header has no path. Write `{FILE_MARK}PATH#TAG`.", line=token.line)
        if header.tag is None:
            raise ParseError(
                f"the section for {_short(header.path)} has no snapshot tag of four hexadecimal digits. "
                f"Write `{FILE_MARK}PATH#TAG` as the latest read or search shows it.",
                line=token.line,
            )
        self.header, self.header_line = header, token.line

    def _begin(self, token: Token) -> None:
        self.close_hunk()
        operation = token.operation
        assert operation is not None
        shown = f"{operation.first}..{operation.last}"
        if operation.kind.startswith("delete") and operation.colon:
            raise ParseError(
                f"`{_short(token.text)}` takes no colon and no body. Write `{token.text.rstrip(' :')}`, "
                f"or use `replace` with body rows.",
                line=token.line,
            )
        if operation.first == 0 and operation.kind not in ("insert head", "insert tail"):
            raise ParseError("lines are counted from 1; line 0 does not exist.", line=token.line)
        if operation.last < operation.first:
            raise ParseError(f"range {shown} ends before it starts.", line=token.line)
        self.operation, self.operation_line = operation, token.line

    def _row(self, row: _Row) -> None:
        if self.header is None:
            self._open(None, Token("text", row.line, row.text if row.bare else f"+{row.text}"))
        if self.operation is None:
            raise ParseError(
                f'the body row "{_short(row.text)}" has no hunk header above it. Put {OPERATIONS} above it.',
                line=row.line,
            )
        if self.operation.kind == "delete":
            raise ParseError(
                f"`{self._shown()}` does not take body rows. Remove the body, "
                f"or use `replace {self.operation.first}..{self.operation.last}:`.",
                line=row.line,
            )
        if self.operation.kind == "delete block":
            raise ParseError(
                f"`{self._shown()}` does not take body rows. Remove the body, or use "
                f"`replace block {self.operation.first}:` to replace the block.",
                line=row.line,
            )
        # Blank lines count only between rows: before and after a body they merely set it apart.
        self.rows += [*self.blanks, row]
        self.blanks = []

    def _shown(self) -> str:
        assert self.operation is not None
        return Hunk(self.operation.kind, self.operation.first, self.operation.last, (), 0).header

    def _body(self) -> tuple[str, ...]:
        bare = next((row.line for row in self.rows if row.bare), None)
        texts = [row.text for row in self.rows]
        if bare is None:
            return tuple(texts)
        numbered = all(row.bare for row in self.rows)
        stripped = strip_numbers(texts) if numbered else None
        if stripped is not None:
            self.pasted_line = self.pasted_line or bare
            return tuple(stripped)
        self.bare_line = self.bare_line or bare
        return tuple(texts)


def parse(text: str) -> Patch:
    """Parse a whole patch; raises ParseError for the first error."""
    parser = _Parser()
    for token in tokenize(text):
        if token.kind == "abort":
            parser.drop_unfinished()
            break
        parser.feed(token)
    parser.close_section()
    if not parser.sections:
        raise ParseError(
            f'input must begin with "{FILE_MARK}PATH#TAG" on its first line that is not blank; '
            "it has no section at all."
        )
    return parser.patch()


def parse_unfinished(text: str) -> Patch:
    """Parse an incomplete patch, up to the first error or ambiguity."""
    head, _, last = text.rpartition("\n")
    # The number in `replace 1` may still grow; only a body row can be shown before its line is whole.
    text = text if last.startswith("+") else head
    parser = _Parser()
    try:
        for token in tokenize(text):
            if token.kind == "abort":
                break
            parser.feed(token)
    except ParseError:
        parser.operation = None
    parser.drop_unfinished()
    parser.close_section()
    return parser.patch()


def _refusal(token: Token) -> str:
    """Why a line of another format, or half a header, is not valid in a patch."""
    text = _short(token.text)
    match token.kind:
        case "minus":
            return (
                "`-` rows are not valid: the range of a hunk already names the lines that go. "
                "For a literal line that begins with `-`, write `+-…`."
            )
        case "foreign":
            return (
                f'"{text}" belongs to apply_patch and is not valid here. A section starts with '
                f"`{FILE_MARK}PATH#TAG`, without `Update File:` or `Add File:`. Use {OPERATIONS}."
            )
        case "unified":
            return f"a unified-diff header (`@@ -N,M +N,M @@`) is not valid here. Use {OPERATIONS}."
        case "brackets":
            return (
                f'"{text}" is not valid: drop the `@@` brackets and write a header with a verb, '
                "such as `replace N..M:`."
            )
        case "number":
            number = text.strip(" \t:")
            return (
                f"a hunk header needs a verb. Use `replace {number}..{number}:` to replace the line or "
                f"`delete {number}` to delete it; write `+{text}` if it is text."
            )
        case "range":
            return (
                f'the range "{text}" needs a verb: write `replace N..M:` or `delete N..M`; '
                f"write `+{text}` if it is text."
            )
        case _:
            return (
                f'"{text}" is not a hunk header. Use {OPERATIONS}, with the body on `+` rows below; '
                f"write `+{text}` if it is text."
            )


def _empty(operation: Operation) -> str:
    if operation.kind == "replace":
        shown = f"{operation.first}..{operation.last}"
        return (
            f"`replace {shown}:` needs at least one `+TEXT` body row. To delete lines, use `delete {shown}`."
        )
    if operation.kind == "replace block":
        return (
            f"`replace block {operation.first}:` needs at least one `+TEXT` body row. "
            f"To delete a block, use `delete block {operation.first}` or `delete N..M` with its lines."
        )
    return f"`{operation.kind}` needs at least one `+TEXT` body row."


def _short(text: str) -> str:
    text = text.rstrip()
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
