"""Parses a patch: classifies its lines, then builds sections of hunks; tolerates common variants."""

import re
from collections.abc import Iterator
from typing import Literal, cast

from msgspec import Struct

from tau.hashline.errors import ParseError
from tau.hashline.format import (
    BYTE_ORDER_MARK,
    FILE_MARK,
    ROW_MARK,
    Header,
    parse_header,
    parse_listing,
    strip_numbers,
)
from tau.hashline.records import Hunk, HunkKind, Patch, Section

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
TokenKind = Literal[
    "header",  # ¶PATH#TAG
    "operation",  # replace, delete, insert
    "unclear",  # begins like an operation and is none
    "row",  # +TEXT
    "minus",  # -TEXT
    "blank",
    "text",  # anything else
    "envelope",  # *** Begin Patch, *** End Patch
    "abort",  # *** Abort
    "fence",  # ```
    "foreign",  # *** Update File: and the like
    "unified",  # @@ -1,2 +1,3 @@
    "brackets",  # @@ ... @@
    "number",  # 12
    "range",  # 12..14
]


class Operation(Struct, frozen=True):
    """`plain`: neither indented nor capitalized, so that it is one even after bare rows."""

    kind: HunkKind
    first: int
    last: int
    colon: bool
    plain: bool


class Token(Struct, frozen=True):
    """`text` is the line without its end, a row without its `+`."""

    kind: TokenKind
    line: int
    text: str
    header: Header | None = None
    operation: Operation | None = None


# No operation is longer. Long lines, which could make the patterns slow, are not matched.
_LONGEST_OPERATION = 120
_NUMBER = "([0-9]{1,9})"
_RANGE = rf"{_NUMBER}(?:\s*(?:\.\.\.?|…|-|–)\s*{_NUMBER}|\s+{_NUMBER})?"
_OPERATIONS = re.compile(
    rf"(?:(?P<range>replace|delete)\s+{_RANGE}"
    rf"|(?P<block>(?:replace|delete|insert\s+after)\s+block)\s+{_NUMBER}"
    rf"|(?P<beside>insert\s+(?:before|after))\s+{_NUMBER}"
    rf"|(?P<edge>insert\s+(?:head|tail)))\s*(?P<colon>:?)",
    re.I,
)
_UNCLEAR = re.compile(
    r"(?:replace|delete|insert)(?:\s+(?:block|before|after|head|tail|lines?|at|from)\b|\s*[0-9:])", re.I
)
_FENCE = re.compile(r"\s*(?:```+|~~~+)[\w+-]*\s*")
# What a bare row must not be: it is more likely a header or a mark of this format than text.
_HEADER_LIKE = re.compile(
    rf"\s*(?:{FILE_MARK}|\*\*\*|diff --git |\[[^\[\]\s,\"']+\]\s*$|\[(?:Showing|…)"
    r"|(?:#+\s*|\*\*)?(?:file|filename|path)\s*:\**\s*\S+\s*$"
    r"|#+\s+[^\s#]*(?:/[^\s#]*|\.\w{1,8})(?:#\w*)?\s*$)",
    re.I,
)
# The same right above the next operation: a path and nothing else, with or without a tag.
_PATH_ALONE = re.compile(
    r"(?:index|file|path)?[\s:]*[^\s#()\[\]{}=,;]*(?:/[^\s#()]+|\.[a-z]\w{0,7})(?:#\w*)?", re.I
)
_ROW_LIKE = re.compile(r"[\s*`>]+\+|\s*\*+\s*[0-9]+:")
_DECORATION = " \t*`>_#+"
_PATH_DECORATION = _DECORATION + "=-:/"
_ITEM_NUMBER = re.compile(r"[0-9]{1,3}[.)]\s+")
_BARE_RANGE = re.compile(rf"{_RANGE}\s*:?")
_UNIFIED = re.compile(r"@@+ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@")
_FOREIGN = re.compile(r"\*{3}\s*(?:(?:Update|Add|Delete)\s+File\b|Move\s+to\b|End\s+of\s+File\b)", re.I)
_ENVELOPE = re.compile(r"\*{3}\s*(?:Begin|End)\s+Patch\s*", re.I)
_ABORT = re.compile(r"\*{3}\s*Abort\b", re.I)


def tokenize(text: str) -> Iterator[Token]:
    """The lines of a patch, numbered from 1; LF and CRLF both end a line."""
    lines = text.removeprefix(BYTE_ORDER_MARK).split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        yield _token(number, line.rstrip("\r"))


def _token(number: int, line: str) -> Token:
    if line.startswith(ROW_MARK):
        return Token("row", number, line[1:])
    if line.startswith("-"):
        return Token("minus", number, line)
    if not line or line.isspace():
        return Token("blank", number, line)
    start = line[0]
    if start == FILE_MARK or start == "[":
        header = parse_header(line)
        return Token("text" if header is None else "header", number, line, header)
    if start == "*":
        return _starred_token(number, line)
    if start in "`~ " and _FENCE.fullmatch(line[:_LONGEST_OPERATION]):
        return Token("fence", number, line)
    if len(line) > _LONGEST_OPERATION and start != "@":
        return Token("text", number, line)
    if start == "@":
        return _bracket_token(number, line)
    if line.lstrip()[0] in "rdiRDI":
        return _operation_token(number, line)
    if "0" <= start <= "9" and (match := _BARE_RANGE.fullmatch(line.rstrip())):
        return Token("range" if match[2] or match[3] else "number", number, line)
    return Token("text", number, line)


def _starred_token(number: int, line: str) -> Token:
    short = line[:_LONGEST_OPERATION]
    if _FOREIGN.match(short):
        _, mark, rest = line.partition(FILE_MARK)
        header = parse_header(FILE_MARK + rest) if mark else None
        if header is not None and header.tag is not None:
            return Token("header", number, line, header)
        return Token("foreign", number, line)
    if _ENVELOPE.fullmatch(short):
        return Token("envelope", number, line)
    return Token("abort" if _ABORT.match(short) else "text", number, line)


def _bracket_token(number: int, line: str) -> Token:
    if _UNIFIED.match(line[:_LONGEST_OPERATION]):
        return Token("unified", number, line)
    body = line.rstrip()
    brackets = body.startswith("@@") and (len(body) == 2 or body[2].isspace() or body.endswith("@@"))
    return Token("brackets" if brackets else "text", number, line)


def _operation_token(number: int, line: str) -> Token:
    body = line.strip()
    match = _OPERATIONS.fullmatch(body)
    if match is None:
        return Token("unclear" if _UNCLEAR.match(body) else "text", number, line)
    numbers = [int(group) for group in match.groups() if group is not None and group.isdigit()] or [0]
    words = match["range"] or match["block"] or match["beside"] or match["edge"]
    kind = cast(HunkKind, " ".join(words.lower().split()))
    plain = line[0].islower()
    operation = Operation(kind, numbers[0], numbers[-1], bool(match["colon"]), plain)
    return Token("operation", number, line, None, operation)


class _Row(Struct, frozen=True):
    text: str
    line: int
    bare: bool


class _Parser:
    """Consumes tokens one by one; `hunks` (of the open section) and `sections` are complete."""

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
        self.fenced = False

    def feed(self, token: Token) -> None:
        if token.kind == "row":
            self._row(_Row(token.text, token.line, bare=False))
        elif token.kind == "fence" and (self.fenced or not (self.header or self.sections)):
            self.fenced = True  # the whole patch is in a fence
        elif token.kind == "blank":
            if self.rows:
                self.blanks.append(_Row(token.text, token.line, bare=True))
        elif token.kind == "header":
            self._open(token.header, token)
        elif self.header is None and token.kind not in ("envelope", "foreign"):
            self._open(parse_listing(token.text), token)
        elif token.operation is not None and (token.operation.plain or not self._is_bare):
            self._begin(token)
        elif token.kind == "text" and not self._is_bare and (header := parse_listing(token.text)):
            self._open(header, token)
        elif token.kind == "text":
            self._bare_row(token)
        elif token.kind != "envelope":
            raise ParseError(_refusal(token), line=token.line)

    def close_hunk(self) -> None:
        operation, line = self.operation, self.operation_line
        if operation is None:
            return
        rows = self._body()
        if not rows and not operation.kind.startswith("delete"):
            raise ParseError(_missing_body(operation), line=line)
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
        if self._is_bare and _PATH_ALONE.fullmatch(
            self.rows[-1].text[:_LONGEST_OPERATION].strip(_PATH_DECORATION)
        ):
            raise ParseError(_not_a_header(self.rows[-1].text), line=self.rows[-1].line)
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

    @property
    def _is_bare(self) -> bool:
        """Whether the open body has rows without `+`."""
        return bool(self.rows) and self.rows[0].bare

    def _bare_row(self, token: Token) -> None:
        """Take a row without `+` as text, unless it may be anything else."""
        text, shown = token.text, _short(token.text)
        if _HEADER_LIKE.match(text[:_LONGEST_OPERATION]):
            raise ParseError(_not_a_header(text), line=token.line)
        words = _ITEM_NUMBER.sub("", text[:_LONGEST_OPERATION].strip(_DECORATION), count=1).strip(_DECORATION)
        if _UNCLEAR.match(words) or _OPERATIONS.fullmatch(words) or _ROW_LIKE.match(text):
            raise ParseError(_refusal(token), line=token.line)
        if self.rows and not self._is_bare:
            raise ParseError(_mixed(shown), line=token.line)
        self._row(_Row(text, token.line, bare=True))

    def _row(self, row: _Row) -> None:
        if not row.bare and self._is_bare:
            bare = self.rows[0]
            raise ParseError(_mixed(_short(bare.text)), line=bare.line)
        if self.header is None:
            self._open(None, Token("text", row.line, row.text if row.bare else f"+{row.text}"))
        if self.operation is None:
            raise ParseError(
                f'the body row "{_short(row.text)}" has no hunk header above it. Put {OPERATIONS} above it.',
                line=row.line,
            )
        if self.operation.kind.startswith("delete"):
            header = Hunk(self.operation.kind, self.operation.first, self.operation.last, (), 0).header
            use = f"`{header.replace('delete', 'replace')}:`"
            if self.operation.kind == "delete block":
                use += " to replace the block"
            raise ParseError(
                f"`{header}` does not take body rows. Remove the body, or use {use}.", line=row.line
            )
        # Blank lines count only between rows; before and after a body they are separators.
        self.rows += [*self.blanks, row]
        self.blanks = []

    def _body(self) -> tuple[str, ...]:
        bare = next((row.line for row in self.rows if row.bare), None)
        texts = [row.text for row in self.rows]
        if bare is None:
            return tuple(texts)
        # A single row may just begin with a number, such as `8080:80`.
        stripped = strip_numbers(texts) if self._is_bare and len(texts) > 1 else None
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


def _refusal(token: Token) -> str:
    """Why a line of another format, or an incomplete header, is not valid in a patch."""
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


def _missing_body(operation: Operation) -> str:
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


def _not_a_header(text: str) -> str:
    shown = _short(text)
    return (
        f'"{shown}" is neither a body row nor a section header with a tag. Write '
        f"`{FILE_MARK}PATH#TAG` as the latest read or search shows it, or `+{shown}` if it is text."
    )


def _mixed(shown: str) -> str:
    return (
        f'"{shown}" has no `+`, unlike other rows of its body. Write `+{shown}` if it is text; '
        "otherwise remove it."
    )


def _short(text: str) -> str:
    text = text.rstrip()
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
