"""`tau memory`: shows, edits, exports and imports long-term memories."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.backends.memory.store import SHARED, MemoryItem, MemoryStore
from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path, write_atomic
from tau.base.late import late
from tau.base.text import clean_line, quantity, shortened
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.project_memory import memory_day, memory_facts, memory_file, primary_checkout
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.secret_mask import mask_known_secrets
from tau.modes.output_stream import tell

memory_server = late("tau.cli.memory_server")

ACTIONS = ("list", "search", "show", "add", "edit", "forget", "clear", "stats", "doctor", "export", "import")
FOUND_NONE = 1
MAX_LINE_CHARS = 160


class ImportedItem(Struct):
    """A line of an import; `content` is another name of `text`."""

    text: str = ""
    content: str = ""
    context: str = ""
    scope: str | None = None
    importance: float = 0.5
    created: float | None = None


class Memories:
    """The store, and the scopes that the flags name."""

    def __init__(self, scope: str, *, as_json: bool) -> None:
        paths = user_paths(os.environ)
        mask_known_secrets(os.environ, paths)
        cwd = current_folder()
        settings = load_settings(paths, cwd).settings.memory
        self.store = MemoryStore(memory_file(paths, settings))
        self.as_json = as_json
        is_global = scope == "global" or (scope == "" and settings.scoping == "global")
        self.scope = SHARED if is_global else str(primary_checkout(cwd))
        self.scopes = None if scope == "all" else [self.scope]
        if scope == "" and settings.scoping == "per-project-tagged":
            self.scopes = [self.scope, SHARED]

    def show(self, items: Sequence[MemoryItem]) -> int:
        if self.as_json:
            return write_json(items)
        lines = [
            f"{item.id}  {memory_day(item)}  {shortened(clean_line(item.text), MAX_LINE_CHARS)}"
            for item in items
        ]
        return write_stdout("\n".join(lines or ["No memories."]) + "\n")

    def find(self, id: str) -> MemoryItem:
        item = self.store.get(id)
        if item is None:
            raise UsageError(f'There is no memory "{id}"; tau memory list --scope all shows their ids.')
        return item


def run(argv: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("memory", argv)
    paths, cwd = user_paths(os.environ), current_folder()
    settings = load_settings(paths, cwd).settings
    if settings.memory.backend == "hindsight":
        mask_known_secrets(os.environ, paths)
        return memory_server.run(paths, cwd, settings.hindsight, parsed)
    memories = Memories(parsed.value("scope") or "", as_json=parsed.has("json"))
    try:
        return _look(memories, parsed.words) if parsed.words[:1] != ["clear"] else _clear(memories, parsed)
    finally:
        for notice in memories.store.notices:
            tell(notice)


def _look(memories: Memories, words: Sequence[str]) -> int:
    store = memories.store
    match words:
        case ["list"]:
            return memories.show(store.items(memories.scopes))
        case ["search", *rest] if rest:
            found = store.search(" ".join(rest), memories.scopes)
            return memories.show([one.item for one in found]) or (0 if len(found) else FOUND_NONE)
        case ["show", id]:
            return _show(memories, memories.find(id))
        case ["stats"]:
            return _stats(memories)
        case ["doctor"]:
            problems = [*store.check(), *store.notices]
            text = "\n".join(problems or [f"{store.path} is fine."])
            return write_stdout(text + "\n") or int(bool(problems))
        case ["export", *files] if len(files) < 2:
            return _export(memories, files)
    return _change(memories, words)


def _change(memories: Memories, words: Sequence[str]) -> int:
    store = memories.store
    match words:
        case ["add", *rest] if rest:
            return write_stdout(store.add(" ".join(rest), scope=memories.scope) + "\n")
        case ["edit", id, *rest] if rest:
            store.edit(memories.find(id).id, text=" ".join(rest))
            return 0
        case ["forget", *ids] if ids:
            for id in [memories.find(id).id for id in ids]:
                store.forget(id)
            return 0
        case ["import", source]:
            return _import(memories, typed_path(source))
    raise UsageError(usage_line("memory"))


def _show(memories: Memories, item: MemoryItem) -> int:
    if memories.as_json:
        return memories.show([item])
    rows = {
        "scope": item.scope or "all projects",
        **memory_facts(item),
        "used": f"{item.used} times" if item.used else "",
        "hidden": "yes" if item.hidden else "",
    }
    return write_stdout("\n".join([item.text, "", *(f"{k}: {v}" for k, v in rows.items() if v), ""]))


def _clear(memories: Memories, parsed: ParsedArgs) -> int:
    if memories.scopes is None or len(parsed.words) > 1 or not parsed.has("yes"):
        raise UsageError("To delete all memories of one scope, project or global, pass --yes.")
    return write_stdout(f"{memories.store.clear([memories.scope])} memories deleted.\n")


def _stats(memories: Memories) -> int:
    items = memories.store.items(None, hidden=True)
    size = memories.store.path.stat().st_size
    counts: dict[str, int] = {}
    for item in items:
        counts[item.scope] = counts.get(item.scope, 0) + 1
    if memories.as_json:
        return write_stdout(msgspec.json.encode({"bytes": size, "scopes": counts}).decode() + "\n")
    rows = [f"{count:>7,}  {scope or 'all projects'}" for scope, count in sorted(counts.items())]
    return write_stdout(
        "\n".join([*rows, f"{quantity(len(items), 'memory', 'memories')}, {size:,} bytes", ""])
    )


def _export(memories: Memories, files: Sequence[str]) -> int:
    data = b"".join(msgspec.json.encode(item) + b"\n" for item in memories.store.items(memories.scopes))
    if not files:
        return write_stdout(data.decode())
    path = typed_path(files[0])
    if path.exists():
        raise TauError(f'"{path}" exists already; choose another name.')
    write_atomic(path, data)
    return 0


def _import(memories: Memories, source: Path) -> int:
    """Equal memories are there once, however often they are imported."""
    before = len(memories.store.items(None))
    count = 0
    for item in _items(source):
        memories.store.add(
            item.text or item.content,
            context=item.context,
            scope=memories.scope if item.scope is None else item.scope,
            source="import",
            importance=item.importance,
            created=item.created,
        )
        count += 1
    new = len(memories.store.items(None)) - before
    return write_stdout(f"Added {new} of {quantity(count, 'memory', 'memories')}.\n")


def _items(source: Path) -> Iterator[ImportedItem]:
    """Raises UsageError naming the line that is wrong, before anything of the file is stored."""
    try:
        if source.is_dir():
            for path in sorted(source.rglob("*.md")):
                if not path.is_file() or not path.resolve().is_relative_to(source.resolve()):
                    continue  # a pipe would wait forever, a link could bring in any file
                if text := path.read_text(encoding="utf-8", errors="replace").strip():
                    yield ImportedItem(text=text[:50_000], context=path.name)
            return
        lines = [line for line in source.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise UsageError(f'"{source}" cannot be read: {error.strerror}.') from None
    items: list[ImportedItem] = []
    for number, line in enumerate(lines, 1):
        try:
            item = msgspec.json.decode(line, type=ImportedItem)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{source}:{number}: {error}") from None
        if not (item.text or item.content).strip():
            raise UsageError(f"{source}:{number}: A memory needs a text.")
        items.append(item)
    yield from items
