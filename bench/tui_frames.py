"""Measures frames with few and many blocks, and keys, idle and while text streams."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from statistics import median

import tui_text
from report import Row, milliseconds, times
from tui_screens import Desk

from tau.tui.widgets.markdown.component import preload

BLOCKS = (100, 10_000)
KEYS = 50
FRAMES = 300
DELTAS_A_SECOND = 200
DELTA_CHARS = 20


def measure(quick: bool) -> list[tuple[Row, float]]:
    frames = FRAMES // 5 if quick else FRAMES
    few, many = (Desk(blocks) for blocks in BLOCKS)
    for desk in (few, many):
        desk.clock.advance(1)
    spent: dict[int, list[float]] = {0: [], 1: []}
    for step in range(frames):  # alternately, so that noise affects both alike
        for which, desk in enumerate((few, many)):
            desk.status.set_text(f"step {step}")
            spent[which].append(_ms(desk.frame))

    def press() -> None:
        few.terminal.type("x")
        few.clock.advance()

    idle = [_ms(press) for _ in range(KEYS)]
    streaming = asyncio.run(_keys_while_streaming())
    short, long = median(spent[0]), median(spent[1])
    return [
        (Row("frame_few", f"a frame with {BLOCKS[0]} final blocks", None, _micro), short),
        (Row("frame_many", f"a frame with {BLOCKS[1]:,} final blocks", None, _micro), long),
        (Row("frame_ratio", "... over that with few", 1.3, times), long / short),
        (Row("key_idle", "a key to its bytes, idle, median", 1, _fine), median(idle)),
        (Row("key_idle_worst", f"... worst of {KEYS}", 10, _fine), max(idle)),
        (Row("key_busy", "a key to its bytes, while a message streams, median", 4, _fine), median(streaming)),
        (Row("key_busy_worst", f"... worst of {KEYS}", 10, _fine), max(streaming)),
    ]


async def _keys_while_streaming() -> list[float]:
    """Send keys through a pipe from another thread, as from a terminal, while text streams."""
    loop = asyncio.get_running_loop()
    preload()  # as an application does while idle
    desk = Desk(BLOCKS[0], timer=loop)
    answer = desk.answer()
    source, target = os.pipe()
    sent: list[float] = []
    found: list[float] = []
    waiting = threading.Event()

    def take() -> None:
        os.read(source, 1)
        desk.terminal.type("x")

        def written() -> None:
            found.append((time.perf_counter() - sent[-1]) * 1000)
            desk.terminal.on_write = None
            waiting.set()

        desk.terminal.on_write = written

    def type_keys() -> None:
        for number in range(KEYS):
            time.sleep(0.031 + number % 7 / 1000)
            waiting.clear()
            sent.append(time.perf_counter())
            os.write(target, b"x")
            waiting.wait(5)

    loop.add_reader(source, take)
    person = threading.Thread(target=type_keys)
    person.start()
    pieces = tui_text.deltas(tui_text.answer(400_000), 400_000 // DELTA_CHARS)
    while person.is_alive():
        answer.markdown.append(next(pieces))
        desk.screen.request_render()
        await asyncio.sleep(1 / DELTAS_A_SECOND)
    loop.remove_reader(source)
    os.close(source)
    os.close(target)
    desk.screen.stop()
    return found


def _ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _fine(value: float) -> str:
    return f"{value:.2f} ms"


def _micro(value: float) -> str:
    return f"{value * 1000:.0f} us" if value < 1 else milliseconds(value)
