"""Finds image paths in pasted text, as terminals type them when a file is dropped."""

import os
from pathlib import Path

from tau.base.files import typed_path
from tau.base.late import late

shlex = late("shlex")
urls = late("urllib.parse")

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
MAX_CHARS = 8_192
MAX_PATHS = 20


def find_images(text: str, cwd: Path) -> list[Path]:
    """The files, if the text is only paths or file:// URLs of images; else none."""
    text = text.strip()
    if not text or len(text) > MAX_CHARS or not any(ending in text.lower() for ending in ENDINGS):
        return []
    whole = _find_image(text, cwd)
    if whole is not None:  # also an unquoted one with spaces
        return [whole]
    found = [_find_image(word, cwd) for word in _words(text)[: MAX_PATHS + 1]]
    files = [path for path in found if path is not None]
    return files if files and len(files) == len(found) <= MAX_PATHS else []


def _words(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.lower().endswith(ENDINGS) for line in lines):
        return lines
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote
        return text.split()
    return words


def _find_image(name: str, cwd: Path) -> Path | None:
    if not name.lower().rstrip("'\"").endswith(ENDINGS) or "\n" in name or "\0" in name:
        return None
    for spelling in (name, name.strip("'\""), name.replace("\\ ", " ")):
        path = _path(spelling, cwd)
        try:
            if path is not None and path.is_file():
                return path
        except OSError:
            return None
    return None


def _path(name: str, cwd: Path) -> Path | None:
    """Absolute, below home, or a URL; a bare name could be anything."""
    if name.lower().startswith("file://"):
        parsed = urls.urlsplit(name)
        if parsed.netloc not in ("", "localhost", os.uname().nodename):
            return None
        return Path(urls.unquote(parsed.path))
    if name.startswith(("/", "~/", "./", "../")):
        return cwd / typed_path(name)
    return None
