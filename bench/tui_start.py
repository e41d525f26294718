"""Measures the first paint of a static frame and of a live editor in new processes, and idle wake-ups."""

import os
import sys
import time
from collections.abc import Mapping
from statistics import median

from report import FLOOR, Row, milliseconds, times
from tui_pty import Terminal, bare_ms, on_terminal

ROUNDS = 15
IDLE_SECONDS = 2.0
MARK = b"first paint"

STATIC = """
from tau.tui.render.screen import Screen
from tau.tui.style import StyleSpec, Theme
from tau.tui.terminal.deferred_loop import DeferredLoop
from tau.tui.terminal.process_terminal import ProcessTerminal
from tau.tui.widgets.text import Text

theme = Theme({"accent": StyleSpec(fg="#7fb4ff")})
screen = Screen(ProcessTerminal(), theme=theme, timer=DeferredLoop())
screen.root.add(Text(theme, "first paint", "accent"))
screen.start()
screen.render_now()
screen.stop()
"""
LIVE = """
from tau.base.late import late
from tau.tui.input.bindings import Keymap
from tau.tui.render.screen import Screen
from tau.tui.style import StyleSpec, Theme
from tau.tui.terminal.deferred_loop import DeferredLoop
from tau.tui.terminal.process_terminal import ProcessTerminal
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.text import Text
from tau.tui.widgets.transcript import Transcript

asyncio = late("asyncio")
loop = DeferredLoop()
theme = Theme({"accent": StyleSpec(fg="#7fb4ff")})
screen = Screen(ProcessTerminal(loop=loop), theme=theme, timer=loop)
editor = Editor(theme, Keymap())
screen.root.add(Transcript([Text(theme, "hello")]), editor, Text(theme, "first paint", "muted"))
screen.focus(editor)
screen.start()
screen.render_now()

async def main():
    loop.attach(asyncio.get_running_loop())
    await asyncio.Event().wait()

asyncio.run(main())
"""
COUNT = """
import sys
before = set(sys.modules)
{code}
own = [name for name in set(sys.modules) - before if name.split(".")[0] == "tau"]
print("modules", len(set(sys.modules) - before), len(own))
"""


def measure(quick: bool) -> list[tuple[Row, float]]:
    rounds = 4 if quick else ROUNDS
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    floor, static, live = [], [], []
    for _ in range(rounds + 1):  # alternately, so that noise affects all alike; the first round warms up
        floor.append(bare_ms(env))
        static.append(_first_ms(STATIC, env))
        live.append(_first_ms(LIVE, env))
    bare = median(floor[1:])
    return [
        (Row("bare_ms", f"`{FLOOR}`", None, milliseconds), bare),
        (Row("static_ms", "first paint of a static frame", None, milliseconds), median(static[1:])),
        (Row("static_ratio", f"... over `{FLOOR}`", 3, times), median(static[1:]) / bare),
        (Row("live_ms", "first paint of a live editor", None, milliseconds), median(live[1:])),
        (Row("live_ratio", f"... over `{FLOOR}`", 9, times), median(live[1:]) / bare),
        (Row("static_modules", "modules that a static frame imports", None, _count), _modules(STATIC, env)),
        (Row("live_modules", "modules that a live editor imports", None, _count), _modules(_PAINTS, env)),
        (
            Row("idle_wakes", f"times that an idle editor wakes up in {IDLE_SECONDS:.0f} s", 0, _count),
            _wakes(env),
        ),
    ]


_PAINTS = LIVE.partition("async def")[0] + "screen.stop()"


def _first_ms(code: str, env: Mapping[str, str]) -> float:
    shown = on_terminal([sys.executable, "-c", code], MARK, env=env, stop_at_mark=True)
    if shown.first_ms < 0:
        raise SystemExit(shown.output.decode(errors="replace"))
    return shown.first_ms


def _modules(code: str, env: Mapping[str, str]) -> float:
    shown = on_terminal([sys.executable, "-c", COUNT.format(code=code)], b"modules ", env=env)
    return float(shown.output.rpartition(b"modules ")[2].split()[0])


def _wakes(env: Mapping[str, str]) -> float:
    """Return how often an idle editor woke up; 0 where that is unknown."""
    with Terminal([sys.executable, "-c", LIVE], env) as program:
        program.read_until(MARK, seconds=20)
        program.read_for(1.5)
        before = _switches(program.pid)
        time.sleep(IDLE_SECONDS)
        return _switches(program.pid) - before


def _switches(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/status") as status:  # noqa: PTH123
            return sum(
                float(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches")
            )
    except OSError:
        return 0


def _count(value: float) -> str:
    return f"{value:.0f}"
