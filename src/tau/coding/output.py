"""Output limits: which part of a long text the model sees, the notice about it, and where the rest is."""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Self

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.hooks import Hooks
from tau.agent.output import ToolOutput
from tau.agent.ports import Artifacts, Sink
from tau.ai.wire import TextContent, ToolCall
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import plain, reveal_invisible, shortened
from tau.config.settings import ToolsSettings

ARTIFACT_CAP_BYTES = 64 * MIB
UPDATE_INTERVAL_S = 0.1
COLORED_BYTES = 8 * KIB
MAX_NAME_CHARS = 300
NOTICE_BYTES, NOTICE_LINES = 4 * KIB, 20  # room for a header and notices beside a text at its limits
OutputKeep = Literal["head", "tail", "ends"]


class OutputLimits(Struct, frozen=True, kw_only=True):
    """`columns` is characters per line; `bytes` counts UTF-8 without notices."""

    lines: int = 3_000
    bytes: int = 50 * KIB
    columns: int = 2_000


def command_limits(tools: ToolsSettings) -> OutputLimits:
    """The user's limits for command output."""
    return OutputLimits(bytes=tools.artifact_spill_threshold * KIB, columns=tools.output_max_columns)


def widest_limits(tools: ToolsSettings) -> OutputLimits:
    """What no tool exceeds, with the user's limits for commands."""
    usual, commands = OutputLimits(), command_limits(tools)
    return OutputLimits(bytes=max(usual.bytes, commands.bytes), columns=max(usual.columns, commands.columns))


class Truncation(Struct, frozen=True, rename="camel", kw_only=True):
    """How much of a text is shown. `ranges` are the shown lines, 1-based and inclusive.

    `next_offset` is the first line after them, if the caller can ask for it. `total_lines` of a very large
    file are not counted.
    """

    kept: OutputKeep
    ranges: list[tuple[int, int]]
    total_lines: int | UnsetType
    total_bytes: int
    shown_bytes: int
    cut_lines: int = 0  # lines cut to their first `columns` characters
    next_offset: int | UnsetType = UNSET
    artifact_id: str | UnsetType = UNSET
    artifact_note: str | UnsetType = UNSET  # why the artifact is missing or incomplete


class EntryLimit(Struct, frozen=True, rename="camel"):
    """A shortened list: entries shown, and entries in total."""

    shown: int
    total: int


class ReachedLimits(Struct, frozen=True, rename="camel", kw_only=True):
    result_limit: EntryLimit


class OutputSource(Struct, frozen=True):
    """What the output shows: a file by its absolute path, or the address of a page or internal resource."""

    type: Literal["path", "url", "internal"]
    value: str


class DiagnosticRow(Struct, frozen=True, rename="camel", kw_only=True):
    """A diagnostic as faces show it; `line` and `column` start at 1. `is_new`: the edit caused it."""

    path: str
    line: int
    column: int
    level: str
    message: str
    tag: str = ""
    is_new: bool = False


class OutputMeta(Struct, frozen=True, rename="camel", kw_only=True):
    """`details.meta` of every tool that may truncate its output. `source_path` is a file written inside."""

    truncation: Truncation | UnsetType = UNSET
    limits: ReachedLimits | UnsetType = UNSET
    source: OutputSource | UnsetType = UNSET
    source_path: str | UnsetType = UNSET


class LimitedText(Struct, frozen=True):
    """Text within its limits; `truncation` is None if it is complete."""

    text: str
    truncation: Truncation | None = None

    @property
    def meta(self) -> OutputMeta | UnsetType:
        return UNSET if self.truncation is None else OutputMeta(truncation=self.truncation)


def truncate(text: str, limits: OutputLimits, keep: OutputKeep = "head") -> LimitedText:
    """As many whole lines as the limits allow; overlong lines are cut."""
    lines = lines_of(text)
    size = len(text.encode(errors="surrogatepass"))
    if (
        size <= limits.bytes
        and len(lines) <= limits.lines
        and len(max(lines, key=len, default="")) <= limits.columns
    ):
        return LimitedText(text)
    if keep == "head":
        head, tail = take(lines, limits), _LineSlice()
    elif keep == "tail":
        head, tail = _LineSlice(), take(lines[::-1], limits)
    else:
        whole = take(lines, limits)
        if len(whole.lines) == len(lines):
            head, tail = whole, _LineSlice()
        else:
            head = take(lines, limits, 2)
            tail = take(lines[: len(head.lines) - 1 : -1] if head.lines else lines[::-1], limits, 2)
    return _join(head, tail, keep, len(lines), size, text.endswith("\n"))


def notice(truncation: Truncation | None, *, more: str = "") -> str:
    """One line about the truncation for the model, or nothing. `more` says how to see the rest."""
    if truncation is None:
        return ""
    parts: list[str] = []
    shown = sum(last - first + 1 for first, last in truncation.ranges)
    if truncation.total_lines is not UNSET and shown < truncation.total_lines:
        ranges = " and ".join(_range_text(*each) for each in truncation.ranges) or "none"
        lines = "line" if shown == 1 else "lines"
        parts.append(f"Showing {lines} {ranges} of {truncation.total_lines}")
    else:
        size = format_bytes(truncation.shown_bytes)
        parts.append(f"Showing {size} of {format_bytes(truncation.total_bytes)}")
    if truncation.cut_lines:
        parts.append(
            "1 long line cut" if truncation.cut_lines == 1 else f"{truncation.cut_lines} long lines cut"
        )
    if truncation.artifact_id is not UNSET:
        what = "full output" if truncation.artifact_note is UNSET else truncation.artifact_note
        parts.append(f"{what}: artifact://{truncation.artifact_id}")
    elif truncation.artifact_note is not UNSET:
        parts.append(truncation.artifact_note)
    if more:
        parts.append(more)
    return f"[{'; '.join(parts)}]"


def with_notice(text: str, line: str) -> str:
    """The text, then the notice on a separate line."""
    if not line:
        return text
    return f"{text}{line}" if not text or text.endswith("\n") else f"{text}\n{line}"


class OutputSink:
    """Consumes command output as it arrives; keeps only the beginning, the end, and counts.

    Output beyond the limits goes to an artifact, up to a cap. Leaving the context closes the file.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        tool: str,
        limits: OutputLimits | None = None,
        *,
        artifact_cap_bytes: int = ARTIFACT_CAP_BYTES,
    ) -> None:
        self.limits = limits or OutputLimits()
        self.total_bytes = 0
        self._newlines = 0
        self._returns = 0  # carriage returns that are not part of a line end
        self._ends_in_return = False
        self._ends_open = False  # the last line has no newline yet
        self._head = bytearray()
        self._tail = bytearray()
        self._tail_cap = max(self.limits.bytes // 2, 1)
        self._artifacts = artifacts
        self._artifact_cap = artifact_cap_bytes
        self._tool = tool
        self._spill: Sink | None = None
        self._closed = False
        self._spilled_bytes = 0
        self._spill_note: str | UnsetType = UNSET

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def total_lines(self) -> int:
        return self._newlines + self._ends_open

    def push(self, data: bytes) -> None:
        if not data:
            return
        self.total_bytes += len(data)
        self._newlines += data.count(b"\n")
        self._returns += data.count(b"\r") - data.count(b"\r\n")
        self._returns -= self._ends_in_return and data.startswith(b"\n")
        self._ends_in_return = data.endswith(b"\r")
        self._ends_open = not data.endswith(b"\n")
        room = self.limits.bytes - len(self._head)
        if self.total_bytes > self.limits.bytes:
            if self._spill is None:
                self._to_artifact(bytes(self._head))
            self._to_artifact(data)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-2 * self._tail_cap :]
        if len(self._tail) > 2 * self._tail_cap:
            del self._tail[: -self._tail_cap]

    def tail(self, max_bytes: int = 8 * KIB) -> str:
        """The end of the output so far, in whole lines where possible, for progress updates."""
        kept = (self._head[-max_bytes:] + self._tail[-max_bytes:])[-max_bytes:]
        text = _readable(bytes(kept))
        return text.partition("\n")[2] or text if len(kept) < self.total_bytes else text

    def colored_tail(self) -> str:
        """The end of the output with the colors that the command gave it; empty if it has none."""
        kept = (self._head[-COLORED_BYTES:] + self._tail[-COLORED_BYTES:])[-COLORED_BYTES:]
        if b"\x1b[" not in kept:
            return ""
        text = _readable(bytes(kept), colored=True)
        text = text if len(kept) == self.total_bytes else text.partition("\n")[2]
        return text if "\x1b" in text else ""

    def finish(self) -> LimitedText:
        """The text to show. If it is truncated, the artifact has all of it."""
        if len(self._head) + len(self._tail) == self.total_bytes:
            shown = truncate(_readable(bytes(self._head + self._tail)), self.limits, "ends")
        else:
            shown = self._finish_long()
        if shown.truncation is None:
            return shown
        if self._spill is None:
            self._to_artifact(bytes(self._head + self._tail))
        self.close()
        return LimitedText(
            shown.text,
            replace(
                shown.truncation,
                total_bytes=self.total_bytes,
                artifact_id=UNSET if self._spill is None else self._spill.id,
                artifact_note=self._spill_note,
            ),
        )

    def close(self) -> None:
        if self._spill is not None and not self._closed:
            self._closed = True
            try:
                self._spill.close()
            except OSError as error:
                self._spill_note = f"the rest of the output could not be saved ({error.strerror}); the start"

    def _finish_long(self) -> LimitedText:
        """The middle is no longer in memory: show whole lines of both ends, or parts of one huge line."""
        head = lines_of(_readable(bytes(self._head)))
        tail = lines_of(_readable(bytes(self._tail)))
        if len(head) > 1 and not self._head.endswith(b"\n"):
            del head[-1]
        if len(tail) > 1:
            del tail[0]
        else:
            tail = [f"…{line[-self.limits.columns + 1 :]}" for line in tail]
        return _join(
            take(head, self.limits, 2),
            take(tail[::-1], self.limits, 2),
            "ends",
            self.total_lines + self._returns,
            self.total_bytes,
            not self._ends_open,
        )

    def _to_artifact(self, data: bytes) -> None:
        if self._spill_note is not UNSET:
            return
        room = self._artifact_cap - self._spilled_bytes
        try:
            if self._spill is None:
                self._spill = self._artifacts.create(self._tool)
            self._spill.write(data[:room])
        except OSError as error:
            if self._spill is None:
                self._spill_note = f"the full output could not be saved ({error.strerror})"
            else:
                self._spill_note = f"the rest of the output could not be saved ({error.strerror}); the start"
            return
        self._spilled_bytes += min(len(data), room)
        if len(data) > room:
            self._spill_note = f"first {format_bytes(self._artifact_cap)} of the output"


class OutputCap(Hooks):
    """Reveals what hides in a tool's text; cuts text beyond all limits and saves the whole as an artifact.

    The limits are for tools without any; the others say better how to see the rest.
    """

    def __init__(self, artifacts: Artifacts, limits: OutputLimits) -> None:
        self._artifacts = artifacts
        self._limits = limits

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        output = _revealed(output)
        text = "\n".join(part.text for part in output.content if isinstance(part, TextContent))
        if self._fits(text):
            return output
        with OutputSink(self._artifacts, call.name, self._limits) as sink:
            sink.push(text.encode(errors="replace"))
            shown = sink.finish()
        capped = TextContent(with_notice(shown.text, notice(shown.truncation)))
        rest = [part for part in output.content if not isinstance(part, TextContent)]
        return ToolOutput([capped, *rest], output.details, output.is_error)

    def _fits(self, text: str) -> bool:
        size = len(text.encode(errors="replace"))
        lines = text.count("\n") + 1
        return size <= self._limits.bytes + NOTICE_BYTES and lines <= self._limits.lines + NOTICE_LINES


def _revealed(output: ToolOutput) -> ToolOutput:
    """Show the model characters that are invisible to people: instructions hide in them."""
    if all(part.text.isascii() for part in output.content if isinstance(part, TextContent)):
        return output
    content = [
        TextContent(reveal_invisible(part.text)) if isinstance(part, TextContent) else part
        for part in output.content
    ]
    return output if content == output.content else ToolOutput(content, output.details, output.is_error)


class ProgressUpdates:
    """Calls `show` while output arrives, at a limited rate."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show
        self._timer: asyncio.TimerHandle | None = None

    def note(self) -> None:
        """Schedule an update for new output."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_INTERVAL_S, self.send)

    def send(self) -> None:
        self.stop()
        self._show()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _LineSlice(Struct, frozen=True):
    """Lines taken from one end, in that order."""

    lines: Sequence[str] = ()
    cut: int = 0


def take(lines: Iterable[str], limits: OutputLimits, share: int = 1) -> _LineSlice:
    """The first lines that fit into 1/share of the limits; at least part of the first one."""
    taken: list[str] = []
    cut = 0
    max_lines = max(limits.lines // share, 1)
    room = limits.bytes // share
    for line in lines:
        if len(taken) == max_lines:
            break
        fitted = line if len(line) <= limits.columns else f"{line[: limits.columns - 1]}…"
        size = len(fitted.encode(errors="replace")) + 1
        if size > room:
            if taken:
                break
            fitted = fitted.encode(errors="replace")[: max(room - 4, 0)].decode(errors="ignore") + "…"
        taken.append(fitted)
        cut += fitted != line
        room -= size
        if room <= 0:
            break
    return _LineSlice(taken, cut)


def _join(
    head: _LineSlice, tail: _LineSlice, keep: OutputKeep, total_lines: int, total_bytes: int, closed: bool
) -> LimitedText:
    ends = list(tail.lines[::-1])
    missing = total_lines - len(head.lines) - len(ends)
    first_of_tail = max(total_lines - len(ends) + 1, 1)
    gap = [f"[… {missing} lines not shown …]"] if missing > 0 and head.lines and ends else []
    complete_end = bool(ends) or missing <= 0
    text = "\n".join([*head.lines, *gap, *ends]) + ("\n" if closed and complete_end and total_lines else "")
    cut = head.cut + tail.cut
    if missing <= 0 and not cut and total_lines == len(head.lines) + len(ends):
        return LimitedText(text)
    ranges = [(1, len(head.lines))] if head.lines else []
    if ends:
        ranges.append((first_of_tail, total_lines))
    size = sum(len(line.encode(errors="replace")) + 1 for line in (*head.lines, *ends))
    return LimitedText(
        text,
        Truncation(
            kept=keep,
            ranges=ranges,
            total_lines=total_lines,
            total_bytes=total_bytes,
            shown_bytes=min(size, total_bytes),
            cut_lines=cut,
        ),
    )


def list_names(names: Sequence[str], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shortened(name, MAX_NAME_CHARS) for name in names[:most]) + more


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        del lines[-1]
    return lines


def _readable(data: bytes, *, colored: bool = False) -> str:
    """Command output as text: no escape sequences but colors, and only the last state of a progress bar."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_without_redraws(line) if "\r" in line else line for line in text.split("\n"))
    if not colored:
        return plain(text)
    pieces = re.split(_SGR, text)  # every second one is a color
    return "".join(piece if number % 2 else plain(piece) for number, piece in enumerate(pieces))


_SGR = r"(\x1b\[[0-9;:]{0,64}m)"
# What only progress bars and spinners have, and what changes in them. Compiled on first use.
_PROGRESS = (
    r"\d\s*%|\d\s*/\s*\d|\d of \d|[\d-]:[\d-]|\d[\d.]*\s*[kKMGT]?i?B(/s|ps)?\b|[=#.\-\u2500-\u25ff]{3,}"
    r"|^\s*[|/\\\-\u2800-\u28ff]\s|[|/\\\-\u2800-\u28ff]\s*$"
)
_LABEL = r"[^\W\d_]+"


def _without_redraws(line: str) -> str:
    """Show carriage returns as line ends; of a progress bar that they redraw, its last state and a count."""
    shown: list[str] = []
    label: str | None = None
    redraws = 0
    for state in filter(str.strip, line.split("\r")):  # blanks clear the line
        text = plain(state)
        words = re.search(_LABEL, text)
        name = (words[0] if words else "") if re.search(_PROGRESS, text) else None
        if name is None or name != label:
            shown.append("")
            redraws = 0
        else:
            redraws += 1
        states = "1 earlier state" if redraws == 1 else f"{redraws} earlier states"
        shown[-1] = state.rstrip() + (f" [… {states}]" if redraws else "")
        label = name
    return "\n".join(shown)


def _range_text(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first)
