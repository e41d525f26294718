"""Notebooks as editable text and back, preserving every unedited byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.readers.notebook import from_text, parse_cells, to_text


def cell(kind: str, source: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": source.splitlines(keepends=True),
        **more,
    }
    if kind == "code":
        made = {"execution_count": None, "outputs": [], **made}
    return dict(sorted(made.items()))


def written(cells: list[dict[str, Any]], minor: int = 5, **layout: Any) -> bytes:
    """As Jupyter writes it."""
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": {"display_name": "Python 3", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    return (json.dumps(notebook, **({"indent": 1, "ensure_ascii": False} | layout)) + "\n").encode()


OUTPUT = {"name": "stdout", "output_type": "stream", "text": ["3.0\n"]}
CELLS = [
    cell("markdown", "# Title ü\n\nText", id="m0"),
    cell("code", "x = 1\nprint(x)", id="c1", execution_count=7, outputs=[OUTPUT]),
    cell("code", "", id="c2"),
    cell("raw", "raw\n", id="r3"),
]
PLAIN = written(CELLS)
TEXT = (
    "# %% [markdown] cell:0\n# Title ü\n\nText\n# %% [code] cell:1\nx = 1\nprint(x)\n"
    "# %% [code] cell:2\n\n# %% [raw] cell:3\nraw\n\n"
)


def cells_of(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(data)["cells"]
    return found


def test_cells_follow_their_markers() -> None:
    assert to_text(PLAIN) == TEXT


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
        {"ensure_ascii": True},
        {"sort_keys": True, "indent": 2},
    ],
)
def test_unedited_notebook_keeps_every_byte(layout: dict[str, Any]) -> None:
    for data in (written(CELLS, **layout), written([], **layout)):
        for form in (data, data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, data.rstrip()):
            assert from_text(to_text(form), form) == form


def test_edit_changes_only_the_lines_of_its_source() -> None:
    after = from_text(TEXT.replace("print(x)", "print(x + 1)\ny = 'é'"), PLAIN)
    gone = [line for line in PLAIN.splitlines() if line not in after.splitlines()]
    new = [line for line in after.splitlines() if line not in PLAIN.splitlines()]
    assert gone == [b'    "print(x)"']
    assert new == [b'    "print(x + 1)\\n",', "    \"y = 'é'\"".encode()]
    assert cells_of(after)[1] == {**CELLS[1], "source": ["x = 1\n", "print(x + 1)\n", "y = 'é'"]}


@pytest.mark.parametrize("layout", [{"indent": 4}, {"indent": "\t"}, {"ensure_ascii": True}, {"indent": 1}])
def test_edited_cell_keeps_the_layout_of_its_file(layout: dict[str, Any]) -> None:
    wanted = [*CELLS]
    wanted[2] = cell("code", "z = 'ß'\n1", id="c2")
    text = TEXT.replace("cell:2\n\n", "cell:2\nz = 'ß'\n1\n")
    assert from_text(text, written(CELLS, **layout)) == written(wanted, **layout)


def test_single_string_source_stays_a_string() -> None:
    old = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": "a\nb"}]
    after = from_text("# %% [code] cell:0\na\nc\n", written(old, minor=4))
    assert after == written([{**old[0], "source": "a\nc"}], minor=4)


def test_cells_are_removed_moved_and_added() -> None:
    text = (
        "# %% [raw] cell:3\nraw\n\n# %% [code]\nnew = 1\n# %% [code] cell:1\nx = 1\nprint(x)\n"
        "# %% [markdown] cell:99\nbeyond"
    )
    after = cells_of(from_text(text, PLAIN))
    assert [after[0], after[2]] == [CELLS[3], CELLS[1]]
    assert after[1]["source"] == ["new = 1"] and after[1]["outputs"] == [] and len(after[1]["id"]) == 8
    assert after[3]["cell_type"] == "markdown" and set(after[3]) == {"cell_type", "id", "metadata", "source"}
    assert after[1]["id"] != after[3]["id"]
    moved = from_text(text, PLAIN)
    assert moved == written(after)
    assert from_text(text, PLAIN) == moved


def test_duplicate_number_makes_a_copy_without_outputs() -> None:
    text = "# %% [code] cell:1\nx = 1\nprint(x)\n# %% [code] cell:1\nx = 2\n"
    first, second = cells_of(from_text(text, PLAIN))
    assert first == CELLS[1]
    assert second["outputs"] == [] and second["source"] == ["x = 2"] and second["id"] != "c1"


def test_old_formats_get_no_ids() -> None:
    data = written([cell("code", "a")], minor=4)
    assert "id" not in cells_of(from_text("# %% [code]\nb\n", data))[0]


def test_cell_can_change_its_type() -> None:
    after = cells_of(from_text(TEXT.replace("[code] cell:1", "[markdown] cell:1"), PLAIN))
    assert after[1] == {"cell_type": "markdown", "id": "c1", "metadata": {}, "source": CELLS[1]["source"]}
    after = cells_of(from_text(TEXT.replace("[markdown] cell:0", "[code] cell:0"), PLAIN))
    assert after[0]["outputs"] == [] and after[0]["execution_count"] is None
    with pytest.raises(ToolError, match="no cells of type sql"):
        from_text(TEXT.replace("[code] cell:1", "[sql] cell:1"), PLAIN)


def test_all_cells_can_be_removed_and_new_ones_added() -> None:
    assert from_text("", PLAIN) == written([])
    made = from_text("# %% [markdown]\n# Hi\n# %% [code]\n1 + 1\n", written([]))
    assert [cell["source"] for cell in cells_of(made)] == [["# Hi"], ["1 + 1"]]
    assert to_text(made) == "# %% [markdown] cell:0\n# Hi\n# %% [code] cell:1\n1 + 1\n"


def test_source_that_looks_like_a_marker_is_escaped() -> None:
    tricky = "a\n# %% [code] cell:0\n\\# %% [code] cell:1\n# %%\n# %% [x]"
    data = written([cell("code", tricky, id="a"), cell("code", "b", id="b")])
    assert len(parse_cells(to_text(data))) == 2
    assert from_text(to_text(data), data) == data
    assert parse_cells(to_text(data))[0].source == tricky


def test_blank_lines_between_markers_are_an_empty_cell() -> None:
    assert [each.source for each in parse_cells("# %% [code]\n# %% [code]\n\n# %% [code]")] == ["", "", ""]
    with pytest.raises(ToolError, match="begins with a cell"):
        parse_cells("x = 1\n# %% [code]\n")
    with pytest.raises(ToolError, match="begins with a cell"):
        from_text("print(1)", PLAIN)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Not a notebook"),
        (b"[]", "Not a notebook"),
        (b"{}", "no list of cells"),
        (b'{"cells": 3}', "no list of cells"),
        (b'{"cells": [3]}', "cell 0 is not an object"),
        (b'{"cells": [{}]}', "cell 0 has no type"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "source of cell 0 is not text"),
        (b'{"cells": [{"cell_type": "code", "source": [3]}]}', "source of cell 0 is not text"),
        (b'{"cells": [{"cell_type": "co de", "source": []}]}', "cell 0 has no type"),
        (b'{"worksheets": [], "nbformat": 3}', "old format 3"),
        (b'{"cells": [\n}', r"broken JSON: .*line 2, column 1"),
        (b'{"cells": []} x', "after the end"),
        (b'{"cells": [1 2]}', "broken JSON"),
        (b'{"cells": []', "broken JSON"),
        (b'{"cells" []}', "broken JSON"),
        (b"{cells: []}", "broken JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"x": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "half a character"),
    ],
)
def test_invalid_notebook_is_reported(data: bytes, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        to_text(data)


def test_cell_without_a_source_is_shown_but_cannot_be_filled() -> None:
    data = b'{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 4}'
    assert to_text(data) == "# %% [code] cell:0\n\n"
    assert from_text(to_text(data), data) == data
    with pytest.raises(ToolError, match="without a source"):
        from_text("# %% [code] cell:0\nx\n", data)


PIECES = ["a", "\n", "\r", "#", "# %% [code] cell:1", "\\", '"', "é", "\u2028", "\x0b", "# %% [raw]\n"]
SOURCES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=20
)


@given(
    st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), SOURCES), max_size=5),
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
)
def test_any_notebook_round_trips(
    cells: list[tuple[str, str]], indent: int | str | None, ascii_only: bool
) -> None:
    made = [cell(kind, source, id=f"id{number}") for number, (kind, source) in enumerate(cells)]
    data = written(made, indent=indent, ensure_ascii=ascii_only)
    assert from_text(to_text(data), data) == data


@given(st.lists(SOURCES, min_size=1, max_size=4), st.data())
def test_editing_one_cell_changes_only_that_cell(sources: list[str], data: st.DataObject) -> None:
    made = [cell("code", source, id=f"id{number}") for number, source in enumerate(sources)]
    which = data.draw(st.integers(0, len(sources) - 1))
    changed = [*made]
    changed[which] = cell("code", data.draw(SOURCES), id=f"id{which}")
    after = from_text(to_text(written(changed)), written(made))
    assert after == written(changed)
