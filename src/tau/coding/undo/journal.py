"""The journal of a session's changes: one JSON line before each change and one after it."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from tau.ai.normalization import clean
from tau.base.jsonl import JsonlFile, read_jsonl
from tau.coding.undo.file_state import FileState

FILE_NAME = "journal.log"
TurnKind = Literal["turn", "undo", "redo"]


class _Record(Struct, frozen=True, rename="camel", tag_field="type", omit_defaults=True):
    """One line of the journal."""


class TurnRecord(_Record, frozen=True, kw_only=True, tag="turn"):
    """Starts the records of a user prompt, or of an undo of `targets`.

    `paths`: the undo was limited to these.
    """

    id: str
    time_ms: int
    prompt: str = ""
    kind: TurnKind = "turn"
    targets: list[str] = []
    paths: list[bytes] = []


class ChangeIntent(_Record, frozen=True, kw_only=True, tag="intent"):
    """A change about to be made. `folders` are those it creates."""

    id: str
    turn: str
    call: str = ""
    path: bytes
    before: FileState
    after: FileState
    folders: list[bytes] = []


class ChangeOutcome(_Record, frozen=True, kw_only=True, tag="outcome"):
    """The outcome of an intent; without `after`, nothing was changed."""

    id: str
    after: FileState | None = None


class WatchedFile(_Record, frozen=True, kw_only=True, tag="known"):
    """A file that a command may change, as it was before the command."""

    path: bytes
    state: FileState


class CommandStart(_Record, frozen=True, kw_only=True, tag="command"):
    """A command about to run; `repositories` are scanned for its changes."""

    id: str
    turn: str
    call: str = ""
    repositories: list[bytes] = []


class ObservedChange(_Record, frozen=True, kw_only=True, tag="change"):
    """A change detected after a command. `unsure`: someone else may have made it."""

    turn: str
    call: str = ""
    path: bytes
    before: FileState
    after: FileState
    unsure: bool = False


class CommandEnd(_Record, frozen=True, kw_only=True, tag="ended"):
    """All changes of the command are recorded."""

    id: str


class UnwatchedCommand(_Record, frozen=True, kw_only=True, tag="unwatched"):
    """A command whose changes are not detected; `where` it runs, as words after "ran"."""

    turn: str
    where: str


class AnswerCalls(_Record, frozen=True, kw_only=True, tag="calls"):
    """The calls of an answer, recorded before any of them begins; `answer_ms` is its timestamp."""

    answer_ms: int
    calls: list[str]


class CallBegan(_Record, frozen=True, kw_only=True, tag="began"):
    """A call with effects is about to run: approved, and all else is recorded."""

    call: str


class UndoDone(_Record, frozen=True, kw_only=True, tag="finished"):
    """An undo has finished: what it skipped, it skipped on purpose."""

    id: str


Record: TypeAlias = (
    TurnRecord
    | ChangeIntent
    | ChangeOutcome
    | WatchedFile
    | CommandStart
    | ObservedChange
    | CommandEnd
    | UnwatchedCommand
    | AnswerCalls
    | CallBegan
    | UndoDone
)

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Journal:
    """Appends records; `load` reads them. Several processes may append to one file."""

    def __init__(self, folder: Path) -> None:
        self._file = JsonlFile(folder / FILE_NAME)

    def add(self, *records: Record, sync: bool = False) -> None:
        """Append records; with `sync`, flush them to disk. Raises OSError."""
        if records:
            self._file.append(*(msgspec.json.encode(record) for record in records), sync=sync)

    def close(self) -> None:
        self._file.close()


def load(folder: Path) -> list[Record]:
    """Read all records, skipping those torn by a crash or written by a newer version."""
    try:
        lines = read_jsonl(folder / FILE_NAME).lines
    except OSError:
        return []
    records: list[Record] = []
    for line in lines:
        with suppress(msgspec.DecodeError):
            records.append(_decoder.decode(line))
    return records


def new_id() -> str:
    return os.urandom(6).hex()


def shown_prompt(text: str, max_chars: int = 80) -> str:
    """Shorten a prompt to one line."""
    line = " ".join(clean(text[: 4 * max_chars]).split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1].rstrip()}…"


def known_states(records: Iterable[Record]) -> dict[str, FileState]:
    """Return the last known state of each file."""
    states: dict[str, FileState] = {}
    intents: dict[str, ChangeIntent] = {}
    for record in records:
        if isinstance(record, WatchedFile):
            states[os.fsdecode(record.path)] = record.state
        elif isinstance(record, ObservedChange):
            states[os.fsdecode(record.path)] = record.after
        elif isinstance(record, ChangeIntent):
            intents[record.id] = record
        elif isinstance(record, ChangeOutcome) and record.id in intents:
            intent = intents[record.id]
            states[os.fsdecode(intent.path)] = intent.before if record.after is None else record.after
    return states
