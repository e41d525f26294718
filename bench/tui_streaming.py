"""Measures a streamed answer: CPU time and bytes, by frames of a fake clock, by the second, at full speed."""

import asyncio
import time
from statistics import mean

import tui_text
from report import Row, times
from tui_screens import Desk

FRAMES = 1000
DELTAS_A_FRAME = 20
ANSWER_CHARS = 200_000
LIVE_DELTAS = 2000
LIVE_A_SECOND = 200
DELTA_CHARS = 20
EDGE = 100


def measure(quick: bool) -> list[tuple[Row, float]]:
    frames = FRAMES // 4 if quick else FRAMES
    per_frame, expansion = framed(frames)
    deltas = LIVE_DELTAS // 5 if quick else LIVE_DELTAS
    asyncio.run(live(100, 0))  # warm
    cpu, written = asyncio.run(live(deltas, 1 / LIVE_A_SECOND))
    fast, _ = asyncio.run(live(deltas, 0))
    scale = LIVE_DELTAS / deltas
    flatness = mean(per_frame[-EDGE:]) / mean(per_frame[:EDGE])
    return [
        (
            Row("stream_frame_cpu", f"an answer of 200 kB, CPU a frame ({frames} frames)", 3, _ms),
            mean(per_frame),
        ),
        (Row("stream_flat", f"... the last {EDGE} over the first {EDGE}", 1.5, times), flatness),
        (Row("stream_bytes", "... bytes written over text", 6, times), expansion),
        (Row("live_cpu", f"{LIVE_DELTAS:,} deltas at {LIVE_A_SECOND} a second, CPU", 1.2, _s), cpu * scale),
        (Row("live_bytes", "... bytes written over text", 8, times), written),
        (Row("fast_cpu", f"{LIVE_DELTAS:,} deltas at full speed, CPU", 0.25, _s), fast * scale),
    ]


def framed(frames: int) -> tuple[list[float], float]:
    """Return CPU milliseconds per frame, and bytes written per byte of text."""
    desk = Desk()
    desk.clock.advance(1)
    answer = desk.answer()
    text = tui_text.answer(ANSWER_CHARS * frames // FRAMES)
    pieces = list(tui_text.deltas(text, frames * DELTAS_A_FRAME))
    desk.terminal.bytes = 0
    found = []
    for frame in range(frames):
        started = time.process_time()
        for piece in pieces[frame * DELTAS_A_FRAME : (frame + 1) * DELTAS_A_FRAME]:
            answer.markdown.append(piece)
            desk.screen.request_render()
        desk.frame()
        found.append((time.process_time() - started) * 1000)
    answer.markdown.finish()
    desk.frame()
    return found, desk.terminal.bytes / len(text.encode())


async def live(deltas: int, pause_s: float) -> tuple[float, float]:
    """Return CPU seconds for these deltas, and bytes written per byte of text."""
    desk = Desk(timer=asyncio.get_running_loop())
    await asyncio.sleep(0.05)
    answer = desk.answer()
    text = tui_text.answer(deltas * DELTA_CHARS)
    desk.terminal.bytes = 0
    started = time.process_time()
    due = time.monotonic()
    for piece in tui_text.deltas(text, deltas):
        answer.markdown.append(piece)
        desk.screen.request_render()
        due += pause_s
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    answer.markdown.finish()
    desk.screen.request_render()
    await asyncio.sleep(0.05)
    spent = time.process_time() - started
    desk.screen.stop()
    return spent, desk.terminal.bytes / len(text.encode())


def _ms(value: float) -> str:
    return f"{value:.2f} ms"


def _s(value: float) -> str:
    return f"{value:.2f} s"
