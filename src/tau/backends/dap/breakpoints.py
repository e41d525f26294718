"""The breakpoints of a session, and the requests that set them in each of its targets."""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import replace

from tau.backends.dap.connection import DapError
from tau.backends.dap.protocol import BreakpointRow, value_text

BreakpointKind = Literal["source", "function", "instruction", "data"]
MAX_BREAKPOINTS = 1_000
REQUESTS: dict[BreakpointKind, str] = {
    "source": "setBreakpoints",
    "function": "setFunctionBreakpoints",
    "instruction": "setInstructionBreakpoints",
    "data": "setDataBreakpoints",
}
CAPABILITIES: dict[BreakpointKind, str] = {
    "function": "supportsFunctionBreakpoints",
    "instruction": "supportsInstructionBreakpoints",
    "data": "supportsDataBreakpoints",
}


class Breakpoints:
    """A request replaces all of a kind, or of a source file: so lists are kept, and sent whole."""

    def __init__(self) -> None:
        self._lists: dict[tuple[BreakpointKind, str], list[BreakpointRow]] = {}

    def rows(self, kind: BreakpointKind, path: str = "") -> list[BreakpointRow]:
        return list(self._lists.get((kind, path), ()))

    def lists(self) -> Iterator[tuple[BreakpointKind, str]]:
        """Those that hold any, to send to a new target."""
        yield from (key for key, rows in self._lists.items() if rows)

    def count(self, kind: BreakpointKind) -> int:
        return sum(len(rows) for (own, _), rows in self._lists.items() if own == kind)

    @property
    def files(self) -> int:
        return sum(1 for (kind, _), rows in self._lists.items() if kind == "source" and rows)

    def put(self, kind: BreakpointKind, row: BreakpointRow) -> None:
        """Add it, or replace the one at the same place. Raises DapError if there are too many."""
        rows = self._lists.setdefault((kind, row.path), [])
        for at, known in enumerate(rows):
            if known.key == row.key:
                rows[at] = row
                return
        if self.count(kind) >= MAX_BREAKPOINTS:
            raise DapError(f"There are {MAX_BREAKPOINTS:,} {kind} breakpoints already; remove some first.")
        rows.append(row)

    def remove(self, kind: BreakpointKind, row: BreakpointRow) -> bool:
        rows = self._lists.get((kind, row.path), [])
        kept = [known for known in rows if known.key != row.key]
        self._lists[(kind, row.path)] = kept
        return len(kept) < len(rows)

    def restore(self, kind: BreakpointKind, path: str, rows: list[BreakpointRow]) -> None:
        self._lists[(kind, path)] = rows

    def request(self, kind: BreakpointKind, path: str) -> dict[str, Any]:
        rows = self._lists.get((kind, path), ())
        arguments: dict[str, Any] = {"breakpoints": [_wire(kind, row) for row in rows]}
        if kind == "source":
            arguments["source"] = {"path": path, "name": path.rpartition("/")[2]}
            arguments["lines"] = [row.line for row in rows]
            arguments["sourceModified"] = False
        return arguments

    def apply(self, kind: BreakpointKind, path: str, answers: Any) -> None:
        """Note what an adapter answered; with several targets, one that knows the place is enough."""
        rows = self._lists.get((kind, path), [])
        for at, answer in enumerate(answers if isinstance(answers, list) else ()):
            if at < len(rows) and isinstance(answer, dict):
                if rows[at].verified and not answer.get("verified"):
                    continue
                rows[at] = _noted(rows[at], answer)

    def on_event(self, body: dict[str, Any]) -> None:
        """The adapter changed one, as when the file was loaded."""
        changed = body.get("breakpoint")
        if not isinstance(changed, dict) or changed.get("id") is None:
            return
        for rows in self._lists.values():
            for at, row in enumerate(rows):
                if row.id == changed["id"]:
                    rows[at] = _noted(row, {"verified": row.verified, **changed})


def _noted(row: BreakpointRow, answer: dict[str, Any]) -> BreakpointRow:
    line, id, message = answer.get("line"), answer.get("id"), answer.get("message")
    return replace(
        row,
        verified=answer.get("verified") is True,
        id=id if isinstance(id, int) else row.id,
        actual_line=line if isinstance(line, int) and line != row.line else None,
        message=value_text(message, 200) if message else None,
    )


def _wire(kind: BreakpointKind, row: BreakpointRow) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "condition": row.condition,
        "hitCondition": row.hit_condition,
    }
    match kind:
        case "source":
            wanted |= {"line": row.line, "logMessage": row.log_message}
        case "function":
            wanted |= {"name": row.function}
        case "instruction":
            wanted |= {"instructionReference": row.instruction_reference, "offset": row.offset}
        case "data":
            wanted |= {"dataId": row.data_id, "accessType": row.access_type}
    return {name: value for name, value in wanted.items() if value is not None}
