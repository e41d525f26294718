"""An approval request as text: its heading, what it would do in full, and the answers that allow it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tau.base.text import reveal

if TYPE_CHECKING:
    from tau.coding.approval.policy import ApprovalItem, Kind
    from tau.coding.approval.request import ApprovalChoice, ApprovalRequest

MAX_SHOWN_CHARS = 200_000
"""A longer request cannot be shown in full, so it cannot be allowed."""
_REQUESTS: "dict[Kind, str]" = {
    "run": "command",
    "write": "write",
    "connect": "connection",
    "read": "read",
    "tool": "call",
    "mcp": "call",
}


class ApprovalLabel(NamedTuple):
    """An answer as the user reads it; `about` says what it covers."""

    value: "ApprovalChoice"
    label: str
    about: str = ""


def heading(request: "ApprovalRequest") -> str:
    """What the user is asked to allow."""
    kinds = list(dict.fromkeys(question.kind for question in request.questions))
    whose = f"Agent {request.agent}: allow" if request.agent else "Allow"
    return f"{whose} this {' and '.join(_REQUESTS[kind] for kind in kinds)}?"


def allowing_choices(request: "ApprovalRequest") -> list[ApprovalLabel]:
    """The answers that allow the call; none if it is too long to show."""
    if size_chars(request) > MAX_SHOWN_CHARS:
        return []
    choices = [ApprovalLabel("once", "Allow once")]
    if request.for_session:
        choices.append(ApprovalLabel("session", "Allow for this session", _session_scope(request.questions)))
    if request.patterns:
        about = "Saved to tools.allow in your settings; you won't be asked again."
        choices.append(ApprovalLabel("always", f"Always allow {', '.join(request.patterns)}", about))
    return choices


def size_chars(request: "ApprovalRequest") -> int:
    """Characters to show."""
    texts = [text for _, text in (*argument_rows(request), *fact_rows(request))]
    asked = [text for item in request.questions for text in (item.subject, *item.notes)]
    return sum(map(len, [*texts, *asked]))


def _session_scope(questions: "Sequence[ApprovalItem]") -> str:
    """What "for this session" covers."""
    parts: dict[str, None] = {}
    for question in questions:
        match question.kind, question.patterned:
            case "run", _:
                parts["this exact command"] = None
            case "write", True:
                parts[f"files in {Path(question.subject).parent}"] = None
            case "write", False:
                parts["this file"] = None
            case "connect", _:
                parts[f"connections to {question.subject}"] = None
            case "read", _:
                parts[f"reading {question.subject}"] = None
            case "tool" | "mcp", _:
                parts[f"calls to {question.subject}"] = None
    return f"Covers {', '.join(parts)}."


def describe_request(request: "ApprovalRequest") -> str:
    """What the call would do, why it is asked about, and all of its arguments.

    Later lines of a text are indented, so that none looks like another row.
    """
    action = "; ".join(item.reason for item in request.questions)
    first = reveal(_indented(f"{request.label}: allow to {action}?"))
    said = {item.subject for item in request.questions}
    rest = (_row(name, text) for name, text in argument_rows(request) if text.strip() not in said)
    return "\n".join([first, *map(reveal, _facts(request)), *map(reveal, rest)])


def fact_rows(request: "ApprovalRequest") -> Iterator[tuple[str, str]]:
    """Where and how it would run, by name."""
    if request.cwd != request.session_cwd:
        yield "folder", str(request.cwd).replace("\n", "<U+000A>")
    yield from ((f"variable {name}", value) for name, value in request.env)
    yield from request.details


def _facts(request: "ApprovalRequest") -> Iterator[str]:
    yield from dict.fromkeys(note for item in request.questions for note in item.notes)
    yield from (_row(name, value) for name, value in fact_rows(request))


def _row(name: str, value: str) -> str:
    return f"{_indented(name)}: {_indented(value)}"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def argument_rows(request: "ApprovalRequest") -> Iterator[tuple[str, str]]:
    """The arguments of the call, as texts."""
    for name, value in request.arguments.items():
        yield name, value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
