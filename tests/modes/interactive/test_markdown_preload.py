"""What is loaded before the first answer."""

import subprocess
import sys

from tau.modes.interactive.transcript.preload import DELAY_S, RendererPreload
from tests.support.fake_timer import FakeTimer
from tests.support.limits import HANG_S

SCRIPT = """
import sys, threading
from tau.modes.interactive.transcript.preload import DELAY_S, RendererPreload
from tests.support.fake_timer import FakeTimer
timer = FakeTimer()
warming = RendererPreload(timer)
warming.soon()
assert "markdown_it" not in sys.modules
timer.advance(DELAY_S)
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join(60)
assert "markdown_it" in sys.modules and "pygments.lexers.python" in sys.modules
warming.soon()
assert timer.pending == 0
"""


def test_markdown_is_loaded_once_beside_the_loop() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=HANG_S)
    assert ran.returncode == 0, ran.stderr


def test_preload_is_deferred_when_the_run_ends_first() -> None:
    timer = FakeTimer()
    warming = RendererPreload(timer)
    warming.soon()
    warming.cancel()
    timer.advance(2 * DELAY_S)
    assert timer.pending == 0
    warming.soon()
    assert timer.pending == 1
