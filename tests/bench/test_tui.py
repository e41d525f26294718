"""The parts of the terminal benchmark that could be wrong unnoticed."""

import os
import sys

from bench.tui_pty import on_terminal
from bench.tui_text import answer, deltas


def test_answer_has_the_requested_size_and_comes_complete() -> None:
    text = answer(20_000)
    assert len(text) == 20_000
    assert text == answer(20_000)
    assert all(sign in text for sign in ("```python", "| name |", "\n- ", "\n> ", "## "))
    pieces = list(deltas(text, 333))
    assert len(pieces) == 333
    assert "".join(pieces) == text


def test_program_runs_on_a_terminal_and_its_first_bytes_are_timed() -> None:
    code = "import os; print(os.get_terminal_size(), os.isatty(0)); print('mark'); print('end')"
    shown = on_terminal([sys.executable, "-c", code], b"mark", env=os.environ)
    assert shown.first_ms > 0
    assert b"columns=80, lines=24) True" in shown.output
    assert b"end" in shown.output


def test_program_without_the_mark_has_no_time() -> None:
    assert on_terminal([sys.executable, "-c", "pass"], b"mark", env=os.environ).first_ms == -1
