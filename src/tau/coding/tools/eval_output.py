"""Collects the output of a call's cells within limits: text for the model, details for the user."""

import asyncio
from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.ai.wire import ImageContent
from tau.backends.kernels import cells
from tau.backends.kernels.cells import KernelLanguage
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.output import OutputLimits, OutputMeta, OutputSink, truncate

documents = late("tau.coding.readers.documents.limits")
html = late("tau.coding.readers.documents.html")
images = late("tau.coding.images")
markdown = late("tau.coding.readers.documents.markdown")

MAX_IMAGES = 20
MAX_JSON_OUTPUTS = 50
MAX_JSON_BYTES = 256 * KIB  # per value in the details; the text is complete
MAX_STATUS_EVENTS = 200
MAX_HTML_CHARS = 2_000_000
HTML_SECONDS = 2.0
INDENTED_JSON_BYTES = 4 * KIB
CELL_OUTPUT = OutputLimits(bytes=16 * KIB)

CellStatus = Literal["pending", "running", "complete", "error"]


class CellDetails(Struct, frozen=True, rename="camel", kw_only=True):
    language: KernelLanguage
    code: str
    title: str | UnsetType = UNSET
    status: CellStatus = "pending"
    output: str = ""
    duration_ms: int = 0
    exit_code: int | None = None
    status_events: list[dict[str, Any]] = []
    has_markdown: bool = False


class EvalDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`language` is that of the first cell, `languages` are all, in order of first use."""

    cells: list[CellDetails]
    language: KernelLanguage
    languages: list[KernelLanguage]
    json_outputs: list[Any] = []
    status_events: list[dict[str, Any]] = []
    meta: OutputMeta | UnsetType = UNSET
    is_error: bool = False


class CellText:
    """The beginning and end of one cell's output."""

    def __init__(self, max_bytes: int = CELL_OUTPUT.bytes) -> None:
        self._max_bytes = max_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = False

    def push(self, data: bytes) -> None:
        room = self._max_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._max_bytes:
            del self._tail[: -self._max_bytes]
            self._dropped = True

    def text(self) -> str:
        gap = b"\n[...]\n" if self._dropped else b""
        text = (self._head + gap + self._tail).decode("utf-8", "replace").strip("\n")
        return truncate(text, CELL_OUTPUT, "ends").text


class EvalOutput:
    """Collects the events of one cell after another."""

    def __init__(self, sink: OutputSink, planned: list[CellDetails], *, resize: bool, block: bool) -> None:
        self.cells = planned
        self.sink = sink
        self.json_outputs: list[Any] = []
        self.status_events: list[dict[str, Any]] = []
        self.images: list[ImageContent] = []
        self._pictures: list[cells.ImageOutput] = []
        self._resize = resize
        self._block = block
        self._index = 0
        self._text = CellText()
        self._ends_open = False

    def begin(self, index: int) -> None:
        self._index = index
        self._text = CellText()
        count = len(self.cells)
        if count > 1:
            title = self.cells[index].title
            heading = f"[{index + 1}/{count}]" + ("" if title is UNSET else f" {title}")
            self._push(f"{self._break()}{chr(10) if index else ''}{heading}\n".encode())
        self._change(status="running")

    def take(self, event: cells.CellEvent) -> None:
        """Add a display of the running cell."""
        match event:
            case cells.TextOutput():
                self.push(event.data)
            case cells.MarkdownOutput():
                self._change(has_markdown=True)
                self.push(f"{event.text}\n".encode())
            case cells.HtmlOutput():
                self._change(has_markdown=True)
                self.push(f"{as_markdown(event.text)}\n".encode())
            case cells.JsonOutput():
                self._take_json(event.value)
            case cells.ImageOutput():
                self._take_picture(event)
            case cells.StatusOutput():
                self.note(event.event)

    def push(self, data: bytes) -> None:
        """Add output of the running cell."""
        self._text.push(data)
        self._push(data)

    def remark(self, line: str) -> None:
        """Add a note about the running cell."""
        self.push(f"{self._break()}{line}\n".encode())

    def note(self, event: dict[str, Any]) -> None:
        if len(self.status_events) < MAX_STATUS_EVENTS:
            self.status_events.append(event)
            self._change(status_events=[*self.cells[self._index].status_events, event])
        elif len(self.status_events) == MAX_STATUS_EVENTS:
            self.status_events.append({"op": "log", "message": f"More than {MAX_STATUS_EVENTS} events."})

    def end(self, status: CellStatus, exit_code: int | None, duration_ms: int) -> None:
        """Finish the running cell and store its output."""
        if len(self.cells) > 1 and not self._text.text():
            self.push(b"(no output)\n")
        self._change(status=status, exit_code=exit_code, duration_ms=duration_ms, output=self._text.text())

    def details(self, *, is_error: bool = False, meta: OutputMeta | UnsetType = UNSET) -> EvalDetails:
        shown = list(self.cells)
        if shown[self._index].status == "running":
            shown[self._index] = replace(shown[self._index], output=self._text.text())
        return EvalDetails(
            cells=shown,
            language=shown[0].language,
            languages=list(dict.fromkeys(cell.language for cell in shown)),
            json_outputs=list(self.json_outputs),
            status_events=list(self.status_events),
            meta=meta,
            is_error=is_error,
        )

    def _push(self, data: bytes) -> None:
        if data:
            self.sink.push(data)
            self._ends_open = not data.endswith(b"\n")

    def _break(self) -> str:
        return "\n" if self._ends_open else ""

    def _change(self, **fields: Any) -> None:
        self.cells[self._index] = replace(self.cells[self._index], **fields)

    def _take_json(self, value: Any) -> None:
        data = msgspec.json.encode(value)
        if len(data) <= INDENTED_JSON_BYTES:
            self.push(msgspec.json.format(data, indent=2) + b"\n")
        else:
            self.push(data + b"\n")
        if len(self.json_outputs) < MAX_JSON_OUTPUTS and len(data) <= MAX_JSON_BYTES:
            self.json_outputs.append(value)

    def _take_picture(self, picture: cells.ImageOutput) -> None:
        count = len(self.images) + len(self._pictures)
        if self._block:
            self.remark("[Image not sent: images.blockImages is true]")
        elif count < MAX_IMAGES:
            self._pictures.append(picture)
        elif count == MAX_IMAGES:
            self.remark(f"[Only the first {MAX_IMAGES} images are sent]")

    async def load_pictures(self) -> None:
        """Prepare an image of the running cell for sending."""
        pictures, self._pictures = self._pictures, []
        for picture in pictures:
            try:
                data = a2b_base64(picture.data)
                loaded = await asyncio.to_thread(images.load_image, data, auto_resize=self._resize)
            except (ToolError, Base64Error) as error:
                self.remark(f"[Image not sent: {str(error).rstrip('.')}]")
            else:
                self.images.append(loaded.content())


def as_markdown(text: str) -> str:
    """HTML as Markdown; unchanged if it cannot be converted."""
    if len(text) > MAX_HTML_CHARS:
        return text
    blocks = markdown.MarkdownWriter()
    try:
        html.convert(text, blocks, documents.Deadline(HTML_SECONDS))
    except (ToolError, documents.TextLimitReached):
        return text
    return blocks.text().rstrip("\n") or text
