"""Summarizes large files in a separate process: the parser holds Python's lock and cannot be stopped.

Run with `python -m`, this module is that process.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.backends.syntax.summary import CodeSummary, SummaryOptions, summarize, summary_language
from tau.base.run import OUTSIDE, Limits, Runner, capture
from tau.base.sizes import KIB, MIB

IN_PROCESS_CHARS = 32 * KIB  # parsed within 10 ms
TIME_LIMIT_S = 1.0


class SummaryTask(Struct, frozen=True):
    path: str
    text: str
    options: SummaryOptions


async def summarize_in_worker(
    path: str, text: str, options: SummaryOptions, run: Runner
) -> CodeSummary | None:
    """Like `summarize`, without blocking the event loop. None also if it takes longer than a second."""
    if len(text) <= IN_PROCESS_CHARS:
        return await asyncio.to_thread(summarize, path, text, options)
    if summary_language(path, text, options) is None:
        return None
    # -P: a module in the working folder must not shadow ours.
    command = [sys.executable, "-P", "-m", "tau.backends.syntax.worker"]
    limits = Limits(timeout=TIME_LIMIT_S, grace=0.0)
    try:
        request = msgspec.json.encode(SummaryTask(path, text, options))
        async with await run.start(
            command, cwd=Path("/"), limits=limits, stdin=request, sandbox=OUTSIDE
        ) as process:
            done = await capture(process, max_bytes=16 * MIB)
        return msgspec.json.decode(done.output, type=CodeSummary | None) if done.exit.code == 0 else None
    except (OSError, UnicodeEncodeError, msgspec.MsgspecError):
        return None  # it is only a summary


def main() -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=SummaryTask)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stdout.buffer.write(msgspec.json.encode(summarize(request.path, request.text, request.options)))


if __name__ == "__main__":
    main()
