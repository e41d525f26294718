"""An approval request as lines of text, complete, for modes without dialogs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tau.base.text import reveal

if TYPE_CHECKING:
    from tau.coding.approval.request import ApprovalRequest


def describe_request(request: "ApprovalRequest") -> str:
    """What the call would do, why it is asked about, and all of its arguments."""
    action = "; ".join(item.reason for item in request.questions)
    first = reveal(f"{request.label}: allow to {action}?")
    rest = (f"{name}: {text}" for name, text in argument_rows(request) if text.strip() not in action)
    return "\n".join([first, *map(reveal, _facts(request)), *map(reveal, rest)])


def fact_rows(request: "ApprovalRequest") -> Iterator[tuple[str, str]]:
    """Where and how it would run, by name."""
    if request.cwd != request.session_cwd:
        yield "folder", str(request.cwd).replace("\n", "<U+000A>")
    yield from ((f"variable {name}", value) for name, value in request.env)
    yield from request.details


def _facts(request: "ApprovalRequest") -> Iterator[str]:
    yield from dict.fromkeys(note for item in request.questions for note in item.notes)
    yield from (f"{name}: {value}" for name, value in fact_rows(request))


def argument_rows(request: "ApprovalRequest") -> Iterator[tuple[str, str]]:
    """The arguments of the call, as texts."""
    for name, value in request.arguments.items():
        yield name, value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
