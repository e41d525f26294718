"""Convert documents off the event loop: PDFs in a separate process, others on a thread.

pdfium is written in C++: a broken file may hang or crash its process, and two threads must not
use it at once. Run with `python -m`, this module is that process.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from tau.base.late import late
from tau.base.run import OUTSIDE, Limits, Runner, capture
from tau.base.sizes import MIB
from tau.coding.readers.documents import convert, kind_of
from tau.coding.readers.documents.limits import MAX_TEXT_CHARS, SECONDS, DocumentError

resource = late("resource")

MAX_CHILD_BYTES = 2048 * MIB
REFUSED = 3  # exit code: the output is the reason
GRACE_S = 2.0  # the child's own deadline should expire first


async def convert_in_worker(name: str, data: bytes, run: Runner, *, seconds: float = SECONDS) -> str:
    """Like `convert`, without blocking the event loop. Raises DocumentError."""
    if kind_of(data) != "pdf":
        return await asyncio.to_thread(convert, name, data, seconds=seconds)
    # -P: a module in the working folder must not shadow ours.
    command = [sys.executable, "-P", "-m", "tau.coding.readers.documents.worker", name, str(seconds)]
    limits = Limits(timeout=seconds + GRACE_S)
    try:
        async with await run.start(
            command, cwd=Path("/"), limits=limits, stdin=data, sandbox=OUTSIDE
        ) as process:
            done = await capture(process, max_bytes=4 * MAX_TEXT_CHARS + MIB)
    except OSError as error:
        raise DocumentError(f"the process that converts it cannot be started ({error.strerror}).") from error
    text = done.output.decode("utf-8", "replace")
    if done.exit.timed_out:
        raise DocumentError(f"the conversion was stopped after {seconds:g} s; the document is too complex.")
    if done.exit.code == REFUSED:
        raise DocumentError(text)
    if done.exit.code != 0:
        raise DocumentError("the conversion failed: the file is damaged, or needs too much memory.")
    return text


def main() -> int:
    """Read the document from standard input; write the Markdown, or the reason for failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # pdfium prints messages; keep them out of standard output
    with suppress(ImportError, OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_CHILD_BYTES, MAX_CHILD_BYTES))
    code = 0
    try:
        text = convert(sys.argv[1], sys.stdin.buffer.read(), seconds=float(sys.argv[2]))
    except DocumentError as error:
        text, code = str(error), REFUSED
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
