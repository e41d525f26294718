"""Measures memory after fifty prompts, and after thousands of turns."""

from typing import Any

import tui_text
from interactive_desk import PROMPT_TOKENS, Desk, ask, call, desk, megabytes, words
from report import Row, milliseconds, times
from spawn import tree_kilobytes
from tui_pty import Terminal

PROMPTS = 50
PROMPT_CHARS = 2_000
LONG, SHORT = 2_000, 100
QUICK_LONG, QUICK_SHORT = 200, 50
TURN_CHARS = 240
TOKENS_A_TURN = 90
CALL_EVERY = 4
SCRIPTED = 50  # turns scripted at once: the server keeps all requests until the next script
MEMORY_LIMIT_MB, GROWTH_LIMIT = 80, 1.3


def measure(quick: bool) -> list[tuple[Row, float]]:
    with desk() as at, at.ready() as program:
        after_prompts, _ = _talk(at, program, range(PROMPTS), PROMPT_CHARS)
    short, long = (QUICK_SHORT, QUICK_LONG) if quick else (SHORT, LONG)
    with desk() as at, at.ready() as program:
        before, first_ms = _talk(at, program, range(short), TURN_CHARS)
        after, last_ms = _talk(at, program, range(short, long), TURN_CHARS)
    limit = None if quick else GROWTH_LIMIT
    return [
        (
            Row("prompts_pss", f"memory after {PROMPTS} prompts (PSS)", MEMORY_LIMIT_MB, megabytes),
            after_prompts,
        ),
        (Row("short_pss", f"memory after {short} turns (PSS)", None, megabytes), before),
        (Row("long_pss", f"memory after {long:,} turns (PSS)", None, megabytes), after),
        (Row("growth", "... over that", limit, times), after / before),
        (Row("first_turn", f"a turn, the last of {short}", None, milliseconds), first_ms),
        (Row("last_turn", f"a turn, the last of {long:,}", None, milliseconds), last_ms),
    ]


def _talk(at: Desk, program: Terminal, turns: range, chars: int) -> tuple[float, float]:
    """Return megabytes after these turns, and milliseconds of the last one."""
    (at.project / "notes.md").write_text(tui_text.answer(1_000))
    spent = 0.0
    for begin in range(turns.start, turns.stop, SCRIPTED):
        batch = range(begin, min(begin + SCRIPTED, turns.stop))
        at.script(*(answer for number in batch for answer in _answers(number, chars)))
        for number in batch:
            program.output.clear()
            spent = ask(program, f"question number {number:05}")
    program.read_for(2.0)
    return (tree_kilobytes(program.pid) or 0) * 1024 / 1e6, spent


def _answers(number: int, chars: int) -> list[dict[str, Any]]:
    """Yield different Markdown each time; every fourth turn reads a file first."""
    whole = tui_text.answer(20 * chars)
    begin = number * 97 % (len(whole) - chars)
    tokens = PROMPT_TOKENS + number * TOKENS_A_TURN
    said = words(whole[begin : begin + chars], 12, tokens=tokens)
    return [call("read", tokens, path="notes.md"), said] if number % CALL_EVERY == 0 else [said]
