"""Backends of `read` and `write` for paths to more than a plain text file."""

import re
from pathlib import PurePath

# A cheap check of a path, before loading the modules that know better.
ARCHIVE_SIGNS = (".zip", ".tar", ".tgz")
DATABASE_SIGNS = (".sqlite", ".db")
DOCUMENT_EXTENSIONS = frozenset((".pdf", ".doc", ".docx", ".ppt", ".pptx", ".xls", ".xlsx", ".rtf", ".epub"))
_ARCHIVE = r"\.(?:tar\.gz|tgz|tar|zip)(?=:|$)"
_DATABASE = r"\.(?:sqlite3?|db3?)(?=[:?]|$)"


def names_archive(path_text: str) -> bool:
    return any(sign in path_text.lower() for sign in ARCHIVE_SIGNS)


def names_database(path_text: str) -> bool:
    return any(sign in path_text.lower() for sign in DATABASE_SIGNS)


def names_document(path_text: str) -> bool:
    return PurePath(path_text).suffix.casefold() in DOCUMENT_EXTENSIONS


def archive_splits(text: str) -> list[tuple[str, str]]:
    """Split a path into an archive and the part after its colon in all ways, longest archive path first."""
    return [(path, rest[1:]) for path, rest in _splits(text, _ARCHIVE)] if names_archive(text) else []


def database_splits(text: str) -> list[tuple[str, str]]:
    """Split a path into a database and the rest in all possible ways, longest database path first."""
    return _splits(text, _DATABASE) if names_database(text) else []


def _splits(text: str, suffix: str) -> list[tuple[str, str]]:
    ends = [match.end() for match in re.finditer(suffix, text, re.IGNORECASE)]
    return [(text[:end], text[end:]) for end in reversed(ends)]
