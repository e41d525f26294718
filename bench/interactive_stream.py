"""Measures a streamed answer in the whole program: CPU time and bytes, at a steady pace and at full speed."""

import time

import tui_text
from interactive_desk import Desk, ask, desk, seconds, words
from interactive_keys import DELTA_CHARS, DELTAS_A_SECOND, PAUSE_S
from report import Row, times
from spawn import cpu_seconds
from tui_pty import Terminal

DELTAS, QUICK_DELTAS = 2_000, 400
NEAR = 0.05  # of the target pace
CPU_LIMIT_S, BYTES_LIMIT, FAST_LIMIT_S = 1.2, 8, 0.25


def measure(quick: bool) -> list[tuple[Row, float]]:
    deltas = QUICK_DELTAS if quick else DELTAS
    scale = DELTAS / deltas
    size = deltas * DELTA_CHARS
    whole = tui_text.answer(7 * size)
    texts = (
        whole[begin : begin + size] for begin in range(0, len(whole), size)
    )  # all different, because of caches
    with desk() as at, at.ready() as program:
        at.script(words("warm"))
        ask(program, "say one word")
        pause_s = PAUSE_S
        for _ in range(3):  # the server's own time depends on the load: approximate the pace
            paced = _streamed(at, program, next(texts), deltas, pause_s)
            late_s = paced[2] / deltas - 1 / DELTAS_A_SECOND
            if abs(late_s) * DELTAS_A_SECOND < NEAR:
                break
            pause_s = max(0.001, pause_s - late_s)
        fast = sorted(_streamed(at, program, next(texts), deltas, 0) for _ in range(3))[1]
    many = f"{DELTAS:,} deltas"
    steady = f"{many} at {DELTAS_A_SECOND} a second (here {deltas / paced[2]:.0f})"
    return [
        (Row("paced_cpu", f"{steady}, CPU", CPU_LIMIT_S, seconds), paced[0] * scale),
        (Row("paced_bytes", "... bytes written over text", BYTES_LIMIT, times), paced[1]),
        (Row("fast_cpu", f"{many} at full speed, CPU", FAST_LIMIT_S, seconds), fast[0] * scale),
        (Row("fast_bytes", "... bytes written over text", None, times), fast[1]),
    ]


def _streamed(
    at: Desk, program: Terminal, text: str, deltas: int, pause_s: float
) -> tuple[float, float, float]:
    """Return CPU seconds, bytes written per byte of text, and elapsed seconds."""
    at.script(words(text, deltas, pause_s))
    program.read_for(0.5)
    program.output.clear()
    cpu, started = cpu_seconds(program.pid), time.monotonic()
    ask(program, "tell me more")
    lasted = time.monotonic() - started
    program.read_for(0.5)  # the last frame may follow the title
    return cpu_seconds(program.pid) - cpu, len(program.output) / len(text.encode()), lasted
