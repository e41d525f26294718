"""`tau github cache stats|clear`: what is kept of issues and pull requests."""

import os
from collections.abc import Sequence

import msgspec

from tau.base.errors import UsageError
from tau.base.sizes import format_bytes
from tau.cli.main import write_stdout
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.github.cache import ThreadCache, cache_file
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.modes.output_stream import tell


def run(argv: Sequence[str]) -> int:
    """Raises UsageError."""
    parsed = parse_subcommand("github", argv)
    as_json = parsed.has("json")
    match parsed.words:
        case ["cache", "stats"]:
            return _stats(_cache(), as_json=as_json)
        case ["cache", "clear"] if not as_json:
            cache = _cache()
            count = cache.clear()
            _tell(cache)
            return write_stdout(f"{count} cached pages deleted.\n")
    raise UsageError(usage_line("github"))


def _cache() -> ThreadCache:
    paths = user_paths(os.environ)
    settings = load_settings(paths, current_folder()).settings.github
    return ThreadCache(cache_file(paths), settings)


def _stats(cache: ThreadCache, *, as_json: bool) -> int:
    stats = cache.stats()
    _tell(cache)
    if as_json:
        return write_stdout(msgspec.json.encode(stats).decode() + "\n")
    names = {"issue": "issues", "pr": "pull requests", "pr-diff": "diffs"}
    rows = [f"{count:>7,}  {names.get(kind, kind)}" for kind, count in sorted(stats.rows.items())]
    oldest = f", the oldest {stats.oldest_s / 3600:.1f} hours old" if stats.rows else ""
    return write_stdout("\n".join([*rows, f"{stats.path}: {format_bytes(stats.bytes)}{oldest}", ""]))


def _tell(cache: ThreadCache) -> None:
    for notice in cache.notices:
        tell(notice)
