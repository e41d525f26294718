"""Command details for the user interface."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from tau.coding.output import OutputMeta


class BashDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`exit_code` is null while the command runs and when a signal ended it."""

    command: str
    cwd: str
    exit_code: int | None = None
    signal: str | UnsetType = UNSET
    timed_out: bool = False
    duration_ms: int = 0
    meta: OutputMeta | UnsetType = UNSET
    job_id: str | UnsetType = UNSET  # its background job id
    stripped: str | UnsetType = UNSET  # the `| head` or `| tail` that we apply ourselves
    notes: Sequence[str] | UnsetType = UNSET
    colored: str | UnsetType = UNSET  # the end of the output with its colors, if it has any
