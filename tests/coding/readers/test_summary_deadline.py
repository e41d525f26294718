"""Summaries of hostile and large files: they hold nothing up."""

import pytest

from tau.backends.syntax import worker
from tau.coding.tools.read import Read
from tests.coding.context import CallContext, call_now, text_of

FUNCTION = "def f(a):\n" + "    work(a)\n" * 9 + "\n\n"
ELSE_IFS = "function f(x) {\n  if (x) {\n  }" + " else if (x) {\n    y();\n  }" * 6000 + "\n}\n"


def test_file_with_six_thousand_else_ifs_does_not_stop_the_screen(ctx: CallContext) -> None:
    (ctx.cwd / "a.ts").write_text(ELSE_IFS)
    assert text_of(call_now(Read(), ctx, path="a.ts")).splitlines()[1] == "1:function f(x) {"


def test_summary_that_takes_too_long_is_plain_text(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    (ctx.cwd / "a.py").write_text(FUNCTION * 500)
    assert "lines elided" in text_of(call_now(Read(), ctx, path="a.py"))
    monkeypatch.setattr(worker, "SUMMARY_S", 0.001)
    text = text_of(call_now(Read(), ctx, path="a.py"))
    assert "lines elided" not in text and "continue with a.py:301-" in text
