"""What is looked for and where, as values that both engines understand."""

from msgspec import Struct

MAX_FILE_BYTES = 4 * 1024 * 1024  # larger files are searched only when they are named


class Query(Struct, frozen=True, kw_only=True):
    """`pattern` is in ripgrep's syntax and already made lenient."""

    pattern: str
    ignore_case: bool = False
    multiline: bool = False


class SearchScope(Struct, frozen=True, kw_only=True):
    """Absolute paths of files and folders. `names` are globs that a file's own name must match, if any.

    `in_git`: all of them lie in git repositories.
    """

    roots: tuple[str, ...]
    names: tuple[str, ...] = ()
    gitignore: bool = True
    in_git: bool = False


class SearchRequest(Struct, frozen=True, kw_only=True):
    """Which files of the scope match; or, with `max_count`, in which lines its files match."""

    query: Query
    scope: SearchScope
    max_count: int | None = None
