"""Large images of sessions: each stored once in its own file, named by its hash."""

import binascii
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from tau.ai.wire import Attachment, CustomMessage, ImageContent, TextContent, ToolResultMessage, UserMessage
from tau.base.files import make_private, typed_path, write_atomic
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.session import entries as s

hashlib = late("hashlib")

MIN_CHARS = 256 * KIB  # of base64; smaller images stay in the line
PREFIX = "blob:sha256:"
MARK = b'"' + PREFIX.encode()  # a line without it has no reference
_HASH_CHARS = 64
_HEX = frozenset("0123456789abcdef")
_OMP_FOLDER = "~/.omp/agent/blobs"  # omp's sessions refer to files there

E_ = TypeVar("E_", bound=s.KnownEntry)
_Convert = Callable[[str], str | TextContent]  # of base64 data: other data, or a note that replaces it


class MissingBlob(Exception):
    """`str()` says what is wrong with the file."""


class Blobs(msgspec.Struct, frozen=True):
    """Files named by the SHA-256 of their content. Without a folder, nothing is stored."""

    folder: Path | None

    def store_images(self, entry: E_) -> E_:
        """Store large images in files; returns the entry with references to them."""
        if self.folder is None:
            return entry

        return _replace_data(entry, self._store)

    def load_images(self, entry: E_, warn: Callable[[str], None]) -> E_:
        """The entry with its images loaded; a note and a warning if a file is missing or damaged."""

        def load(text: str) -> str | TextContent:
            if not text.startswith(PREFIX):
                return text
            try:
                return self.data(text)
            except MissingBlob as missing:
                warn(f"An image of the session is missing: {missing}.")
                return TextContent(f"(An image that belongs here is missing: {missing}.)")

        return _replace_data(entry, load)

    def inline(self, line: bytes, warn: Callable[[str], None]) -> bytes:
        """A line with its images inlined, whatever else it contains."""
        if MARK not in line:
            return line
        return msgspec.json.encode(self._inline(msgspec.json.decode(line), warn))

    def data(self, reference: str) -> str:
        """Load the base64 text that a reference names."""
        digest = reference.removeprefix(PREFIX)
        if len(digest) != _HASH_CHARS or not _HEX.issuperset(digest):
            raise MissingBlob(f'"{digest[:_HASH_CHARS]}" is not the name of a stored image')
        damaged: Path | None = None
        for folder in (self.folder, typed_path(_OMP_FOLDER)):
            if folder is None:
                continue
            try:
                content = (folder / digest).read_bytes()
            except OSError:
                continue
            if hashlib.sha256(content).hexdigest() == digest:
                return binascii.b2a_base64(content, newline=False).decode()
            damaged = folder / digest
        if damaged is not None:
            raise MissingBlob(f"the file {damaged} is damaged")
        raise MissingBlob(f"there is no file {digest[:12]}... among the stored images")

    def _store(self, data: str) -> str:
        """Store large data and return a reference; other data stays in the line."""
        if len(data) < MIN_CHARS or self.folder is None:
            return data
        try:
            content = binascii.a2b_base64(data)
        except ValueError:
            return data
        if binascii.b2a_base64(content, newline=False) != data.encode():
            return data  # not in canonical base64, which could not be restored exactly
        digest = hashlib.sha256(content).hexdigest()
        path = self.folder / digest
        if not _has_content(path, content):
            make_private(self.folder)
            write_atomic(path, content, mode=0o600)
        return PREFIX + digest

    def _inline(self, value: object, warn: Callable[[str], None]) -> object:
        if isinstance(value, list):
            return [self._inline(item, warn) for item in value]
        if not isinstance(value, dict):
            return value
        field = next((key for key in ("data", "content") if _is_reference(value.get(key))), None)
        if field is None:
            return {key: self._inline(item, warn) for key, item in value.items()}
        try:
            return {**value, field: self.data(value[field])}
        except MissingBlob as missing:
            warn(f"An image of the session is missing: {missing}.")
            return {"type": "text", "text": f"(An image that belongs here is missing: {missing}.)"}


def _replace_data(entry: E_, convert: _Convert) -> E_:
    """The entry with the data of every image and attachment converted; the same object if nothing changes."""
    result: object = entry
    match result:
        case s.MessageEntry(message=UserMessage() | ToolResultMessage() | CustomMessage() as message):
            new = _message(message, convert)
            result = entry if new is message else replace(entry, message=new)
        case s.CustomMessageEntry(content=list() as parts):
            kept = _parts(parts, convert)
            result = entry if kept is parts else replace(entry, content=kept)
        case s.ContextEdit(replacement=s.ContentReplacement(content=list() as parts)):
            kept = _parts(parts, convert)
            result = (
                entry
                if kept is parts
                else replace(entry, replacement=s.ContentReplacement(cast("Any", kept)))
            )
    return cast("E_", result)


def _message(message: Any, convert: _Convert) -> Any:
    content = message.content
    if isinstance(content, list):
        content = _parts(content, convert)
    if not isinstance(message, UserMessage) or not message.attachments:
        return message if content is message.content else replace(message, content=content)
    files = [_convert_field(file, "content", convert) for file in message.attachments]
    if content is message.content and all(a is b for a, b in zip(files, message.attachments, strict=True)):
        return message
    notes = [file for file in files if isinstance(file, TextContent)]
    if notes:
        content = [*([TextContent(content)] if isinstance(content, str) else content), *notes]
    kept = [file for file in files if isinstance(file, Attachment)]
    return replace(message, content=content, attachments=kept)


def _convert_field(holder: ImageContent | Attachment, field: str, convert: _Convert) -> object:
    old = getattr(holder, field)
    new = convert(old)
    if new is old:
        return holder
    return new if isinstance(new, TextContent) else replace(holder, **{field: new})


def _parts(parts: Sequence[object], convert: _Convert) -> Sequence[Any]:
    new = [
        _convert_field(part, "data", convert) if isinstance(part, ImageContent) else part for part in parts
    ]
    return parts if all(a is b for a, b in zip(new, parts, strict=True)) else new


def _has_content(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _is_reference(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)
