"""`tau://`: all documentation pages, including subfolders, can be listed, read and searched."""

import asyncio
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tau.base.errors import ToolError
from tau.coding.tools.read import Read
from tau.coding.tools.search import Search
from tests.coding.context import CallContext, call_now, text_of

ROOT = Path(__file__).parents[3]
PAGES = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))


def test_list_has_every_page(ctx: CallContext) -> None:
    listing = asyncio.run(ctx.urls.resolve("tau://", ctx)).data.decode()
    assert listing.splitlines() == [f"tau://{page}" for page in PAGES]
    assert "tools/read.md" in PAGES


@pytest.mark.parametrize("address", ["tau://tools/read.md", "tau://tools/read", "tau:///tools/./read.md"])
def test_page_in_a_subfolder_is_readable(ctx: CallContext, address: str) -> None:
    page = asyncio.run(ctx.urls.resolve(address, ctx))
    assert (page.url, page.data) == ("tau://tools/read.md", (ROOT / "docs/tools/read.md").read_bytes())
    assert text_of(call_now(Read(), ctx, path=f"{address}:1-1")).startswith("1:# read\n")


def test_page_and_folder_may_share_a_name(ctx: CallContext) -> None:
    assert asyncio.run(ctx.urls.resolve("tau://tools", ctx)).url == "tau://tools.md"


def test_all_pages_are_searched_at_once(ctx: CallContext) -> None:
    found = text_of(call_now(Search(), ctx, pattern="^# (read|Tools)$", paths="tau://"))
    assert "# tau://tools.md\n" in found and "# tau://tools/read.md\n" in found


def test_missing_page_lists_the_existing_ones(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match=r"no page tau://tools/nothing\. .*tools/read\.md"):
        asyncio.run(ctx.urls.resolve("tau://tools/nothing", ctx))


def test_wheel_contains_every_page(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert {f"tau/docs/{page}" for page in PAGES} <= set(opened.namelist())
