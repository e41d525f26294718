"""Parses large files in a separate process: the parser holds Python's lock and cannot be stopped.

Run with `python -m`, this module is that process. Requests and replies are JSON.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from tau.backends.syntax.patterns import PatternMatch, PatternRewrite, RewriteResult, rewrite, search
from tau.backends.syntax.summary import CodeSummary, SummaryOptions, summarize, summary_language
from tau.backends.syntax.trees import is_broken, parse
from tau.base.errors import ToolError
from tau.base.run import Runner
from tau.base.sizes import KIB
from tau.base.warm_worker import WarmWorker, WorkerFailed, serve

AT_ONCE_CHARS = 32 * KIB  # parsed within 10 ms
IN_THREAD_CHARS = 128 * KIB  # holds the lock for 40 ms at most
SUMMARY_S = 1.0
SECONDS = 15.0  # for one file
T = TypeVar("T")


class SummaryTask(Struct, frozen=True, tag="summary"):
    path: str
    text: str
    options: SummaryOptions

    def run(self) -> CodeSummary | None:
        return summarize(self.path, self.text, self.options)


class SearchTask(Struct, frozen=True, tag="search"):
    pattern: str
    text: str
    language: str

    def run(self) -> list[PatternMatch]:
        return search(self.pattern, self.text, self.language)


class FileRewrite(Struct, frozen=True):
    """`breaks`: the text had no syntax error before."""

    result: RewriteResult
    breaks: bool


class RewriteTask(Struct, frozen=True, tag="rewrite"):
    ops: Sequence[PatternRewrite]
    text: str
    language: str

    def run(self) -> FileRewrite:
        result = rewrite(self.ops, self.text, self.language)
        breaks = result.text != self.text and self._fails(result.text) and not self._fails(self.text)
        return FileRewrite(result, breaks)

    def _fails(self, text: str) -> bool:
        root = parse(text, self.language)
        return root is None or is_broken(root)


class WorkerReply(Struct, frozen=True):
    """`error` is a ToolError's text; without one there is a result."""

    result: msgspec.Raw = msgspec.Raw()
    error: str = ""


class SyntaxWorker:
    """Use as `async with`. The first large text starts the process, leaving ends it."""

    def __init__(self, run: Runner) -> None:
        self._worker = WarmWorker("tau.backends.syntax.worker", run)

    async def __aenter__(self) -> "SyntaxWorker":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._worker.close()

    async def search(self, pattern: str, text: str, language: str) -> list[PatternMatch]:
        """The matches, without blocking the event loop. Raises ToolError."""
        task = SearchTask(pattern, text, language)
        return await self._compute(task, task.run, list[PatternMatch])

    async def rewrite(self, ops: Sequence[PatternRewrite], text: str, language: str) -> FileRewrite:
        """The new text, without blocking the event loop. Raises ToolError."""
        task = RewriteTask(ops, text, language)
        return await self._compute(task, task.run, FileRewrite)

    async def _compute(self, task: SearchTask | RewriteTask, work: Callable[[], T], kind: type[T]) -> T:
        if len(task.text) <= AT_ONCE_CHARS:
            return work()
        if len(task.text) <= IN_THREAD_CHARS:
            return await asyncio.to_thread(work)
        try:
            return await self.ask(task, kind, SECONDS)
        except WorkerFailed as error:
            raise ToolError(f"A file of {len(task.text):,} characters cannot be parsed: {error}.") from None

    async def ask(self, task: SummaryTask | SearchTask | RewriteTask, kind: type[T], seconds: float) -> T:
        """The result of a task. Raises ToolError and WorkerFailed."""
        try:
            data = await self._worker.ask(msgspec.json.encode(task), seconds)
            reply = msgspec.json.decode(data, type=WorkerReply)
            if reply.error:
                raise ToolError(reply.error)
            return msgspec.json.decode(reply.result, type=kind)
        except (UnicodeEncodeError, msgspec.MsgspecError) as error:
            raise WorkerFailed("the parser failed") from error


async def summarize_in_worker(
    path: str, text: str, options: SummaryOptions, run: Runner
) -> CodeSummary | None:
    """Like `summarize`, without blocking the event loop. None also if it takes longer than a second."""
    if len(text) <= AT_ONCE_CHARS:
        return await asyncio.to_thread(summarize, path, text, options)
    if summary_language(path, text, options) is None:
        return None
    try:
        async with SyntaxWorker(run) as worker:
            return await worker.ask(SummaryTask(path, text, options), CodeSummary | None, SUMMARY_S)  # type: ignore[arg-type]
    except (ToolError, WorkerFailed):
        return None  # it is only a summary


def main() -> None:
    """Serve requests until the input ends."""

    def answer(request: bytes) -> bytes:
        try:
            task = msgspec.json.decode(request, type=SummaryTask | SearchTask | RewriteTask)
            reply = WorkerReply(msgspec.Raw(msgspec.json.encode(task.run())))
        except ToolError as error:
            reply = WorkerReply(msgspec.Raw(b"null"), str(error))
        return msgspec.json.encode(reply)

    serve(answer, sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
