"""edit in the mode hashline: from what read shows to what stands in the files."""

import asyncio
import json
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.base.errors import ToolError
from tau.coding.tools.edit_hashline import HashlineEdit, HashlineParams
from tau.coding.tools.read import Read
from tests.coding.context import CallContext, call, call_context, call_now, text_of


def header(ctx: CallContext, name: str) -> str:
    return text_of(call_now(Read(), ctx, path=name)).split("\n")[0]


def test_lines_are_named_by_number_and_the_answer_has_a_new_tag(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\ntwo\nthree\n")

    first = text_of(call_now(HashlineEdit(), ctx, input=f"{header(ctx, 'a.txt')}\nreplace 2..2:\n+2\n"))
    second = call_now(HashlineEdit(), ctx, input=f"{first.splitlines()[0]}\ndelete 1\n")

    assert path.read_text() == "2\nthree\n"
    assert second.details.op == "update" and "-one" in second.details.diff
    assert HashlineEdit().effects(HashlineParams(first), ctx.cwd) == Effects()


def test_the_effects_name_the_files(ctx: CallContext) -> None:
    params = HashlineParams("¶a.txt#0A3B\ndelete 1\n¶b.txt#0A3B\ndelete 1\n")
    paths = (ctx.cwd / "a.txt", ctx.cwd / "b.txt")
    assert HashlineEdit().effects(params, ctx.cwd) == Effects(reads=paths, writes=paths)


def test_several_files_change_together_or_not_at_all(ctx: CallContext) -> None:
    for name in ("a.txt", "b.txt"):
        (ctx.cwd / name).write_text("one\ntwo\n")
    heads = [header(ctx, name) for name in ("a.txt", "b.txt")]
    with pytest.raises(ToolError, match="Line 9 does not exist"):
        call_now(HashlineEdit(), ctx, input=f"{heads[0]}\ndelete 1\n{heads[1]}\ndelete 9\n")
    assert (ctx.cwd / "a.txt").read_text() == "one\ntwo\n"

    output = call_now(HashlineEdit(), ctx, input=f"{heads[0]}\ndelete 1\n{heads[1]}\ndelete 2\n")

    assert [(ctx.cwd / name).read_text() for name in ("a.txt", "b.txt")] == ["two\n", "one\n"]
    assert len(output.details.per_file_results) == 2


def test_somebody_elses_change_is_kept_and_told(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1, 21)))
    head = header(ctx, "a.txt")
    path.write_text("new first line\n" + path.read_text())

    output = text_of(call_now(HashlineEdit(), ctx, input=f"{head}\nreplace 10..10:\n+TEN\n"))

    assert path.read_text().splitlines()[10] == "TEN" and path.read_text().startswith("new first line\n")
    assert "Warnings:" in output


def test_a_place_that_has_changed_is_refused_with_what_stands_there(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    head = header(ctx, "a.txt")
    path.write_text("one\nSOMETHING ELSE\nthree\n")

    with pytest.raises(ToolError, match="SOMETHING ELSE"):
        call_now(HashlineEdit(), ctx, input=f"{head}\nreplace 2..2:\n+2\n")
    assert path.read_text() == "one\nSOMETHING ELSE\nthree\n"


def test_a_whole_function_can_be_named_by_its_first_line(ctx: CallContext) -> None:
    path = ctx.cwd / "a.py"
    path.write_text("def f():\n    a = 1\n    return a\n\n\nx = f()\n")

    output = text_of(
        call_now(
            HashlineEdit(), ctx, input=f"{header(ctx, 'a.py')}\nreplace block 1:\n+def f():\n+    return 2\n"
        )
    )

    assert path.read_text() == "def f():\n    return 2\n\n\nx = f()\n"
    assert "1-3" in output


def test_a_cell_of_a_notebook_is_edited_as_text(ctx: CallContext) -> None:
    cells = [
        {
            "cell_type": "code",
            "execution_count": 1,
            "id": "a",
            "metadata": {},
            "outputs": [],
            "source": ["x = 1\n", "x"],
        },
        {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["# Title"]},
    ]
    path = ctx.cwd / "n.ipynb"
    path.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
    )
    shown = text_of(call_now(Read(), ctx, path="n.ipynb")).split("\n")
    number = next(row.partition(":")[0] for row in shown if row.endswith(":x = 1"))

    call_now(HashlineEdit(), ctx, input=f"{shown[0]}\nreplace {number}..{number}:\n+x = 2\n")

    changed = json.loads(path.read_text())
    assert changed["cells"][0]["source"] == ["x = 2\n", "x"]
    assert changed["cells"][1] == cells[1]


def test_edits_at_the_same_moment_land_or_one_is_told(tmp_path: Path) -> None:
    async def race(ctx: CallContext) -> list[object]:
        tag = (await call(Read(), ctx, path="a.txt")).content[0].text.split("\n")[0]  # type: ignore[union-attr]
        tool = HashlineEdit()
        edits = [f"{tag}\nreplace 2..2:\n+first\n", f"{tag}\nreplace 9..9:\n+second\n"]
        return await asyncio.gather(*(call(tool, ctx, input=each) for each in edits), return_exceptions=True)

    for _ in range(50):
        path = tmp_path / "a.txt"
        path.write_text("".join(f"line {number}\n" for number in range(1, 11)))
        with call_context(tmp_path) as ctx:
            outcomes = asyncio.run(race(ctx))
        lines = path.read_text().splitlines()
        for place, word, outcome in ((1, "first", outcomes[0]), (8, "second", outcomes[1])):
            assert lines[place] == word or isinstance(outcome, ToolError)
        assert any(not isinstance(outcome, Exception) for outcome in outcomes)
