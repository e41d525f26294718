"""Measures the latency of keys, idle and while a message streams, and whether any is lost."""

import random
import time
from statistics import median

import tui_text
from interactive_desk import PAINTED, READY, Desk, count, desk, must, words
from report import Row, milliseconds
from tui_pty import Terminal

KEYS = "".join(map(chr, range(0x410, 0x410 + 50)))  # letters that occur in no answer
IDLE_LIMIT_MS, STREAM_LIMIT_MS, WORST_LIMIT_MS = 1.2, 4.0, 10.0
DELTA_CHARS = 20
DELTAS_A_SECOND = 200
SERVER_OVERHEAD_S = 0.0006  # the fake server's time per event besides its pause
PAUSE_S = 1 / DELTAS_A_SECOND - SERVER_OVERHEAD_S
STREAM_SECONDS = 8


def measure(quick: bool) -> list[tuple[Row, float]]:
    rounds = 1 if quick else 3
    idle: list[list[float]] = []
    streaming: list[list[float]] = []
    lost = 0
    for _ in range(rounds):
        with desk() as at:
            lost += _early(at)
            with at.ready() as program:
                idle.append(_pressed(program, 0.02, 0.06))
                program.type("\r")
                program.read_for(1.0)
                lost += _missing(at.said())
            with at.ready() as program:
                streaming.append(_while_streaming(at, program))
                lost += _missing(at.said())
    pressed = len(KEYS) * rounds
    return [
        (Row("idle_key", "a key to its bytes, idle: median", IDLE_LIMIT_MS, _ms), _middle(idle)),
        (Row("idle_worst", f"... worst of {pressed}", WORST_LIMIT_MS, milliseconds), _worst(idle)),
        (
            Row("stream_key", "a key while a message streams: median", STREAM_LIMIT_MS, _ms),
            _middle(streaming),
        ),
        (
            Row("stream_worst", f"... worst of {pressed}", WORST_LIMIT_MS, milliseconds),
            _worst(streaming),
        ),
        (Row("lost", f"keys lost of {3 * pressed}, a third typed during the start", 0, count), lost),
    ]


def _pressed(program: Terminal, shortest_s: float, longest_s: float) -> list[float]:
    """Press the keys one by one at random times; returns the milliseconds of each."""
    chance = random.Random(3)
    found = []
    for key in KEYS:
        program.read_for(chance.uniform(shortest_s, longest_s))
        since = len(program.output)
        started = time.monotonic()  # before the write, which may return only after the key was handled
        program.type(key)
        must(program, program.wait_for(key.encode(), 5, since=since))
        found.append((time.monotonic() - started) * 1000)
    program.read_for(0.1)  # Enter at once would be part of a paste
    return found


def _while_streaming(at: Desk, program: Terminal) -> list[float]:
    deltas = STREAM_SECONDS * DELTAS_A_SECOND
    at.script(words(tui_text.answer(deltas * DELTA_CHARS), deltas, PAUSE_S), words("ok"))
    program.type("go")
    program.read_for(0.1)  # together, they would be a paste
    program.type("\r")
    program.read_for(1.0)
    found = _pressed(program, 0.05, 0.15)
    program.type("\r")  # steering: it arrives after the answer
    program.read_for(STREAM_SECONDS)
    return found


def _early(at: Desk) -> int:
    """Press keys right after the first paint, while the rest is loading."""
    with at.start() as program:
        must(program, program.wait_for(PAINTED))
        for key in KEYS:
            program.type(key)
            program.read_for(0.002)
        must(program, program.wait_for(READY))
        program.read_for(1.0)
        program.type("\r")
        program.read_for(1.0)
    return _missing(at.said())


def _missing(session: str) -> int:
    return 0 if KEYS in session else sum(key not in session for key in KEYS) or 1


def _middle(rounds: list[list[float]]) -> float:
    return median(value for keys in rounds for value in keys)


def _worst(rounds: list[list[float]]) -> float:
    return max(value for keys in rounds for value in keys)


def _ms(value: float) -> str:
    return f"{value:.2f} ms"
