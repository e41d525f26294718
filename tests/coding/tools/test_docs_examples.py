"""The examples of docs/tools.md do what the page says."""

import re
from pathlib import Path

from tau.coding.tools.edit_hashline import HashlineEdit
from tau.coding.tools.read import Read
from tests.coding.context import CallContext, call_now, text_of

PAGE = Path(__file__).parents[3] / "docs" / "tools.md"


def blocks() -> list[str]:
    return re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_file_is_shown_and_edited_as_the_page_says(ctx: CallContext) -> None:
    listing, patch = blocks()
    header, *rows = listing.rstrip("\n").split("\n")
    (ctx.cwd / "src").mkdir()
    path = ctx.cwd / "src" / "app.py"
    path.write_text("".join(f"{row.partition(':')[2]}\n" for row in rows))

    shown = text_of(call_now(Read(), ctx, path="src/app.py")).split("\n")

    assert shown[0].partition("#")[0] == header.partition("#")[0] and shown[1:] == rows
    call_now(HashlineEdit(), ctx, input=patch.replace(header, shown[0]))
    assert path.read_text() == "import os\nimport sys\n\nprint(os.getcwd())\n"
