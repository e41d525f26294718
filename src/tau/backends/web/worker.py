"""Converts pages in a separate process: parsers in C may hang, crash or need too much memory.

Run with `python -m`, this module is that process.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError, json

from tau.backends.web.addresses import WebError
from tau.backends.web.plain_text import HtmlResult, plain_text
from tau.base.late import late
from tau.base.run import OUTSIDE, Limits, Runner, capture
from tau.base.sizes import MIB

feeds = late("tau.backends.web.feeds")
html = late("tau.backends.web.html")
resource = late("resource")

SECONDS = 8.0
MAX_INPUT_BYTES = 8 * MIB
MAX_OUTPUT_BYTES = 32 * MIB
MAX_CHILD_BYTES = 1024 * MIB
MISSING, NOT_A_FEED = 3, 4  # exit codes
_NOT_INSTALLED = "Reading HTML needs the extra: pip install 'tau-agent[web]'."


async def convert_page(source: str, url: str, fragment: str, run: Runner) -> HtmlResult:
    """The page as Markdown, or as text if that fails."""
    try:
        output = await _in_worker(run, "html", source, url, fragment)
        return json.decode(output or b"", type=HtmlResult)
    except (WebError, DecodeError) as error:
        text = await _in_worker(run, "text", source)
        return HtmlResult(text=(text or b"").decode("utf-8", "replace"), notes=[str(error)])


async def convert_feed(source: str, run: Runner) -> str | None:
    """None if it is not a feed."""
    output = await _in_worker(run, "feed", source)
    return None if output is None else output.decode("utf-8", "replace")


async def _in_worker(run: Runner, kind: str, source: str, *words: str) -> bytes | None:
    # -P: a module in the working folder must not shadow ours.
    command = [sys.executable, "-P", "-m", "tau.backends.web.worker", kind, *words]
    data = source.encode("utf-8", "replace")[:MAX_INPUT_BYTES]
    try:
        async with await run.start(
            command, cwd=Path("/"), limits=Limits(timeout=SECONDS), stdin=data, sandbox=OUTSIDE
        ) as process:
            done = await capture(process, max_bytes=MAX_OUTPUT_BYTES)
    except OSError as error:
        raise WebError(f"The process that converts pages cannot be started ({error.strerror}).") from error
    if done.exit.code == MISSING:
        raise WebError(_NOT_INSTALLED)
    if done.exit.code == NOT_A_FEED:
        return None
    if done.exit.timed_out:
        raise WebError(f"The conversion was stopped after {SECONDS:g} s; the page is too complex.")
    if done.exit.code != 0:
        raise WebError("The conversion failed: the page is damaged, or needs too much memory.")
    return done.output


def main() -> int:
    """Read the source from standard input; write the result to standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with suppress(ImportError, OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_CHILD_BYTES, MAX_CHILD_BYTES))
    kind, *words = sys.argv[1:]
    source = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        if kind == "html":
            output = json.encode(html.convert_html(source, *words))
        elif kind == "feed":
            output = feeds.convert_feed(source).encode()
        else:
            output = plain_text(source).encode("utf-8", "replace")
    except ImportError:
        return MISSING
    except ValueError:
        return NOT_A_FEED
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
