"""The patch language: files are shown with numbered lines under a tag, and edited by line number.

A separate library: it reads and writes no files, and finds blocks through a given resolver.
`SnapshotStore.record` returns the tag for a shown text; `parse` parses a patch; `prepare` checks it as a
whole and returns the new texts; call `record_written` and `report` when these are on disk.
"""

from tau.base.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.hashline.errors import (
        ApplyError,
        HashlineError,
        MismatchError,
        NoChangeError,
        ParseError,
        PatchError,
    )
    from tau.hashline.format import (
        Header,
        format_header,
        format_row,
        format_rows,
        parse_header,
        strip_pasted,
    )
    from tau.hashline.hunks import BlockResolver, Hunk, LineSpan, Patch, Section
    from tau.hashline.lines import NumberedLines, separator_of, split_lines
    from tau.hashline.parser import parse
    from tau.hashline.patch import PreparedFile, PreparedPatch, prepare, record_written, report
    from tau.hashline.preview import PatchDiff
    from tau.hashline.snapshots import Snapshot, SnapshotStore
    from tau.hashline.stream import StreamedFile, preview_unfinished
    from tau.hashline.tags import tag_of
    from tau.hashline.texts import grammar_text, prompt_text

__all__ = [
    "ApplyError",
    "BlockResolver",
    "HashlineError",
    "Header",
    "Hunk",
    "LineSpan",
    "MismatchError",
    "NoChangeError",
    "NumberedLines",
    "ParseError",
    "Patch",
    "PatchDiff",
    "PatchError",
    "PreparedFile",
    "PreparedPatch",
    "Section",
    "Snapshot",
    "SnapshotStore",
    "StreamedFile",
    "format_header",
    "format_row",
    "format_rows",
    "grammar_text",
    "parse",
    "parse_header",
    "prepare",
    "preview_unfinished",
    "prompt_text",
    "record_written",
    "report",
    "separator_of",
    "split_lines",
    "strip_pasted",
    "tag_of",
]

_HOMES = {
    name: module
    for module, names in (
        (
            late("tau.hashline.errors"),
            "ApplyError HashlineError MismatchError NoChangeError ParseError PatchError",
        ),
        (
            late("tau.hashline.format"),
            "Header format_header format_row format_rows parse_header strip_pasted",
        ),
        (late("tau.hashline.hunks"), "BlockResolver Hunk LineSpan Patch Section"),
        (late("tau.hashline.lines"), "NumberedLines separator_of split_lines"),
        (late("tau.hashline.parser"), "parse"),
        (late("tau.hashline.patch"), "PreparedFile PreparedPatch prepare record_written report"),
        (late("tau.hashline.preview"), "PatchDiff"),
        (late("tau.hashline.snapshots"), "Snapshot SnapshotStore"),
        (late("tau.hashline.stream"), "StreamedFile preview_unfinished"),
        (late("tau.hashline.tags"), "tag_of"),
        (late("tau.hashline.texts"), "grammar_text prompt_text"),
    )
    for name in names.split()
}


def __getattr__(name: str) -> object:
    """Load each name at first use: recording snapshots does not need the parser."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tau.hashline' has no attribute {name!r}")
    return getattr(_HOMES[name], name)
