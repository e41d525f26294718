"""Builds prompts from the command line: piped input, @files and messages."""

import os
from collections.abc import Sequence

from tau.ai.wire import ImageContent
from tau.base.errors import ToolError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.base.text import NotText, decode, is_binary, reveal_invisible, reveal_path
from tau.modes.user_prompt import UserPrompt

fences = late("tau.coding.untrusted_text")
image_files = late("tau.ai.images")
image_header = late("tau.base.image_header")
image_loading = late("tau.coding.images")
threads = late("tau.base.threads")

MAX_TEXT_BYTES = MIB


async def read_prompts(words: Sequence[str], piped: str) -> list[UserPrompt]:
    """Like `build_prompts`; Ctrl+C works even while a file keeps us waiting, as a pipe does."""
    if not any(map(_is_file, words)):
        return build_prompts(words, piped)
    return await threads.in_daemon_thread(lambda: build_prompts(words, piped))


def build_prompts(words: Sequence[str], piped: str) -> list[UserPrompt]:
    """`words` are messages and @files in any order; a dash means stdin, which is read anyway."""
    texts: list[str] = []
    images: list[ImageContent] = []
    for word in words:
        if _is_file(word):
            part = read_file(word[1:])
            if isinstance(part, str):
                texts.append(part)
            else:
                images.append(part)
    messages = [typed_text(word) for word in words if word.strip() and word != "-" and not _is_file(word)]
    if piped.strip():
        alone = not (messages or texts or images)
        texts.insert(0, piped if alone else _block("stdin", "", piped))
    first = "\n\n".join([*texts, *messages[:1]])
    if not first and not images:
        return []
    return [UserPrompt(first, tuple(images)), *(UserPrompt(message) for message in messages[1:])]


def typed_text(word: str) -> str:
    """Decode an argument as UTF-8 in every locale, replacing invalid bytes."""
    return word if word.isascii() else os.fsencode(word).decode("utf-8", "replace")


def read_file(name: str) -> str | ImageContent:
    """Read a text file as a tagged block with its path, or an image."""
    try:
        with typed_path(name).open("rb") as file:
            data = file.read(image_files.MAX_IMAGE_BYTES + 1)
    except IsADirectoryError:
        raise UsageError(f"@{name} is a folder; use a file, or mention the folder in the message.") from None
    except FileNotFoundError:
        raise UsageError(
            f'File "{name}" not found (put a space before a message that starts with @).'
        ) from None
    except OSError as error:
        raise UsageError(f"@{name} cannot be read: {error.strerror}.") from None
    kind = image_header.image_type(data)
    limit, advice = MAX_TEXT_BYTES, "mention it in the message, and tau reads what it needs"
    if kind:
        limit, advice = image_files.MAX_IMAGE_BYTES, "make it smaller"
    if len(data) > limit:
        raise UsageError(f"@{name} is larger than {format_bytes(limit)}; {advice}.")
    if kind:
        try:
            return image_loading.load_image(data, auto_resize=False).content()
        except ToolError as error:
            raise UsageError(f"@{name}: {error}") from None
    if is_binary(data):
        raise UsageError(f"@{name} is neither text nor an image (png, jpeg, gif, webp).")
    try:
        return _block("file", f' path="{reveal_path(name)}"', reveal_invisible(decode(data).text))
    except NotText as error:
        raise UsageError(f"@{name} cannot be sent. {error}.") from None


def _is_file(word: str) -> bool:
    return word.startswith("@") and len(word) > 1


def _block(tag: str, attributes: str, text: str) -> str:
    content = text.rstrip("\n")
    if f"</{tag}" not in content:
        return f"<{tag}{attributes}>\n{content}\n</{tag}>"
    id = fences.find_mark(content)  # the text must not end its own block
    return f'<{tag}{attributes} id="{id}">\n{content}\n</{tag} id="{id}">'
