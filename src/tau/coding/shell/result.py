"""The result of a command: its output within limits, and how it ended."""

import signal

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from tau.agent.output import ToolOutput
from tau.agent.ports import Artifacts
from tau.base.run import Exit
from tau.coding.output import LimitedText, OutputLimits, OutputSink, lines_of, notice, truncate, with_notice
from tau.coding.shell.details import BashDetails
from tau.coding.shell.rewrite import TrimmedCommand


def result(
    sink: OutputSink,
    artifacts: Artifacts,
    details: BashDetails,
    exited: Exit,
    time_limit_s: int,
    limited: TrimmedCommand | None,
) -> ToolOutput:
    """The final result: output, the notes in `details`, and any error."""
    output = sink.finish()
    if limited is not None:
        output = _limited(output, limited, sink.limits, artifacts)
    more = "" if limited is None else f"`{limited.dropped}` chose what is shown"
    text = with_notice(output.text, notice(output.truncation, more=more))
    ending = describe_exit(exited, time_limit_s)
    if not text.strip():
        text = "" if ending else "[No output]"
    for note in details.notes or ():
        text = with_notice(text, f"[{note.removesuffix('.')}]")
    details = replace(
        details,
        exit_code=exited.code,
        signal=UNSET if exited.signal is None else signal_name(exited.signal),
        timed_out=exited.timed_out,
        meta=output.meta,
        stripped=UNSET if limited is None else limited.dropped,
        colored=sink.colored_tail() or UNSET,
    )
    return ToolOutput.text(with_notice(text, ending), details, is_error=bool(ending))


def describe_exit(exited: Exit, time_limit_s: int) -> str:
    """How the command ended, unless it succeeded."""
    if exited.timed_out:
        return f"[Stopped: exceeded its time limit of {time_limit_s} s]"
    if exited.signal is not None:
        return f"[Ended by signal {signal_name(exited.signal)}]"
    if exited.code is None:
        return "[Could not be stopped; still running]"
    if not exited.code:
        return ""
    # A shell reports death by signal as 128 plus the signal number.
    name = signal_name(exited.code - 128) if exited.code > 128 else ""
    return f"[Exit code {exited.code} ({name})]" if name.startswith("SIG") else f"[Exit code {exited.code}]"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _limited(
    shown: LimitedText, limited: TrimmedCommand, limits: OutputLimits, artifacts: Artifacts
) -> LimitedText:
    """The lines `head` or `tail` would have shown; the full output is saved."""
    lines = lines_of(shown.text)
    if shown.truncation is None:
        if len(lines) <= limited.lines:
            return shown
        wanted = OutputLimits(lines=limited.lines, bytes=limits.bytes, columns=limits.columns)
        cut = truncate(shown.text, wanted, limited.keep)
        assert cut.truncation is not None
        return LimitedText(cut.text, replace(cut.truncation, artifact_id=_save(shown.text, artifacts)))
    ranges = shown.truncation.ranges
    first, last = ranges[0] if limited.keep == "head" else ranges[-1]
    count = min(limited.lines, last - first + 1)
    part = lines[:count] if limited.keep == "head" else lines[-count:]
    text = "\n".join(part) + ("\n" if part else "")
    span = (first, first + count - 1) if limited.keep == "head" else (last - count + 1, last)
    truncation = replace(
        shown.truncation, kept=limited.keep, ranges=[span], shown_bytes=len(text.encode()), cut_lines=0
    )
    return LimitedText(text, truncation)


def _save(text: str, artifacts: Artifacts) -> str | UnsetType:
    try:
        sink = artifacts.create("bash")
        try:
            sink.write(text.encode())
        finally:
            sink.close()
    except OSError:
        return UNSET
    return sink.id
