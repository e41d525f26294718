"""/memory: shows, changes and repairs long-term memory."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from tau.backends.memory.store import MemoryItem
from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.base.text import clean_line, quantity, shortened
from tau.coding.memory.port import Memory
from tau.coding.project_memory import ProjectMemory
from tau.modes.interactive.command_context import CommandContext

server_memory = late("tau.modes.interactive.commands.server_memory")

MAX_ROWS = 30
MAX_ROW_CHARS = 160
OFF = "Long-term memory is off; turn it on with `tau config set memory.backend local`."


async def memory(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    opened = context.require_session().memory
    if opened is None:
        raise TauError(OFF)
    verb, _, words = rest.strip().partition(" ")
    words = words.strip()
    if verb == "enqueue":
        context.say(await _enqueue(opened))
        return
    if opened.local is None:
        context.say(await server_memory.run_verb(opened, verb or "view", words))
        return
    if verb == "mm":
        raise UsageError("The local memory has no mental models.")
    if (run := VERBS.get(verb or "view")) is None:
        raise UsageError(f"There is no /memory {verb}; there are {', '.join(VERBS)}, enqueue.")
    context.say(await run(context, opened.local, words))


def _memories(number: int) -> str:
    return quantity(number, "memory", "memories")


async def _view(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    """What matches the words; without words, what was recalled and the latest, to edit or forget one."""
    if words:
        found = [match.item for match in await memory.recall(words)]
        return "\n".join(_rows(found)) or "Nothing found."
    recalled = [row.item for row in memory.recalled if row.item is not None]
    latest = await memory.change(memory.store.items, memory.scopes, limit=MAX_ROWS)
    if not latest:
        return "No memories."
    rows = list(dict.fromkeys(_rows([*recalled, *latest])))
    row = await context.ui.select("Recalled and latest memories", rows)
    verb = row and await context.ui.select(row, ("Edit", "Forget"))
    return (
        await VERBS[verb.lower()](context, memory, row.split()[0]) if row and verb else "Nothing was changed."
    )


def _rows(items: Sequence[MemoryItem]) -> list[str]:
    return [f"{item.id}  {shortened(clean_line(item.text), MAX_ROW_CHARS)}" for item in items]


async def _stats(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    items = await memory.change(memory.store.items, None, hidden=True)
    counts = Counter(item.scope or "all projects" for item in items)
    hidden = sum(item.hidden for item in items)
    rows = [f"{count:,}  {scope}" for scope, count in counts.most_common(MAX_ROWS)]
    return "\n".join([*rows, f"{_memories(len(items))}, {hidden:,} of them hidden, in {memory.store.path}"])


async def _diagnose(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    problems = [*await memory.change(memory.store.check), *memory.store.notices]
    return "\n".join(problems or [f"{memory.store.path} is fine."])


async def _clear(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    return await _delete(context, memory, [memory.scope], "all memories of this project")


async def _reset(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    items = await memory.change(memory.store.items, None, hidden=True)
    return await _delete(
        context, memory, sorted({item.scope for item in items}), "the memories of all projects"
    )


async def _delete(context: CommandContext, memory: ProjectMemory, scopes: list[str], what: str) -> str:
    if not await context.ui.confirm(f"Delete {what}?", "This cannot be undone."):
        return "Nothing was deleted."
    return f"Deleted {_memories(await memory.change(memory.store.clear, scopes))}."


async def _enqueue(memory: Memory) -> str:
    """Retain from the conversation now, instead of after some turns."""
    if memory.retain_now is None:
        return "Nothing is retained automatically (memory.autoRetain, memory.llmMode, hindsight.autoRetain)."
    return f"{_memories(await memory.retain_now())} {memory.stored}."


async def _rebuild(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    return f"Rebuilt the search index of {_memories(await memory.change(memory.store.rebuild))}."


async def _edit(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    id, _, text = words.partition(" ")
    item = await memory.find(id)
    if item is None:
        raise UsageError(f'There is no memory "{shortened(clean_line(id), 40)}" of this project.')
    new = text.strip() or await context.ui.editor("Edit the memory", item.text)
    if new is None or not new.strip():
        return "Nothing was changed."
    await asyncio.to_thread(memory.store.edit, id, text=new)
    return f"Memory {id} updated."


async def _forget(context: CommandContext, memory: ProjectMemory, words: str) -> str:
    known = [id for id in words.split() if await memory.find(id) is not None]
    for id in known:
        await asyncio.to_thread(memory.store.forget, id)
    return f"Deleted {len(known)} of {_memories(len(words.split()))}."


VERBS: dict[str, Callable[[CommandContext, ProjectMemory, str], Awaitable[str]]] = {
    "view": _view,
    "stats": _stats,
    "diagnose": _diagnose,
    "rebuild": _rebuild,
    "edit": _edit,
    "forget": _forget,
    "clear": _clear,
    "reset": _reset,
}
