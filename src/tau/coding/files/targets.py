"""Says what the path argument of a call names. Effects and runs both ask here, so they cannot differ."""

import os
import re
import stat as modes
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.files.paths import Selector, resolve, split_selector, unquote
from tau.coding.readers import archive_splits, database_splits

thread_urls = late("tau.backends.github.thread_urls")
urllib_parse = late("urllib.parse")

SCHEME_NAME = r"[A-Za-z][A-Za-z0-9+.-]*"
_SCHEME = rf"({SCHEME_NAME})://"
_SQLITE = b"SQLite format 3\0"

WEB = ("http", "https")
TargetKind = Literal["url", "web", "archive", "database", "file"]


class FileTarget(Struct, frozen=True, kw_only=True):
    """What a path argument names: a URL, a web page, the inside of an archive or a database, or a file.

    `path` is the file that is opened; for a URL or page it is the working folder. `rest` is what follows it:
    the member of an archive, the query of a database. `text` has no `selector`.
    """

    kind: TargetKind
    text: str
    path: Path
    rest: str = ""
    selector: Selector = Selector()


def url_scheme(text: str) -> str:
    """The scheme of a URL in lower case; empty for a path, which `file://` is too."""
    if "://" not in text:
        return ""
    match = re.match(_SCHEME, _without_marks(text))
    scheme = "" if match is None else match[1].lower()
    return "" if scheme == "file" else scheme


def _without_marks(text: str) -> str:
    """A URL without blanks, quotes and a leading @ around it, as paths may have them."""
    return unquote(text).removeprefix("@")


def locate(text: str, cwd: Path) -> FileTarget:
    """What a text names to be read; a file may have a selector. Raises ToolError."""
    scheme = url_scheme(text)
    if scheme in WEB or (text[:4].lower() == "www." and not os.path.lexists(resolve(text, cwd))):
        return _page_of(_without_marks(text), cwd)
    if scheme:
        url, selector = split_selector(_without_marks(text))
        return FileTarget(kind="url", text=url, path=cwd, selector=selector)
    return archive_of(text, cwd) or _database_of(text, cwd) or _file_of(text, cwd)


def _page_of(text: str, cwd: Path) -> FileTarget:
    """A web page. In `https://host:80`, the number is a port; a selector needs a slash before it."""
    url, selector = split_selector(text)
    is_port = "/" not in url.partition("://")[2] and text[len(url) + 1 :].isdigit()
    if is_port or selector.conflicts:
        return FileTarget(kind="web", text=text, path=cwd)
    return FileTarget(kind="web", text=url, path=cwd, selector=selector)


def split_url(url: str) -> tuple[str, str]:
    """The scheme of an internal URL in lower case, and the rest with its `%20` and the like decoded."""
    scheme, _, rest = url.partition("://")
    return scheme.lower(), urllib_parse.unquote(rest) if "%" in rest else rest


def resource_server(rest: str) -> str:
    """The MCP server that the rest of an `mcp://` URL names; `*` if it is the URI of any server."""
    name, _, uri = rest.partition("/")
    return "*" if uri and (not name or name.endswith(":")) else name


def server_action(url: str) -> tuple[str, str] | None:
    """What reading an internal URL asks of an MCP server, as effects name it; None for other schemes."""
    scheme, rest = split_url(url)
    return (resource_server(rest), "resources") if scheme == "mcp" else None


def asked_hosts(url: str, cwd: Path) -> tuple[str, ...]:
    """The servers that reading an internal URL asks. Raises ToolError for a malformed one."""
    scheme, rest = split_url(url)
    match scheme:
        case "issue" | "pr" as kind:
            return (thread_urls.thread_host(kind, rest, cwd),)
    return ()


def locate_for_write(text: str, cwd: Path) -> FileTarget:
    """What a text names to be written, which may be a new file or archive. Raises ToolError."""
    scheme = url_scheme(text)
    if scheme in WEB:
        raise ToolError("A web address cannot be written; name a file.")
    if scheme:
        return FileTarget(kind="url", text=_without_marks(text), path=cwd)
    return (
        archive_of(text, cwd)
        or _new_archive(text, cwd)
        or _database_of(text, cwd)
        or _missing_database(text, cwd)
        or FileTarget(kind="file", text=text, path=resolve(text, cwd, existing=False))
    )


def locate_file(text: str, cwd: Path) -> FileTarget:
    """What a text names if it is a plain file or an internal URL. Raises ToolError for web addresses."""
    scheme = url_scheme(text)
    if scheme in WEB:
        raise ToolError("This takes files, not web addresses.")
    if scheme:
        return FileTarget(kind="url", text=_without_marks(text), path=cwd)
    return FileTarget(kind="file", text=text, path=resolve(text, cwd))


def _file_of(text: str, cwd: Path) -> FileTarget:
    """A file whose name looks like it has a selector wins. A bare `/` is the working folder."""
    path_text, selector = split_selector(text)
    if path_text != text and os.path.lexists(whole := resolve(text, cwd)):
        return FileTarget(kind="file", text=text, path=whole)
    path = cwd if path_text.strip() == "/" else resolve(path_text, cwd)
    return FileTarget(kind="file", text=path_text, path=path, selector=selector)


def archive_of(text: str, cwd: Path) -> FileTarget | None:
    """The existing archive that a text refers to, and the part after its colon."""
    for archive, inner in archive_splits(text):
        path = resolve(archive, cwd)
        mode = _mode(path)
        if mode and not modes.S_ISDIR(mode):
            return FileTarget(kind="archive", text=text, path=path, rest=inner)
    return None


def _new_archive(text: str, cwd: Path) -> FileTarget | None:
    """The longest path that looks like an archive, unless there is a folder with such a name."""
    for archive, inner in archive_splits(text)[:1]:
        path = resolve(archive, cwd, existing=False)
        return None if _mode(path) else FileTarget(kind="archive", text=text, path=path, rest=inner)
    return None


def _database_of(text: str, cwd: Path) -> FileTarget | None:
    for database, rest in database_splits(text):
        path = resolve(database, cwd)
        if _is_database(path):
            return FileTarget(kind="database", text=text, path=path, rest=rest)
    return None


def _missing_database(text: str, cwd: Path) -> FileTarget | None:
    """The database of `app.db:table` that does not exist, if there is no file with that whole name either."""
    for database, rest in database_splits(text):
        path = resolve(database, cwd, existing=False)
        if rest and not _mode(path) and not _mode(resolve(text, cwd, existing=False)):
            return FileTarget(kind="database", text=text, path=path, rest=rest)
    return None


def _is_database(path: Path) -> bool:
    """Whether a regular file has SQLite's header, or cannot be read, which whoever opens it reports."""
    if not modes.S_ISREG(_mode(path)):
        return False
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return modes.S_ISREG(os.fstat(fd).st_mode) and os.read(fd, len(_SQLITE)) == _SQLITE
    finally:
        os.close(fd)


def _mode(path: Path) -> int:
    """0 for a missing file, a name that is too long, a forbidden folder."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0
