"""Converts pages in a separate process: parsers in C may hang, crash or need too much memory.

Run with `python -m`, this module is that process.
"""

import sys
from contextlib import suppress
from itertools import islice
from re import finditer
from typing import Literal

from msgspec import MsgspecError, Struct, json

from tau.backends.web.addresses import WebError
from tau.backends.web.plain_text import HtmlResult, plain_text
from tau.base.late import late
from tau.base.run import Runner
from tau.base.sizes import MIB, format_bytes
from tau.base.warm_worker import WarmWorker, WorkerFailed, serve

feeds = late("tau.backends.web.feeds")
html = late("tau.backends.web.html")
resource = late("resource")

SECONDS = 8.0
IDLE_S = 60
MAX_INPUT_CHARS = 4 * MIB
MAX_TAGS = 120_000  # of a page: the tree needs 1 KiB of memory for each
MAX_CHILD_BYTES = 768 * MIB
_NOT_INSTALLED = "Reading HTML needs the extra: pip install 'tau-agent[web]'."


class PageTask(Struct, frozen=True):
    kind: Literal["html", "feed", "text"]
    source: str
    url: str = ""
    fragment: str = ""


class PageReply(Struct, frozen=True):
    """`result` is None if the source is not a feed."""

    result: HtmlResult | None = None
    problem: str = ""


class PageWorker(WarmWorker):
    def __init__(self, run: Runner) -> None:
        super().__init__("tau.backends.web.worker", run)

    async def convert_page(self, source: str, url: str, fragment: str) -> HtmlResult:
        """The page as Markdown, or as text if that fails."""
        part = source[: _end(source)]
        notes = []
        if len(part) < len(source):
            notes = [f"only its first {format_bytes(len(part))} were converted"]
        try:
            result = await self._compute(PageTask("html", part, url, fragment))
            assert result is not None
        except WebError as error:
            notes = [str(error), *notes]
            result = await self._compute(PageTask("text", part)) or HtmlResult(text="")
        result.notes.extend(notes)
        return result

    async def convert_feed(self, source: str) -> str | None:
        """None if it is not a feed."""
        found = await self._compute(PageTask("feed", source[:MAX_INPUT_CHARS]))
        return None if found is None else found.text

    async def _compute(self, task: PageTask) -> HtmlResult | None:
        try:
            data = await self.ask(json.encode(task), SECONDS)
            reply = json.decode(data, type=PageReply)
        except (WorkerFailed, MsgspecError, UnicodeEncodeError) as error:
            raise WebError(f"The conversion failed: {error}.") from error
        if reply.problem:
            raise WebError(reply.problem)
        return reply.result


def _end(source: str) -> int:
    """Where a page is cut: it may be long, or have very many tags."""
    tags = islice(finditer("<", source[:MAX_INPUT_CHARS]), MAX_TAGS, None)
    last = next(tags, None)
    return MAX_INPUT_CHARS if last is None else last.start()


def _answer(request: bytes) -> bytes:
    task = json.decode(request, type=PageTask)
    try:
        if task.kind == "html":
            reply = PageReply(html.convert_html(task.source, task.url, task.fragment))
        elif task.kind == "feed":
            reply = PageReply(HtmlResult(text=feeds.convert_feed(task.source)))
        else:
            reply = PageReply(HtmlResult(text=plain_text(task.source)))
    except ImportError:
        reply = PageReply(problem=_NOT_INSTALLED)
    except ValueError:
        reply = PageReply()
    return json.encode(reply)


def main() -> None:
    with suppress(ImportError, OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_CHILD_BYTES, MAX_CHILD_BYTES))
    serve(_answer, sys.stdin.buffer, sys.stdout.buffer, IDLE_S)


if __name__ == "__main__":
    main()
