"""Measures a streamed answer in the whole program: CPU time and bytes, at a steady pace and at full speed."""

import time

import tui_text
from interactive_desk import Desk, ask, cpu_seconds, desk, seconds, words
from interactive_keys import DELTA_CHARS, DELTAS_A_SECOND, PAUSE_S
from report import Row, times
from tui_pty import Terminal

DELTAS, QUICK_DELTAS = 2_000, 400
CPU_LIMIT_S, BYTES_LIMIT, FAST_LIMIT_S = 1.2, 8, 0.25


def measure(quick: bool) -> list[tuple[Row, float]]:
    deltas = QUICK_DELTAS if quick else DELTAS
    scale = DELTAS / deltas
    with desk() as at, at.ready() as program:
        at.script(words("warm"))
        ask(program, "say one word")
        paced = _streamed(at, program, deltas, PAUSE_S)
        fast = sorted(_streamed(at, program, deltas, 0) for _ in range(3))[1]
    many = f"{DELTAS:,} deltas"
    steady = f"{many} at {DELTAS_A_SECOND} a second (here {deltas / paced[2]:.0f})"
    return [
        (Row("paced_cpu", f"{steady}, CPU", CPU_LIMIT_S, seconds), paced[0] * scale),
        (Row("paced_bytes", "... bytes written over text", BYTES_LIMIT, times), paced[1]),
        (Row("fast_cpu", f"{many} at full speed, CPU", FAST_LIMIT_S, seconds), fast[0] * scale),
        (Row("fast_bytes", "... bytes written over text", None, times), fast[1]),
    ]


def _streamed(at: Desk, program: Terminal, deltas: int, pause_s: float) -> tuple[float, float, float]:
    """CPU seconds, bytes for each byte of the text, and how many seconds it took."""
    text = tui_text.answer(deltas * DELTA_CHARS)
    at.script(words(text, deltas, pause_s))
    program.read_for(0.5)
    program.output.clear()
    cpu, begun = cpu_seconds(program.pid), time.monotonic()
    ask(program, "tell me more")
    lasted = time.monotonic() - begun
    program.read_for(0.3)
    return cpu_seconds(program.pid) - cpu, len(program.output) / len(text.encode()), lasted
