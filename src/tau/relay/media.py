"""Files in answers: the MEDIA grammar, and which of the files may leave the machine."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.image_header import image_type
from tau.base.late import late
from tau.base.sizes import MIB

pictures = late("tau.relay.pictures")

TOKEN = re.compile(r"\bMEDIA:[^\S\n]*`?([^\n]+?)`?[ \t]*$", re.IGNORECASE | re.MULTILINE)
LEADING, TRAILING = "`\"'[{(", "`\"'\\})],"
MAX_PATH_CHARS = 1024
CAPS_MB = {"image": 6, "audio": 16, "video": 16}
DOCUMENT_MB = 100
MAX_PICTURE_MB = 40  # larger ones are not made smaller
_TYPES = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "ogg": "audio/ogg",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
}
EXTENSIONS = {type: f".{name}" for name, type in reversed(_TYPES.items())}
_MAGIC = ((b"%PDF", "application/pdf"), (b"OggS", "audio/ogg"), (b"ID3", "audio/mpeg"))


class SplitAnswer(NamedTuple):
    text: str
    media: list[str]


def split_media(text: str) -> SplitAnswer:
    """Take the MEDIA tokens out of an answer."""
    media: list[str] = []
    seen = False

    def take(match: re.Match[str]) -> str:
        nonlocal seen
        seen = True
        kept: list[str] = []
        count = len(media)
        for word in match[1].split():
            source = _source(word)
            if source:
                media.append(source)
            else:
                kept.append(word)
        return " ".join(kept) if len(media) > count else ""

    rest = TOKEN.sub(take, text)
    if seen:
        rest = re.sub(r"[ \t]+", " ", rest)
        rest = re.sub(r" *\n\s*", "\n", rest)
    return SplitAnswer(rest.strip(), media)


def _source(word: str) -> str:
    name = (
        word.lstrip(LEADING).rstrip(TRAILING).rstrip(".")
        if "`" in word
        else word.lstrip(LEADING).rstrip(TRAILING)
    )
    name = name.rstrip("`")
    if name.startswith("file://"):
        name = unquote(name.removeprefix("file://"))
    is_source = re.match(r"https?://|~/|\./|/", name) and len(name) <= MAX_PATH_CHARS
    return name if is_source else ""


class MediaGuard:
    """Decides which local files an answer may send, and opens them so that no later swap matters."""

    def __init__(self, roots: Iterable[Path], max_mb: float) -> None:
        self._roots = [Path(os.path.realpath(root)) for root in roots]
        self._max_mb = max_mb

    def read(self, source: str, cwd: Path) -> tuple[bytes, str]:
        """The content and type of a file. Raises UsageError saying why it is not sent."""
        path = typed_path(source)
        path = path if path.is_absolute() else cwd / path
        real = Path(os.path.realpath(path))
        shown = f"The file {source} was not sent"
        roots = [Path(os.path.realpath(cwd)), *self._roots]
        root = next((root for root in roots if real.is_relative_to(root)), None)
        if root is None:
            raise UsageError(f"{shown}: it is outside the agent's folder and mediaRoots.")
        if any(part.startswith(".") for part in real.relative_to(root).parts):
            raise UsageError(f"{shown}: it is hidden.")
        try:
            fd = _open_beneath(root, real.relative_to(root))
        except OSError as error:
            raise UsageError(f"{shown}: {error.strerror}.") from None
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise UsageError(f"{shown}: it is not a regular file.")
        if status.st_nlink > 1:
            os.close(fd)
            raise UsageError(f"{shown}: it has a second name, which may be elsewhere (a hard link).")
        with os.fdopen(fd, "rb") as file:
            type = media_type(file.read(512), real.name)
            is_picture = type.startswith("image/")
            cap = min(self._max_mb, CAPS_MB.get(type.partition("/")[0], DOCUMENT_MB))
            if status.st_size > (MAX_PICTURE_MB if is_picture else cap) * MIB:
                raise UsageError(f"{shown}: it is larger than {cap:g} MB.")
            file.seek(0)
            data = file.read(MAX_PICTURE_MB * MIB if is_picture else int(cap * MIB))
        if len(data) <= cap * MIB:
            return data, type
        try:
            return pictures.shrink(data, int(cap * MIB)), "image/jpeg"
        except ModuleNotFoundError:
            install = "pip install 'tau-agent[images]'"
            raise UsageError(
                f"{shown}: it is larger than {cap:g} MB. To make it smaller: {install}."
            ) from None
        except pictures.UnusablePicture as error:
            raise UsageError(f"{shown}: it is larger than {cap:g} MB, and {error}.") from None


def _open_beneath(root: Path, inner: Path) -> int:
    """Open a file step by step without following links, so that a link swapped in meanwhile fails."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for step, last in _steps(inner):
        try:
            below = os.open(step, flags if last else flags | os.O_DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def _steps(inner: Path) -> Iterator[tuple[str, bool]]:
    for index, step in enumerate(inner.parts, 1):
        yield step, index == len(inner.parts)


def media_type(head: bytes, name: str) -> str:
    """The type by content, else by extension."""
    if found := image_type(head):
        return found
    if head[4:8] == b"ftyp":
        return "video/mp4"
    magic = next((type for start, type in _MAGIC if head.startswith(start)), "")
    return magic or _TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")
