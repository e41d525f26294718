"""Results and progress of agents: as data, as text for the model, and as files."""

from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from tau.ai.wire import Usage
from tau.base.files import write_atomic
from tau.base.secrets import mask
from tau.base.sizes import KIB
from tau.base.text import clean_line, plain, quantity, shortened
from tau.coding.output import OutputLimits, truncate

AgentStatus = Literal["queued", "running", "idle", "parked", "aborted"]
AgentOutcome = Literal["completed", "failed", "aborted"]

OUTPUT = OutputLimits(lines=5_000, bytes=500_000)
PREVIEW_CHARS = 5_000
TAIL_BYTES = 8 * KIB
TAIL_LINES = 8


class SingleResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """How one assignment ended. `exit_code` is 0 only after an accepted yield."""

    index: int
    id: str
    agent: str
    agent_source: str
    outcome: AgentOutcome
    exit_code: int
    output: str
    stderr: str = ""
    error: str | UnsetType = UNSET
    aborted: bool = False
    abort_reason: str | UnsetType = UNSET
    retry_failure: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    assignment: str | UnsetType = UNSET
    truncated: bool = False
    duration_ms: int = 0
    tokens: int = 0
    requests: int = 0
    cost: float = 0.0
    context_tokens: int | UnsetType = UNSET
    context_window: int | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    model: str = ""
    output_path: str | UnsetType = UNSET
    patch_path: str | UnsetType = UNSET
    branch_name: str | UnsetType = UNSET
    workspace: str | UnsetType = UNSET
    merged: bool | UnsetType = UNSET
    nested_patches: list[str] | UnsetType = UNSET
    extracted_tool_data: dict[str, list[Any]] | UnsetType = UNSET
    data: Any = UNSET
    notes: list[str] = []


class AgentProgress(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent is doing now. `status` is that of its work, `state` that of its session.

    `waiting`: it asks the user. `quiet_ms`: how long nothing has happened.
    """

    index: int
    id: str
    agent: str
    agent_source: str
    status: Literal["pending", "running", "completed", "failed", "aborted"]
    state: AgentStatus = "queued"
    task: str
    description: str = ""
    parent: str = ""
    tool_call: str = ""
    model: str = ""
    current_tool: str = ""
    current_target: str = ""
    requests: int = 0
    tool_count: int = 0
    tokens: int = 0
    cost: float = 0.0
    duration_ms: int = 0
    waiting: bool = False
    quiet_ms: int = 0
    recent_output: list[str] = []
    session_file: str = ""


class AsyncState(Struct, frozen=True, rename="camel"):
    state: Literal["running", "completed", "failed"]
    job_id: str
    type: str = "task"


class TaskDetails(Struct, frozen=True, kw_only=True, rename="camel"):
    """`results` of what has ended, `progress` of the rest. `job_id` is the first background job."""

    project_agents_dir: str | None = None
    results: list[SingleResult] = []
    total_duration_ms: int = 0
    usage: Usage | UnsetType = UNSET
    output_paths: list[str] | UnsetType = UNSET
    progress: list[AgentProgress] = []
    async_: AsyncState | UnsetType = UNSET


def result_text(result: SingleResult) -> str:
    """The result for the caller's model; the file has all of it."""
    ended = result.outcome if not result.aborted else f"aborted ({result.abort_reason or 'stopped'})"
    cost = f", ${result.cost:.4f}" if result.cost else ""
    facts = f"{quantity(result.requests, 'request')}, {result.tokens:,} tokens{cost}"
    lines = [f"[{result.agent} {result.id} {ended}; {facts}]"]
    if isinstance(result.error, str) and result.error:
        lines.append(result.error)
    text = result.output.strip()
    if len(text) > PREVIEW_CHARS:
        rest = f"[… {len(result.output):,} characters; agent://{result.id} has all]"
        text = f"{text[:PREVIEW_CHARS].rstrip()}\n{rest}"
    elif result.truncated:
        text += f"\n[Truncated; agent://{result.id} has all]"
    lines.append(text or "[No output]")
    lines += [f"[{note}]" for note in result.notes]
    return "\n".join(lines)


def follow_up(result: SingleResult, *, is_revivable: bool) -> str:
    """What the caller can do next with the agent."""
    if result.outcome == "aborted" or not is_revivable:
        return f"[Transcript: history://{result.id}]"
    return f"[{result.id} is idle: message it with irc to follow up; transcript: history://{result.id}]"


def limited(text: str) -> tuple[str, bool]:
    """The part of an output that is passed on, and whether it is less than all."""
    cut = truncate(text, OUTPUT, "tail")
    return cut.text, cut.truncation is not None


def tail_lines(text: str) -> list[str]:
    """The last lines that say something, for a progress report."""
    lines = [clean_line(line) for line in plain(text[-TAIL_BYTES:]).splitlines() if line.strip()]
    return [shortened(line, 200) for line in lines[-TAIL_LINES:]]


def save_output(folder: Path, id: str, text: str) -> Path:
    """Write the whole output durably. Raises OSError."""
    path = folder / f"{id}.md"
    write_atomic(path, mask(text).encode("utf-8", "replace"), mode=0o600, sync=True)
    return path
