"""Summaries of large files: off the event loop, within a deadline, and the same as in process."""

import asyncio

import pytest

from tau.backends.syntax import worker
from tau.backends.syntax.summary import CodeSummary, SummaryOptions, summarize
from tau.base.run import LocalRunner
from tests.support.limits import HANG_S

FUNCTION = "def f(a):\n" + "    work(a)\n" * 9 + "\n\n"
ELSE_IFS = "function f(x) {\n  if (x) {\n  }" + " else if (x) {\n    y();\n  }" * 3000 + "\n}\n"


def summarized(path: str, text: str) -> CodeSummary | None:
    async def main() -> CodeSummary | None:
        runner = LocalRunner()
        try:
            return await worker.summarize_in_worker(path, text, SummaryOptions(), runner)
        finally:
            runner.close()

    return asyncio.run(main())


@pytest.mark.parametrize("count", [20, 1500])
def test_large_file_gets_the_same_summary_as_in_process(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SUMMARY_S", HANG_S)  # a busy machine may need more than the limit
    text = FUNCTION * count
    found = summarized("a.py", text)
    assert found is not None and found == summarize("a.py", text)


@pytest.mark.parametrize("name", ["a.ts", "a.js", "a.c", "a.java"])
def test_thousands_of_else_ifs_take_linear_time(name: str) -> None:
    """They took minutes: the parser finds a node's parent by walking down from the root."""
    text = ELSE_IFS.replace("function", "void") if name in ("a.c", "a.java") else ELSE_IFS
    text = f"class A {{\n{text}}}\n" if name == "a.java" else text

    async def main() -> None:
        summarize(name, text)  # conftest.py fails a test that holds the loop

    summarize(name, "x\n" * 200)  # imports
    asyncio.run(main())
