"""edit in hashline mode: from the output of read to the content of the files."""

import asyncio
import json
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.base.errors import ToolError
from tau.coding.tools.edit import Edit
from tau.coding.tools.edit_hashline import HashlineEdit, HashlineParams
from tau.coding.tools.read import Read
from tau.coding.tools.search import Search
from tau.coding.tools.write import Write
from tests.coding.context import CallContext, call, call_context, call_now, text_of


def header(ctx: CallContext, name: str) -> str:
    return text_of(call_now(Read(), ctx, path=name)).split("\n")[0]


def test_lines_are_addressed_by_number_and_the_answer_has_a_new_tag(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\ntwo\nthree\n")

    first = text_of(call_now(HashlineEdit(), ctx, input=f"{header(ctx, 'a.txt')}\nreplace 2..2:\n+2\n"))
    second = call_now(HashlineEdit(), ctx, input=f"{first.splitlines()[0]}\ndelete 1\n")

    assert path.read_text() == "2\nthree\n"
    assert second.details.op == "update" and "-one" in second.details.diff
    assert HashlineEdit().effects(HashlineParams(first), ctx.cwd) == Effects()


@pytest.mark.parametrize(
    "name",
    ["trail ", "¶x", "Update File: x", " lead", "a\nb.txt", "\t.", "a\x1b[0m", "b\udcffd", '"q" ', "n\xa0"],
)
def test_edit_refused_the_header_that_read_and_search_show(ctx: CallContext, name: str) -> None:
    path = ctx.cwd / name
    path.write_text("one\ntwo\n")
    head = header(ctx, name)
    assert text_of(call_now(Search(), ctx, pattern="one", paths=".")).split("\n")[0] == head
    done = text_of(call_now(HashlineEdit(), ctx, input=f"{head}\nreplace 2..2:\n+TWO"))
    assert path.read_text() == "one\nTWO\n"
    call_now(HashlineEdit(), ctx, input=f"{done.splitlines()[0]}\ndelete 1")
    assert path.read_text() == "TWO\n"
    assert [entry.name for entry in ctx.cwd.iterdir()] == [name]


def test_effects_name_the_files(ctx: CallContext) -> None:
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


def test_concurrent_change_is_kept_and_reported(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1, 21)))
    head = header(ctx, "a.txt")
    path.write_text("new first line\n" + path.read_text())

    output = text_of(call_now(HashlineEdit(), ctx, input=f"{head}\nreplace 10..10:\n+TEN\n"))

    assert path.read_text().splitlines()[10] == "TEN" and path.read_text().startswith("new first line\n")
    assert "Warnings:" in output


def test_stale_location_is_refused_with_its_current_content(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    head = header(ctx, "a.txt")
    path.write_text("one\nSOMETHING ELSE\nthree\n")

    with pytest.raises(ToolError, match="SOMETHING ELSE"):
        call_now(HashlineEdit(), ctx, input=f"{head}\nreplace 2..2:\n+2\n")
    assert path.read_text() == "one\nSOMETHING ELSE\nthree\n"


def test_function_can_be_addressed_by_its_first_line(ctx: CallContext) -> None:
    path = ctx.cwd / "a.py"
    path.write_text("def f():\n    a = 1\n    return a\n\n\nx = f()\n")

    output = text_of(
        call_now(
            HashlineEdit(), ctx, input=f"{header(ctx, 'a.py')}\nreplace block 1:\n+def f():\n+    return 2\n"
        )
    )

    assert path.read_text() == "def f():\n    return 2\n\n\nx = f()\n"
    assert "1-3" in output


def test_notebook_cell_is_edited_as_text(ctx: CallContext) -> None:
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


def test_simultaneous_edits_succeed_or_one_reports_a_conflict(tmp_path: Path) -> None:
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


def test_untouched_file_was_refused_as_changed_after_thirty_other_files_were_shown(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\ntwo\n")
    head = header(ctx, "a.txt")
    for number in range(40):
        (ctx.cwd / f"{number}.txt").write_text(f"{number}\n")
        header(ctx, f"{number}.txt")

    call_now(HashlineEdit(), ctx, input=f"{head}\nreplace 2..2:\n+TWO\n")

    assert path.read_text() == "one\nTWO\n"


@pytest.mark.parametrize("count", [9, 40, 200])
def test_ninth_edit_under_the_tag_of_one_read_was_refused(ctx: CallContext, count: int) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("".join(f"{number}\n" for number in range(1, count + 1)))
    head = header(ctx, "a.txt")

    for number in range(1, count + 1):
        call_now(HashlineEdit(), ctx, input=f"{head}\nreplace {number}..{number}:\n+new\n+{number}\n")

    assert path.read_text() == "".join(f"new\n{number}\n" for number in range(1, count + 1))


def test_some_of_forty_parallel_edits_under_one_tag_were_refused(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("same\n" * 40)
    head = header(ctx, "a.txt")

    async def main() -> None:
        await asyncio.gather(
            *(
                call(HashlineEdit(), ctx, input=f"{head}\nreplace {number}..{number}:\n+{number}\n")
                for number in range(1, 41)
            )
        )

    asyncio.run(main())
    assert path.read_text() == "".join(f"{number}\n" for number in range(1, 41))


@pytest.mark.parametrize("name", ["¶odd.txt", " blank.txt", "Update File: a.txt", "**b.txt"])
def test_file_whose_name_begins_like_a_header_could_not_be_edited(ctx: CallContext, name: str) -> None:
    path = ctx.cwd / name
    path.write_text("one\ntwo\n")
    (ctx.cwd / "a.txt").write_text("one\ntwo\n")

    call_now(HashlineEdit(), ctx, input=f"{header(ctx, name)}\ndelete 1\n")

    assert path.read_text() == "two\n"
    assert (ctx.cwd / "a.txt").read_text() == "one\ntwo\n"


def test_file_that_is_not_utf_8_had_no_tag(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_bytes(b"one\ncaf\xe9\nthree\n")
    output = call_now(HashlineEdit(), ctx, input=f"{header(ctx, 'a.txt')}\nreplace 3..3:\n+THREE\n")
    assert path.read_bytes() == b"one\ncaf\xe9\nTHREE\n"
    assert "2:caf\ufffd" in text_of(output) and "caf\ufffd" in output.details.diff


@pytest.mark.parametrize("name", ["local://plan.md", "local://plans/to%20do.md"])
def test_tag_that_read_shows_for_a_note_was_refused(ctx: CallContext, name: str) -> None:
    call_now(Write(), ctx, path=name, content="one\ntwo\n")
    tag = header(ctx, name)
    patch = f"{tag}\nreplace 2..2:\n+2\n"
    assert HashlineEdit().effects(HashlineParams(patch), ctx.cwd) == Effects()

    output = call_now(HashlineEdit(), ctx, input=patch)

    assert text_of(output).startswith(f"¶{name}#") and str(ctx.cwd) not in text_of(output)
    assert "1:one\n2:2" in text_of(call_now(Read(), ctx, path=name))
    call_now(Edit(), ctx, path=name, old_text="one", new_text="1")
    assert "1:1\n2:2" in text_of(call_now(Read(), ctx, path=name))


def test_documentation_cannot_be_edited(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="tau://tools/read can be read, not edited"):
        call_now(HashlineEdit(), ctx, input="¶tau://tools/read#0000\nreplace 1..1:\n+x\n")
