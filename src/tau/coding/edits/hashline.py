"""The `hashline` edit mode: patches address lines by number, under the tag they were shown with."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tau import hashline
from tau.agent.output import ToolOutput
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.edits.change import FileChange
from tau.coding.edits.report import details, remember
from tau.coding.edits.source import FileSource, bytes_of, text_of
from tau.coding.edits.transaction import Guard, WrittenChange, change_files
from tau.coding.files.paths import resolve, shown
from tau.coding.files.seen_files import key_of
from tau.coding.ports import CodingContext

notebook = late("tau.coding.readers.notebook")
syntax = late("tau.backends.syntax.blocks")


async def apply_patch(text: str, ctx: CodingContext, guard: Guard | None = None) -> ToolOutput:
    """Apply the whole patch or nothing. Raises ToolError."""
    patch = hashline.parse(text)
    prepared: list[hashline.PreparedFile] = []
    warnings: list[str] = []

    def plan(sources: Mapping[Path, FileSource]) -> Sequence[FileChange]:
        by_key = {key_of(source.path): source for source in sources.values()}
        made = hashline.prepare(
            patch,
            lambda key: _shown_text(by_key[key]),
            ctx.snapshots.texts,
            _resolve_block,
            lambda name: key_of(resolve(name, ctx.cwd)),
        )
        prepared.extend(made.files)
        warnings.extend(made.warnings)
        return [_change(by_key[file.key], file, ctx.cwd) for file in made.files]

    written = await change_files(paths(text, ctx.cwd), plan, ctx, guard=guard)
    return _report(prepared, written, warnings, ctx)


def paths(text: str, cwd: Path) -> tuple[Path, ...]:
    """Return the files in a patch; empty if it is malformed, which `apply_patch` reports."""
    try:
        sections = hashline.parse(text).sections
    except ToolError:
        return ()
    return tuple(dict.fromkeys(resolve(section.path, cwd) for section in sections))


def _shown_text(source: FileSource) -> str | None:
    """Return the text that line numbers refer to; for a notebook, its cells."""
    if source.data is None:
        return None
    return notebook.to_text(source.data) if _is_notebook(source) else text_of(source).text


def _change(source: FileSource, file: hashline.PreparedFile, cwd: Path) -> FileChange:
    if source.data is not None and _is_notebook(source):
        new = notebook.from_text(file.new_text, source.data)
    else:
        new = bytes_of(file.new_text, text_of(source), source.name)
    diff = file.diff(shown(source.path, cwd))
    return FileChange(
        path=source.path,
        name=source.name,
        kind="update",
        old=source.data,
        new=new,
        stat=source.stat,
        first_changed_line=diff.first_changed_line,
        diff=diff.text,
        added=diff.added,
        removed=diff.removed,
    )


def _is_notebook(source: FileSource) -> bool:
    return source.path.suffix.lower() == ".ipynb"


def _resolve_block(path: str, text: str, line: int, /) -> hashline.LineSpan | None:
    found = syntax.resolve_block(path, text, line)
    return None if found is None else hashline.LineSpan(found.first, found.last)


def _report(
    prepared: list[hashline.PreparedFile],
    written: list[WrittenChange],
    warnings: list[str],
    ctx: CodingContext,
) -> ToolOutput:
    remember(written, ctx)
    texts: list[str] = []
    for file, done in zip(prepared, written, strict=True):
        tag = hashline.record_written(ctx.snapshots.texts, file)
        texts.append(hashline.report(file, tag, done.change.name))
        warnings.extend(file.warnings)
    told = list(dict.fromkeys(warnings))
    if told:
        texts.append("\n".join(["Warnings:", *told]))
    return ToolOutput.text("\n\n".join(texts), details([done.change for done in written], told))
