"""/memory on a Hindsight server: what was recalled, its state, and its mental models."""

from urllib.parse import quote

from tau.base.errors import UsageError
from tau.base.text import clean_line, plain, shortened
from tau.coding.memory.hindsight import HindsightMemory
from tau.coding.memory.port import Memory

VERBS = ("view", "stats", "diagnose", "enqueue", "mm")
NOTHING = "Nothing found."
MODEL_VERBS = ("list", "show", "refresh", "history", "seed", "delete", "reload")
MAX_ROW_CHARS = 160
MAX_SHOWN_CHARS = 20_000


async def run_verb(memory: Memory, verb: str, words: str) -> str:
    """Raises TauError."""
    assert memory.remote is not None
    match verb:
        case "view":
            found = await memory.find_rows(words) if words else memory.recalled
            rows = [shortened(clean_line(row.text), MAX_ROW_CHARS) for row in found]
            nothing = NOTHING if words else "Nothing was recalled for this conversation."
            return "\n".join(rows) or nothing
        case "stats" | "diagnose":
            return "\n".join(await memory.remote.describe())
        case "mm":
            name, _, id = words.partition(" ")
            return await _run_model_verb(memory.remote, name or "list", id.strip())
    raise UsageError(f"Hindsight has no /memory {verb}; there are {', '.join(VERBS)}.")


async def _run_model_verb(memory: HindsightMemory, verb: str, id: str) -> str:
    """What /memory mm does."""
    path = f"/mental-models/{quote(id, safe='')}"
    if verb in ("list", "seed", "reload", "delete"):
        memory.models_until = 0.0
    match verb:
        case "list" | "reload":
            rows = [f"{clean_line(one.id)}  {clean_line(one.name)}" for one in await memory.mental_models()]
            return "\n".join(rows) or "No mental models."
        case "seed":
            await memory.seed()
            return "Created the mental models that were missing."
        case "show" | "history" if id:
            part = "/history" if verb == "history" else "?detail=content"
            answer = await memory.ask("GET", path + part)
            texts = [answer.content, *(change.previous_content for change in answer.history)]
            return plain("\n\n".join(text for text in texts if text)).strip() or "It has no content yet."
        case "refresh" if id:
            await memory.ask("POST", f"{path}/refresh")
            return f"The server refreshes {clean_line(id)}."
        case "delete" if id:
            await memory.ask("DELETE", path)
            return f"Deleted {clean_line(id)}."
    raise UsageError(f"/memory mm has {', '.join(MODEL_VERBS)}; some need an ID.")
