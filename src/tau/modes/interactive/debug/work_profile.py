"""What tau works on for half a minute: samples of the main thread's stack, as a flame graph."""

import sys
import threading
import time
from html import escape
from pathlib import Path
from types import FrameType

from msgspec import Struct, field

from tau.base.threads import StopSignal

SECONDS = 30.0
INTERVAL_S = 0.01
MAX_DEPTH = 80
WIDTH, ROW = 1200, 16
MIN_SHARE = 0.002  # thinner boxes are left out
IDLE = ("select", "poll", "epoll_wait")


class StackNode(Struct):
    """A function at one place of the stack: how often it was seen there."""

    name: str
    count: int = 0
    inner: dict[str, "StackNode"] = field(default_factory=dict)


def sample(stop: StopSignal, seconds: float = SECONDS) -> StackNode:
    """Blocks: call it in a thread."""
    root, main = StackNode("all"), threading.main_thread().ident
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stop.is_set:
        time.sleep(INTERVAL_S)
        frame = sys._current_frames().get(main or 0)  # noqa: SLF001 - the only way to see another thread
        names = _names(frame)
        if names and names[-1].partition(" ")[0] not in IDLE:
            _add(root, names)
    return root


def _names(frame: FrameType | None) -> list[str]:
    names: list[str] = []
    while frame is not None and len(names) < MAX_DEPTH:
        code = frame.f_code
        names.append(f"{code.co_name} {Path(code.co_filename).name}:{code.co_firstlineno}")
        frame = frame.f_back
    return names[::-1]


def _add(root: StackNode, names: list[str]) -> None:
    root.count += 1
    node = root
    for name in names:
        node = node.inner.setdefault(name, StackNode(name))
        node.count += 1


def flame_graph(root: StackNode) -> str:
    """An SVG: each box is as wide as its share of the samples."""
    boxes: list[str] = []
    depth = _draw(root, 0.0, 0, max(root.count, 1), boxes)
    height = (depth + 2) * ROW
    title = f"{root.count} samples of work in {SECONDS:g} s, one each {INTERVAL_S * 1000:g} ms"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-size="11"'
    text = f'<text x="4" y="12">{escape(title)}</text>'
    return "\n".join((f'{head} font-family="monospace">', text, *boxes, "</svg>\n"))


def _draw(node: StackNode, left: float, depth: int, total: int, boxes: list[str]) -> int:
    deepest = depth
    for inner in sorted(node.inner.values(), key=lambda each: each.name):
        share = inner.count / total
        if share >= MIN_SHARE:
            x, width, y = left * WIDTH, share * WIDTH, (depth + 1) * ROW
            name = escape(inner.name)
            hue = hash(inner.name) % 40 + 10
            boxes.append(
                f'<g><title>{name} ({share:.1%})</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
                f'height="{ROW - 1}" fill="hsl({hue},80%,65%)"/>'
                f'<text x="{x + 2:.1f}" y="{y + 11}">{name[: int(width / 7)]}</text></g>'
            )
            deepest = max(deepest, _draw(inner, left, depth + 1, total, boxes))
        left += share
    return deepest
