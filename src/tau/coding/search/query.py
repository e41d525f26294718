"""Search queries and scopes, shared by both engines."""

from msgspec import Struct


class Query(Struct, frozen=True, kw_only=True):
    """`pattern` is in ripgrep's syntax, already repaired."""

    pattern: str
    ignore_case: bool = False
    multiline: bool = False


class SearchScope(Struct, frozen=True, kw_only=True):
    """Absolute paths of files and folders. `names` are globs for the file name, if any.

    `in_git`: all of them are in git repositories.
    """

    roots: tuple[str, ...]
    names: tuple[str, ...] = ()
    gitignore: bool = True
    in_git: bool = False


class SearchRequest(Struct, frozen=True, kw_only=True):
    """Asks which files of the scope match or, with `max_count`, which lines of its files."""

    query: Query
    scope: SearchScope
    max_count: int | None = None
