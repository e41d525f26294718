"""Images in a message: each is a placeholder in the text, and its content is sent with the text."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tau.ai.wire import ImageContent
from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.modes.interactive.screen_protocols import ScreenPorts
from tau.tui.text.clean import clean_line
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.editor.model import DraftPart

base64 = late("base64")
hashlib = late("hashlib")
image_header = late("tau.base.image_header")
images = late("tau.coding.images")

MAX_REMEMBERED = 200
MAX_NAME_CHARS = 60
MAX_PASTED_FILES = 40
MAX_PASTED_BYTES = 64 * MIB
_ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


class ImageAttachment:
    """An image's file and its content once loaded; `problem` says why it cannot be sent.

    `label` is what the editor shows.
    """

    __slots__ = ("_sent", "content", "label", "path", "problem", "reading")

    def __init__(self, path: Path | None, content: ImageContent | None = None, label: str = "") -> None:
        self.path = path
        self.content = content
        self.label = label
        self.problem = ""
        self.reading: asyncio.Event | None = None
        self._sent: int | None = None

    def release(self) -> None:
        """Drop the content after sending, if there is a file."""
        if self.content is not None and self.path is not None:
            self._sent = hash(self.content.data)
            self.content = None

    def is_same(self, content: ImageContent) -> bool:
        """Whether this is the image's content, even if it has been dropped."""
        if self.content is not None:
            return self.content.data == content.data
        return self._sent == hash(content.data)


class Attachments:
    """The placeholder `[Image #1: shot.png]` is part of the sent text, so that a model can refer to it.

    It stays valid while tau runs, even in text that returns from the queue or history. The content is
    dropped after sending, and read from its file again if needed.
    """

    def __init__(self, ports: ScreenPorts) -> None:
        self._display, self._current, self._notices, self._tasks, _ = ports
        self._images: dict[str, ImageAttachment] = {}
        self._last_number = 0

    def attach(self, path: Path) -> bool:
        """Insert the image in this file at the cursor; False if it is not one."""
        if not is_image(path):
            return False
        self._insert(path.name, path.stat().st_size, ImageAttachment(path))
        return True

    async def attach_data(self, data: bytes, name: str = "clipboard") -> None:
        """Insert an image that has no file yet at the cursor. Raises TauError."""
        images.check_size(len(data))
        info = image_header.read_header(data)
        if info is None:
            raise TauError("The clipboard image has an unsupported format (use PNG, JPEG, GIF or WEBP).")
        folder = self._current.paths.cache / "pasted"
        path = await asyncio.to_thread(_save, folder, data, _ENDINGS.get(info.mime_type, ".png"))
        self._insert(f"{name}{path.suffix if path else ''}", len(data), ImageAttachment(path), data)

    def remember(self, token: str, path: str) -> None:
        """Register a placeholder from an earlier run, restored from a draft."""
        self._register(token, ImageAttachment(Path(path)))
        self._last_number = max(self._last_number, _number(token))

    def placeholders(self, text: str) -> list[str]:
        """The placeholders in a text, each once."""
        if "[Image #" not in text:
            return []
        positions = sorted((text.find(token), token) for token in self._images)
        return [token for position, token in positions if position >= 0]

    def files(self, text: str) -> list[tuple[str, str]]:
        """Placeholders in a text and their files."""
        return [(token, str(path)) for token in self.placeholders(text) if (path := self._images[token].path)]

    def loaded(self, text: str) -> list[ImageContent] | None:
        """The images of a text; None if some are not loaded yet."""
        contents = [self._images[token].content for token in self.placeholders(text)]
        return None if None in contents else [content for content in contents if content is not None]

    async def load(self, text: str) -> list[ImageContent]:
        """Load the images of a text. Raises TauError if one cannot be sent."""
        images: list[ImageContent] = []
        for token in self.placeholders(text):
            picture = self._images[token]
            await self._read(picture)
            if picture.content is None:
                raise TauError(f"Cannot send {token}: {picture.problem} Delete the placeholder.")
            images.append(picture.content)
        return images

    def release(self, text: str) -> None:
        """Drop the content after sending; the files are enough."""
        for token in self.placeholders(text):
            self._images[token].release()

    def restore(self, text: str, contents: Sequence[ImageContent]) -> str:
        """The text of a sent message, with a placeholder for each of its images.

        Placeholders of another session or run may be in use for other images; those get new numbers.
        """
        marks = _find_placeholders(text)
        if len(marks) != len(contents):  # one typed by the user refers to nothing
            marks = self.placeholders(text)[: len(contents)]
        self._last_number = max(self._last_number, *map(_number, marks), 0)
        for mark, content in zip(marks, contents, strict=False):
            known = self._images.get(mark)
            if known is not None and known.is_same(content):
                known.content = content
                continue
            name = mark.partition(": ")[2].removesuffix("]")
            token = mark if known is None else self._new_token(name)
            text = text.replace(mark, token)
            self._add_restored(token, name, content)
        for content in contents[len(marks) :]:
            token = self._new_token("picture")
            text = f"{text} {token}" if text else token
            self._add_restored(token, "picture", content)
        return text

    def editor_parts(self, text: str) -> list[DraftPart]:
        """A text for the editor with each placeholder as one unit; never last, where typing continues."""
        parts: list[DraftPart] = []
        for token in self.placeholders(text):
            before, _, text = text.partition(token)
            label = self._images[token].label or token
            parts += [*([before] if before else []), {"paste": 0, "label": label, "text": token}]
        return [*parts, text or " "]

    def _add_restored(self, token: str, name: str, content: ImageContent) -> None:
        size = len(content.data) * 3 // 4
        picture = ImageAttachment(None, content, _label(name, size))
        self._register(token, picture)
        self._tasks.start(self._save_file(picture, content))

    async def _save_file(self, picture: ImageAttachment, content: ImageContent) -> None:
        """Save it to a file, so that a draft can refer to it and its content can be dropped."""
        try:
            data = base64.b64decode(content.data)
        except ValueError:
            return
        ending = _ENDINGS.get(content.mime_type, ".png")
        picture.path = await asyncio.to_thread(_save, self._current.paths.cache / "pasted", data, ending)

    def _insert(self, name: str, size: int, picture: ImageAttachment, data: bytes | None = None) -> None:
        name = clean_line(name).replace("[", "(").replace("]", ")")[-MAX_NAME_CHARS:]
        token = self._new_token(name)
        picture.label = _label(name, size)
        self._register(token, picture)
        editor = self._display.editor
        if not _after_space(editor):
            editor.insert(" ")
        editor.insert_marker(picture.label, token)
        editor.insert(" ")
        self._display.request_render()
        self._tasks.start(self._read(picture, data))

    def _new_token(self, name: str) -> str:
        self._last_number += 1
        return f"[Image #{self._last_number}: {name}]"

    def _register(self, token: str, picture: ImageAttachment) -> None:
        self._images[token] = picture
        if len(self._images) > MAX_REMEMBERED:
            del self._images[next(iter(self._images))]

    async def _read(self, picture: ImageAttachment, data: bytes | None = None) -> None:
        """Load the image on a thread, once, downscaling it if it is large."""
        if picture.content is not None or (picture.path is None and data is None):
            return
        if picture.reading is not None:
            await picture.reading.wait()
            return
        picture.reading = asyncio.Event()
        resize = self._current.settings.images.auto_resize
        try:
            picture.content = await asyncio.to_thread(_load, picture.path, data, resize)
            picture.problem = ""
        except TauError as error:
            picture.problem = str(error)
            self._notices.hint(picture.problem, "error")
        except OSError as error:
            picture.problem = f"its file cannot be read ({error.strerror or error})."
        finally:
            picture.reading.set()
            picture.reading = None


def _label(name: str, size: int) -> str:
    return f"[{name} {format_bytes(size)}]"


def _find_placeholders(text: str) -> list[str]:
    """What looks like a placeholder, in order, each once."""
    tokens: dict[str, None] = {}
    for piece in text.split("[Image #")[1:]:
        inside, end, _ = piece.partition("]")
        token = f"[Image #{inside}{end}"
        if end and ": " in inside and _number(token):
            tokens[token] = None
    return list(tokens)


def _number(token: str) -> int:
    number = token.removeprefix("[Image #").partition(":")[0]
    return int(number) if number.isascii() and number.isdecimal() else 0


def is_image(path: Path) -> bool:
    """Whether the file holds a supported image."""
    try:
        with path.open("rb") as file:
            return image_header.read_header(file.read(image_header.HEADER_BYTES)) is not None
    except OSError:
        return False


def _after_space(editor: Editor) -> bool:
    """Whether the cursor is at the start or after a space."""
    draft = editor.draft()
    parts, cursor = draft["parts"], draft["cursor"]
    assert isinstance(parts, list) and isinstance(cursor, int)
    text = "".join(part if isinstance(part, str) else "x" for part in parts)
    return cursor == 0 or text[cursor - 1].isspace()


def _load(path: Path | None, data: bytes | None, resize: bool) -> ImageContent:
    if data is None:
        assert path is not None
        images.check_size(path.stat().st_size)
        data = path.read_bytes()
    return images.load_image(data, auto_resize=resize).content()


def _save(folder: Path, data: bytes, ending: str) -> Path | None:
    """Save a clipboard image, so that a draft can refer to it; removes the oldest ones."""
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}{ending}"
    try:
        make_private(folder)
        write_atomic(path, data, mode=0o600, sync=False)
        _remove_oldest(sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True))
    except OSError:
        return None
    return path


def _remove_oldest(newest_first: Sequence[Path]) -> None:
    total = 0
    for place, path in enumerate(newest_first):
        total += path.stat().st_size
        if place >= MAX_PASTED_FILES or total > MAX_PASTED_BYTES:
            path.unlink(missing_ok=True)
