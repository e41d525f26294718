"""What is known of an agent on disk: enough to list, revive and report it after a crash."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tau.base import log
from tau.base.files import write_atomic
from tau.base.secrets import mask
from tau.coding.task.definition import AgentDefinition
from tau.coding.task.results import AgentStatus, SingleResult

SUFFIX = ".agent.json"
_ENDINGS = (SUFFIX, ".jsonl", ".md", ".patch")


class AgentRecord(Struct, kw_only=True, rename="camel"):
    """One agent. `tools` are the names it was given; `interrupted`: tau ended while it ran.

    `delivered`: its caller's conversation has the result. `branch` is where the conversation was then.
    """

    id: str
    definition: AgentDefinition
    assignment: str
    context: str = ""
    description: str = ""
    parent: str = "Main"
    depth: int = 1
    index: int = 0
    tool_call: str = ""
    job: bool = False
    tools: list[str] = []
    custom_tools: list[str] = []
    output_schema: dict[str, Any] | None = None
    model: str = ""
    thinking: str = ""
    cwd: str = ""
    isolation: dict[str, Any] | UnsetType = UNSET
    status: AgentStatus = "queued"
    interrupted: bool = False
    delivered: bool = False
    started_ms: int = 0
    ended_ms: int = 0
    result: SingleResult | None = None


def save_record(folder: Path, record: AgentRecord) -> None:
    """Raises OSError."""
    text = mask(msgspec.json.encode(record, enc_hook=str).decode())
    is_final = record.result is not None and not record.delivered  # the rest a kill does not lose either
    write_atomic(folder / f"{record.id}{SUFFIX}", text.encode(), mode=0o600, sync=is_final)


def load_records(folder: Path) -> Iterator[AgentRecord]:
    """Damaged files are reported to the log file; their transcripts stay."""
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
    except OSError:
        return
    for path in paths:
        try:
            record = msgspec.json.decode(path.read_bytes(), type=AgentRecord)
        except (OSError, ValueError, RecursionError) as error:
            log.error(f"The record of an agent cannot be read: {path}.", error)
            continue
        if record.id == path.name.removesuffix(SUFFIX):
            yield record


def taken_ids(folder: Path | None) -> set[str]:
    """The ids, in lower case, that have files from now or before."""
    if folder is None or not folder.is_dir():
        return set()
    names = (path.name.lower() for path in folder.iterdir())
    return {name.removesuffix(next((end for end in _ENDINGS if name.endswith(end)), "")) for name in names}
