"""The `hashline` edit mode: patches address lines by number, under the tag they were shown with."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tau.agent.output import ToolOutput
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import show_escaped
from tau.coding.edits.change import FileChange, FileSource, bytes_of, change_bytes, text_of
from tau.coding.edits.report import details, remember
from tau.coding.edits.transaction import Guard, WrittenChange, change_files, declared_path, find_target
from tau.coding.files.seen_files import key_of
from tau.coding.ports import CodingContext
from tau.hashline.parser import parse
from tau.hashline.patch import PreparedFile, prepare, record_written, report
from tau.hashline.records import LineSpan

notebook = late("tau.coding.readers.notebook")
syntax = late("tau.backends.syntax.blocks")


async def apply_patch(text: str, ctx: CodingContext, guard: Guard | None = None) -> ToolOutput:
    """Apply the whole patch or nothing. Raises ToolError."""
    patch = parse(text)
    targets = {section.path: await find_target(section.path, ctx) for section in patch.sections}
    prepared: list[PreparedFile] = []

    def plan(sources: Mapping[Path, FileSource]) -> Sequence[FileChange]:
        by_key = {key_of(source.path): source for source in sources.values()}
        prepared.extend(
            prepare(
                patch,
                lambda key: _shown_text(by_key[key]),
                ctx.snapshots.texts,
                _resolve_block,
                lambda name: key_of(targets[name]),
            )
        )
        return [_change(by_key[file.key], file) for file in prepared]

    called = {path: name for name, path in targets.items() if ctx.urls.handles(name)}
    written = await change_files(list(dict.fromkeys(targets.values())), plan, ctx, guard=guard, names=called)
    return _report(prepared, written, patch.warnings, ctx)


def paths(text: str, cwd: Path) -> tuple[Path, ...]:
    """Return the files that a patch declares; none if it is malformed, which `apply_patch` reports."""
    try:
        sections = parse(text).sections
    except ToolError:
        return ()
    return tuple(dict.fromkeys(path for each in sections for path in declared_path(each.path, cwd)))


def _shown_text(source: FileSource) -> str | None:
    """Return the text that line numbers refer to; for a notebook, its cells."""
    if source.data is None:
        return None
    return notebook.to_text(source.data) if _is_notebook(source) else text_of(source).text


def _change(source: FileSource, file: PreparedFile) -> FileChange:
    if source.data is not None and _is_notebook(source):
        new = notebook.from_text(file.new_text, source.data)
    else:
        new = bytes_of(file.new_text, text_of(source), source.name)
    return change_bytes(source, new, file.diff(source.name))


def _is_notebook(source: FileSource) -> bool:
    return source.path.suffix.lower() == ".ipynb"


def _resolve_block(path: str, text: str, line: int, /) -> LineSpan | None:
    block = syntax.resolve_block(path, text, line)
    return None if block is None else LineSpan(block.first, block.last)


def _report(
    prepared: list[PreparedFile], written: list[WrittenChange], notes: Sequence[str], ctx: CodingContext
) -> ToolOutput:
    remember(written, ctx)
    texts = [
        report(file, record_written(ctx.snapshots.texts, file), done.change.name)
        for file, done in zip(prepared, written, strict=True)
    ]
    about_files = [note for file in prepared for note in file.warnings]
    about_files += [note for done in written for note in done.notes]
    warnings = list(dict.fromkeys([*notes, *about_files]))
    if warnings:
        texts.append("\n".join(["Warnings:", *warnings]))
    return ToolOutput.text(
        show_escaped("\n\n".join(texts)), details([done.change for done in written], warnings)
    )
