"""Session tables that fit a terminal, and their JSON form."""

import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from unicodedata import combining, east_asian_width

from tau.base.clock import iso
from tau.base.text import clean_line
from tau.coding.session.storage.trash import TrashedSession
from tau.coding.session.titles import UNTITLED
from tau.coding.session_index.index import SessionRow
from tau.coding.session_index.labels import age_text, folder_text, speaker, title_of
from tau.coding.session_index.search import SessionHit, SessionHits

ID_CHARS = 8
MODEL_COLUMNS = 17
MIN_TITLE_COLUMNS = 20
WIDEST = 160  # columns: longer lines are hard to read


def format_sessions(rows: Sequence[SessionRow], ids: dict[str, str], total: int, *, by_folder: bool) -> str:
    """One line per session. With `by_folder`, grouped by folder, most recent first."""
    lines = _format_rows(rows, ids)
    if not by_folder:
        text = "\n".join(lines)
    else:
        groups: dict[str, list[str]] = {}
        for row, line in zip(rows, lines, strict=True):
            groups.setdefault(row.summary.cwd, []).append(line)
        text = "\n\n".join("\n".join((_folder_end(folder), *group)) for folder, group in groups.items())
    left = total - len(rows)
    more = f"\n\n{left} more; --limit {total} shows all." if left > 0 else ""
    return f"{text}{more}\n"


def format_hits(found: SessionHits, ids: dict[str, str]) -> str:
    """Each session with a matching snippet."""
    lines = _format_rows([hit.session for hit in found.hits], ids)
    parts = []
    for hit, line in zip(found.hits, lines, strict=True):
        snippet = "" if hit.role == "name" else f"\n{_wrap(speaker(hit.role) + clean_line(hit.snippet))}"
        parts.append(f"{line}\n    {_folder_end(hit.session.summary.cwd, indent=4)}{snippet}")
    left = found.total - len(found.hits)
    more = f"\n\n{left} more; --limit {found.total} shows all." if left > 0 else ""
    return "\n\n".join(parts) + f"{more}\n"


def _folder_end(folder: str, *, indent: int = 0) -> str:
    """The folder, or as much of its end as fits on the line."""
    text, room = folder_text(folder), terminal_columns() - indent
    while text_width(text) > room:
        text = f"…{text[2:]}" if text.startswith("…") else f"…{text[1:]}"
    return text


def format_trash(content: Sequence[TrashedSession]) -> str:
    if not content:
        return "The trash is empty.\n"
    ids = short_ids([one.id for one in content])
    text_width = max(len(id) for id in ids.values())
    lines = []
    for one in content:
        days = f"{one.days_left} d left"
        title = clean_line(one.title) or UNTITLED
        lines.append(
            f"{ids[one.id]:{text_width}}  {days:>9}  {truncate(title, terminal_columns() - text_width - 13)}"
        )
    return "\n".join(lines) + "\n"


def _format_rows(rows: Sequence[SessionRow], ids: dict[str, str]) -> list[str]:
    cells = [
        (
            clean_line(ids[row.id]),
            age_text(row.changed_ms),
            truncate(clean_line(row.summary.model.rpartition("/")[2]), MODEL_COLUMNS),
            format_cost(row.summary.cost),
        )
        for row in rows
    ]
    widths = [max((text_width(row[column]) for row in cells), default=0) for column in range(4)]
    left = max(MIN_TITLE_COLUMNS, terminal_columns() - sum(widths) - 8)
    lines = []
    for row, (id, when, model, cost) in zip(rows, cells, strict=True):
        parts = (
            f"{id:{widths[0]}}",
            f"{when:>{widths[1]}}",
            model + " " * (widths[2] - text_width(model)),
            f"{cost:>{widths[3]}}",
            truncate(title_of(row.summary), left),
        )
        lines.append("  ".join(parts).rstrip())
    return lines


def session_to_json(row: SessionRow) -> dict[str, object]:
    summary = row.summary
    tokens = {
        "input": summary.input_tokens,
        "output": summary.output_tokens,
        "cacheRead": summary.cache_read_tokens,
        "cacheWrite": summary.cache_write_tokens,
    }
    return {
        "id": row.id,
        "path": str(row.path).encode(errors="replace").decode(),
        "cwd": summary.cwd,
        "name": summary.shown_name or None,
        "firstPrompt": summary.first_prompt,
        "model": summary.model or None,
        "created": iso(summary.created_ms) if summary.created_ms else None,
        "changed": iso(row.changed_ms),
        "messages": summary.messages,
        "prompts": summary.prompts,
        "tokens": {**tokens, "total": sum(tokens.values())},
        "cost": summary.cost,
        "parentSession": summary.parent or None,
        "problem": summary.problem or None,
        "damagedLines": summary.damaged,
        "sizeBytes": row.size_bytes,
    }


def hit_to_json(hit: SessionHit) -> dict[str, object]:
    return {**session_to_json(hit.session), "role": hit.role, "snippet": hit.snippet}


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The unique prefix of each id, at least `ID_CHARS`: ids start with a timestamp."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, ID_CHARS)
    for one, other in pairwise(ordered):
        same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        needed[one] = max(needed[one], same + 1)
        needed[other] = max(needed[other], same + 1)
    return {
        id: id[:count].rstrip("-") if id[:count][-1:] == "-" else id[:count] for id, count in needed.items()
    }


def format_cost(dollars: float) -> str:
    if not dollars:
        return "-"
    return f"${dollars:.2f}" if dollars >= 0.005 else "<$0.01"


def terminal_columns() -> int:
    return min(WIDEST, shutil.get_terminal_size((80, 24)).columns)


def text_width(text: str) -> int:
    """The width of a line in columns."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def truncate(text: str, most: int) -> str:
    """Truncate a line to fit, with an ellipsis."""
    if text_width(text) <= most:
        return text
    kept, used = [], 1
    for letter in text:
        used += text_width(letter)
        if used > most:
            break
        kept.append(letter)
    return f"{''.join(kept).rstrip()}…"


def _wrap(text: str) -> str:
    """Wrap to at most two indented lines."""
    room = terminal_columns() - 4
    if text_width(text) <= room:
        return f"    {text}"
    first = truncate(text, room + 1).removesuffix("…")
    head = first.rpartition(" ")[0] or first
    return f"    {head}\n    {truncate(text[len(head) :].strip(), room)}"
