"""The examples of docs/tools.md and docs/tools/ do what the pages say."""

from pathlib import Path

import pytest

from tau.coding.tools.registry import TOOLS
from tests.coding.context import CallContext
from tests.coding.tools.page_examples import BadPage, Example, Stage, examples_of

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [DOCS / "tools.md", *sorted((DOCS / "tools").glob("*.md"))]
EXAMPLES = [example for page in PAGES for example in examples_of(page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_runs_as_documented(example: Example, ctx: CallContext) -> None:
    Stage(ctx).play(example)


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_has_examples(name: str) -> None:
    assert any(example.page == name for example in EXAMPLES)


def page_with(folder: Path, text: str) -> Path:
    path = folder / "read.md"
    path.write_text(text)
    return path


def test_wrong_example_fails(ctx: CallContext, tmp_path: Path) -> None:
    text = '# A\n\nGiven `a.txt`:\n\n```text\none\n```\n\nCall:\n\n```json\n{"path": "a.txt:raw"}\n```\n\n'
    (right,) = examples_of(page_with(tmp_path, f"{text}Result:\n\n```text\none\n```\n"))
    (wrong,) = examples_of(page_with(tmp_path, f"{text}Result:\n\n```text\ntwo\n```\n"))
    (no_error,) = examples_of(page_with(tmp_path, f"{text}Error:\n\n```text\none\n```\n"))

    Stage(ctx).play(right)
    for example in (wrong, no_error):
        with pytest.raises(AssertionError):
            Stage(ctx).play(example)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\nLook at this:\n\n```text\none\n```\n",
        "# A\n\nCall:\n\n```json\n{}\n```\n",
        "# A\n\nResult:\n\n```text\none\n```\n",
        "# A\n\nGiven `a.txt`:\n\n```text\none\n```\n",
    ],
    ids=["a block of another kind", "no result", "no call", "nothing done"],
)
def test_block_that_would_not_run_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadPage):
        examples_of(page_with(tmp_path, text))
