"""Drains pending terminal replies on exit, so that the shell does not get them as input."""

import os
import select
import time

from tau.tui.input.decoder import InputDecoder
from tau.tui.input.key import InputEvent
from tau.tui.terminal.probes import Probes
from tau.tui.terminal.replies import DeviceAttributes, TerminalReply
from tau.tui.timer import FakeTimer

_SHORT_S = 0.05
_LONGEST_S = 0.5
_UNKNOWN_S = 0.1


def drain(fd: int, probes: Probes) -> None:
    """Read until the answer to a final query arrives; everything sent before it has been read by then.

    Wait only for a terminal that has answered before, for a multiple of its answer time. One whose first
    answers are still due gets a moment; one that never answers gets none.
    """
    if probes.round_trip_s is not None:
        expected, limit_s = probes.unanswered + 1, min(max(3 * probes.round_trip_s, _SHORT_S), _LONGEST_S)
    elif probes.waiting:
        expected, limit_s = probes.unanswered, _UNKNOWN_S
    else:
        return
    answers = 0

    def count(events: list[InputEvent | TerminalReply]) -> None:
        nonlocal answers
        answers += sum(isinstance(event, DeviceAttributes) for event in events)

    buffer = InputDecoder(count, FakeTimer())
    deadline = time.monotonic() + limit_s
    while answers < expected:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not select.select([fd], [], [], left_s)[0]:
            return
        try:
            data = os.read(fd, 65536)
        except OSError:
            return
        if not data:
            return
        buffer.feed(data)
