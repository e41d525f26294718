"""Convert Jupyter notebooks to editable text and back; unedited parts keep every byte.

The JSON is never rewritten as a whole. Cells are cut out and reassembled, and in an
edited cell only the source is replaced.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any

from msgspec import Struct

from tau.base.errors import ToolError

_MARKER = r"# %% \[(?P<kind>[A-Za-z][\w-]*)\](?: +cell:(?P<number>\d{1,9}))?[ \t]*\r?$"
_ESCAPED_MARKER = rf"(?m)^\\*{_MARKER}"
_ESCAPED_LETTER = r"(?<!\\)(?:\\\\)*\\u(?!00[01])[0-9a-fA-F]{4}"
_SPACE = re.compile(r"[ \t\r\n]*")
_BOM = "\ufeff"
_KINDS = ("code", "markdown", "raw")
_DECODER = JSONDecoder()


class TextCell(Struct, frozen=True):
    """A cell of the editable text; `number` is that of the original cell, None for a new one."""

    kind: str
    number: int | None
    source: str


class _JsonSpan(Struct, frozen=True):
    """The range of a value in the JSON text, from `start` up to `end`."""

    start: int
    end: int


class NotebookCell(Struct, frozen=True):
    """A cell in the JSON text. `source` is None where the cell has none; `as_lines` if it is a list."""

    span: _JsonSpan
    kind: str
    text: str
    source: _JsonSpan | None
    as_lines: bool
    id: str


class Notebook(Struct, frozen=True):
    """The JSON text and the ranges of its cells. `array` includes the brackets."""

    text: str
    bom: bool
    array: _JsonSpan
    cells: list[NotebookCell]
    has_ids: bool


def to_text(data: bytes) -> str:
    """Render the cells, each after a line such as `# %% [code] cell:0`. Raises ToolError."""
    notebook = parse(data)
    parts = []
    for number, cell in enumerate(notebook.cells):
        if any("\ud800" <= letter <= "\udfff" for letter in cell.text):
            raise ToolError(
                f"Cell {number} holds half a character (a lone surrogate); read the file with :raw."
            )
        source = re.sub(_ESCAPED_MARKER, lambda match: "\\" + match[0], cell.text)
        parts.append(f"# %% [{cell.kind}] cell:{number}\n{source}\n")
    return "".join(parts)


def from_text(text: str, original: bytes) -> bytes:
    """Apply the changed, moved, removed and new cells of the text to the notebook. Raises ToolError."""
    notebook = parse(original)
    wanted = parse_cells(text)
    rendered: list[str] = []
    ids = {cell.id for cell in notebook.cells if cell.id}
    used: set[int] = set()
    style = _style(notebook)
    for position, cell in enumerate(wanted):
        number = cell.number
        if number is not None and number < len(notebook.cells) and number not in used:
            used.add(number)
            old = notebook.cells[number]
            rendered.append(_edit_cell(notebook, old, cell, style))
        else:
            rendered.append(_new_cell(cell, position, ids, notebook.has_ids, style))
    if used == set(range(len(notebook.cells))) == {cell.number for cell in wanted} and _in_order(wanted):
        changed = _replace_cells(notebook, rendered)
    else:
        changed = _rebuild(notebook, rendered, style)
    encoded = ((_BOM if notebook.bom else "") + changed).encode()
    parse(encoded)
    return encoded


def parse_cells(text: str) -> list[TextCell]:
    """Parse the cells of an editable text. Raises ToolError if it does not start with one."""
    markers = list(re.finditer(rf"(?m)^{_MARKER}", text))
    before = text[: markers[0].start()] if markers else text
    if before.strip(f"{_BOM} \t\r\n"):
        raise ToolError('The text of a notebook begins with a cell, such as the line "# %% [code] cell:0".')
    ends = [*(match.start() for match in markers[1:]), len(text)]
    return [_text_cell(match, text[match.end() : ends[at]]) for at, match in enumerate(markers)]


def parse(data: bytes) -> Notebook:
    """Locate the cells in a notebook's bytes. Raises ToolError if it is not a notebook."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"The notebook is not UTF-8 text: byte {error.start} is invalid.") from error
    bom = text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    try:
        start = _skip(text, 0)
        if text[start : start + 1] != "{":
            raise ToolError("Not a notebook: a notebook is a JSON object with cells.")
        fields = dict(_members(text, start))
        _, end = _DECODER.raw_decode(text, start)
        if _skip(text, end) != len(text):
            raise JSONDecodeError("Unexpected data after the end", text, _skip(text, end))
        return _locate_cells(text, bom, fields)
    except JSONDecodeError as error:
        raise ToolError(
            f"The notebook is broken JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from error
    except RecursionError as error:
        raise ToolError("The notebook is broken: its JSON is nested too deeply.") from error


def _locate_cells(text: str, bom: bool, fields: dict[str, _JsonSpan]) -> Notebook:
    version = _value(text, fields.get("nbformat"))
    cells = fields.get("cells")
    if cells is None or text[cells.start] != "[":
        if "worksheets" in fields:
            raise ToolError(
                "This notebook has the old format 3; convert it with jupyter nbconvert --to notebook."
            )
        raise ToolError("Not a notebook: it has no list of cells.")
    minor = _value(text, fields.get("nbformat_minor"))
    has_ids = version == 4 and isinstance(minor, int) and minor >= 5
    found = [_cell(text, span, number) for number, span in enumerate(_elements(text, cells.start))]
    return Notebook(text, bom, cells, found, has_ids or (version is None and any(cell.id for cell in found)))


def _cell(text: str, span: _JsonSpan, number: int) -> NotebookCell:
    if text[span.start] != "{":
        raise ToolError(f"The notebook is broken: cell {number} is not an object.")
    fields = dict(_members(text, span.start))
    kind = _value(text, fields.get("cell_type"))
    if not isinstance(kind, str) or not re.fullmatch(r"[A-Za-z][\w-]*", kind):
        raise ToolError(f"The notebook is broken: cell {number} has no type.")
    source = _value(text, fields.get("source"))
    lines = [""] if source is None else [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ToolError(f"The notebook is broken: the source of cell {number} is not text.")
    name = _value(text, fields.get("id"))
    return NotebookCell(
        span,
        kind,
        "".join(lines),
        fields.get("source"),
        not isinstance(source, str),
        name if isinstance(name, str) else "",
    )


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _members(text: str, start: int) -> Iterator[tuple[str, _JsonSpan]]:
    """Yield the keys of the object at `start` and the ranges of their values."""
    at = _skip(text, start + 1)
    if text[at : at + 1] == "}":
        return
    while True:
        if text[at : at + 1] != '"':
            raise JSONDecodeError("A key in double quotes is missing", text, at)
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise JSONDecodeError("A colon is missing", text, at)
        at = _skip(text, at + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield key, _JsonSpan(at, end)
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return
        if text[at : at + 1] != ",":
            raise JSONDecodeError("A comma is missing", text, at)
        at = _skip(text, at + 1)


def _elements(text: str, start: int) -> Iterator[_JsonSpan]:
    """Yield the ranges of the elements of the list at `start`."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield _JsonSpan(at, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _value(text: str, span: _JsonSpan | None) -> object:
    return None if span is None else _DECODER.raw_decode(text, span.start)[0]


def _text_cell(match: re.Match[str], body: str) -> TextCell:
    """Build a cell. The line endings after its marker and before the next are not part of the source."""
    source = body.removeprefix("\n").removesuffix("\n")
    if match[0].endswith("\r"):
        source = source.removesuffix("\r")
    source = re.sub(rf"(?m)^\\(?=\\*{_MARKER})", "", source)
    kind = match["kind"].lower()
    number = match["number"]
    return TextCell(kind, None if number is None else int(number), source)


class _Style(Struct, frozen=True):
    """The JSON layout: indentation step (None for a single line), and whether non-ASCII is escaped."""

    step: str | None
    ascii_only: bool
    newline: str


def _style(notebook: Notebook) -> _Style:
    text = notebook.text
    brace = text.index("{")
    first = text[brace + 1 : _skip(text, brace + 1)]
    step = re.search(r"\n([ \t]*)\Z", first)
    return _Style(
        None if step is None else step[1] or None,
        text.isascii() and "\\u" in text and re.search(_ESCAPED_LETTER, text) is not None,
        "\r\n" if "\r\n" in first else "\n",
    )


def _to_json(value: object, depth: int, style: _Style) -> str:
    if style.step is None:
        return json.dumps(value, ensure_ascii=style.ascii_only)
    text = json.dumps(value, ensure_ascii=style.ascii_only, indent=style.step)
    return text.replace("\n", style.newline + style.step * depth)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def _edit_cell(notebook: Notebook, old: NotebookCell, new: TextCell, style: _Style) -> str:
    """Return the JSON of an existing cell."""
    raw = notebook.text[old.span.start : old.span.end]
    if new.kind != old.kind:
        return _change_kind(raw, new, style)
    if new.source == old.text:
        return raw
    if old.source is None:
        raise ToolError("A cell without a source cannot be edited; replace it by a new one.")
    value = _to_json(_lines(new.source) if old.as_lines else new.source, 3, style)
    start, end = old.source.start - old.span.start, old.source.end - old.span.start
    return raw[:start] + value + raw[end:]


def _change_kind(raw: str, new: TextCell, style: _Style) -> str:
    """Change the type of a cell, keeping the fields that both types share."""
    _check_kind(new)
    cell: dict[str, Any] = json.loads(raw)
    cell["cell_type"], cell["source"] = new.kind, _lines(new.source)
    if new.kind == "code":
        cell.pop("attachments", None)
        cell.update(execution_count=None, outputs=[])
        cell = {key: cell[key] for key in sorted(cell)}
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)
    return _to_json(cell, 2, style)


def _new_cell(new: TextCell, position: int, ids: set[str], has_ids: bool, style: _Style) -> str:
    _check_kind(new)
    cell: dict[str, object] = {"cell_type": new.kind}
    if new.kind == "code":
        cell["execution_count"] = None
    if has_ids:
        cell["id"] = _new_id(new, position, ids)
    cell["metadata"] = {}
    if new.kind == "code":
        cell["outputs"] = []
    cell["source"] = _lines(new.source)
    return _to_json(cell, 2, style)


def _new_id(new: TextCell, position: int, ids: set[str]) -> str:
    """Derive the id from the text, so a preview shows what will be written."""
    for attempt in range(len(ids) + 1):
        seed = f"{position}/{attempt}/{new.kind}/{new.source}".encode("utf-8", "surrogatepass")
        made = hashlib.blake2s(seed, digest_size=4).hexdigest()
        if made not in ids:
            break
    ids.add(made)
    return made


def _check_kind(cell: TextCell) -> None:
    if cell.kind not in _KINDS:
        raise ToolError(f"There are no cells of type {cell.kind}; use {', '.join(_KINDS)}.")


def _in_order(cells: list[TextCell]) -> bool:
    numbers = [cell.number for cell in cells]
    return numbers == list(range(len(cells)))


def _replace_cells(notebook: Notebook, rendered: list[str]) -> str:
    """Replace cells in place, keeping the text between them."""
    pieces, at = [], 0
    for cell, raw in zip(notebook.cells, rendered, strict=True):
        pieces += [notebook.text[at : cell.span.start], raw]
        at = cell.span.end
    return "".join([*pieces, notebook.text[at:]])


def _rebuild(notebook: Notebook, rendered: list[str], style: _Style) -> str:
    text, array = notebook.text, notebook.array
    if style.step is None:
        body = f"[{', '.join(rendered)}]"
    elif rendered:
        inner = style.newline + style.step * 2
        body = f"[{inner}{f',{inner}'.join(rendered)}{style.newline}{style.step}]"
    else:
        body = "[]"
    return text[: array.start] + body + text[array.end :]
