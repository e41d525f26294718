"""What is loaded before the first answer."""

import subprocess
import sys

from tau.modes.interactive.transcript.markdown_preload import DELAY_S, MarkdownPreload
from tau.tui.timer import FakeTimer

SCRIPT = """
import sys, threading
from tau.modes.interactive.transcript.markdown_preload import DELAY_S, MarkdownPreload
from tau.tui.timer import FakeTimer
timer = FakeTimer()
warming = MarkdownPreload(timer)
warming.soon()
assert "markdown_it" not in sys.modules
timer.advance(DELAY_S)
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join(20)
assert "markdown_it" in sys.modules and "pygments.lexers.python" in sys.modules
warming.soon()
assert timer.pending == 0
"""


def test_markdown_is_loaded_once_beside_the_loop() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_it_is_put_off_when_the_run_is_over_before() -> None:
    timer = FakeTimer()
    warming = MarkdownPreload(timer)
    warming.soon()
    warming.cancel()
    timer.advance(2 * DELAY_S)
    assert timer.pending == 0
    warming.soon()
    assert timer.pending == 1
