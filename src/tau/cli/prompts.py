"""The prompts of a command line: what is piped in, the @files, the message; then any further messages."""

import binascii
from collections.abc import Sequence
from pathlib import Path

from tau.ai.history import MAX_IMAGE_CHARS
from tau.ai.wire import ImageContent
from tau.base.errors import UsageError
from tau.base.text import NotText, decode, is_binary
from tau.modes.prompt import Prompt

MAX_TEXT_BYTES = 1024 * 1024
MAX_IMAGE_BYTES = MAX_IMAGE_CHARS * 3 // 4


def build_prompts(words: Sequence[str], piped: str) -> list[Prompt]:
    """`words` are messages and @files in any order; a single dash stands for stdin, which is read anyway."""
    texts: list[str] = []
    images: list[ImageContent] = []
    for word in words:
        if word.startswith("@") and len(word) > 1:
            part = read_file(word[1:])
            if isinstance(part, str):
                texts.append(part)
            else:
                images.append(part)
    messages = [word for word in words if word.strip() and word != "-" and not _is_file(word)]
    if piped.strip():
        alone = not (messages or texts or images)
        texts.insert(0, piped if alone else _block("stdin", "", piped))
    first = "\n\n".join([*texts, *messages[:1]])
    if not first and not images:
        return []
    return [Prompt(first, tuple(images)), *(Prompt(message) for message in messages[1:])]


def read_file(name: str) -> str | ImageContent:
    """A text file as a block that says where it comes from, or an image."""
    path = Path(name).expanduser()
    if path.is_dir():
        raise UsageError(f"@{name} is a folder; name a file, or name the folder in the message")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(
            f"there is no file {name} (a message that begins with @ needs a space before it)"
        ) from None
    except OSError as error:
        raise UsageError(f"@{name} cannot be read: {error.strerror}") from None
    kind = image_type(data)
    limit, advice = MAX_TEXT_BYTES, "name it in the message, and tau reads what it needs"
    if kind:
        limit, advice = MAX_IMAGE_BYTES, "make it smaller"
    if len(data) > limit:
        raise UsageError(f"@{name} has more than {limit / 1024**2:g} MiB; {advice}")
    if kind:
        return ImageContent(binascii.b2a_base64(data, newline=False).decode("ascii"), kind)
    if is_binary(data):
        raise UsageError(f"@{name} is neither text nor an image (png, jpeg, gif, webp)")
    try:
        return _block("file", f' path="{name}"', decode(data).text)
    except NotText as error:
        raise UsageError(f"@{name}: {error}") from None


def image_type(data: bytes) -> str | None:
    """The kind of an image, by its first bytes and not by its name."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _is_file(word: str) -> bool:
    return word.startswith("@") and len(word) > 1


def _block(tag: str, attributes: str, text: str) -> str:
    return f"<{tag}{attributes}>\n{text.rstrip(chr(10))}\n</{tag}>"
