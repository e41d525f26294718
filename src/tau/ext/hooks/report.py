"""What people see of command hooks: a row for each, and how it fared."""

from collections.abc import Sequence

from tau.base.text import shortened
from tau.coding.hook_status import HookStatus
from tau.ext.hooks.dispatcher import HookRecord
from tau.ext.hooks.hook_answer import HookAnswer
from tau.ext.hooks.hook_files import CommandHook

NONE = "There are no command hooks. They go into hooks.json in .tau or ~/.tau/agent; see the hooks page."
STATES = {
    "waiting": "waits until you trust this repository; see tau trust",
    "off": "off",
    "unsupported": "not supported",
}


def status_of(hook: CommandHook, record: HookRecord | None = None, *, is_off: bool = False) -> HookStatus:
    last = None if record is None else record.last
    return HookStatus(
        id=hook.id,
        event=hook.event,
        matcher=hook.matcher,
        what=hook.gist,
        place=hook.place,
        state="off" if is_off else "broken" if hook.fault and hook.usage == "active" else hook.usage,
        why=hook.fault,
        runs=0 if record is None else record.runs,
        failures=0 if record is None else record.failures,
        ms=0 if last is None else last.ms,
        last="" if last is None else answer_text(last.answer),
    )


def answer_text(answer: HookAnswer) -> str:
    """What a hook answered, in a few words."""
    if answer.failure:
        return f"failed: {answer.failure}"
    said = {"deny": "blocked", "ask": "asked", "allow": "had no objection", "": "had no objection"}
    parts = [said[answer.decision]]
    if answer.updated_input is not None:
        parts.append("changed the input")
    if answer.context:
        parts.append("added context")
    if answer.stop:
        parts.append("stopped the run")
    reason = f" ({shortened(' '.join(answer.reason.split()), 100)})" if answer.reason else ""
    return f"{', '.join(parts)}{reason}"


def status_lines(rows: Sequence[HookStatus]) -> list[str]:
    """The hooks by event, each with where it is from and what it last did."""
    if not rows:
        return [NONE]
    lines: list[str] = []
    for row in rows:
        matcher = f" {row.matcher}" if row.matcher else ""
        lines.append(f"{row.id}{matcher}: {row.what or '-'}")
        lines.append(f"  from {row.place}")
        if row.state in STATES:
            lines.append(f"  {STATES[row.state]}")
        if row.why:
            lines.append(f"  {row.why}")
        if row.runs:
            failed = f", failed {_times(row.failures)}" if row.failures else ""
            lines.append(f"  ran {_times(row.runs)}{failed}; last: {row.last}, {row.ms} ms")
    return lines


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
