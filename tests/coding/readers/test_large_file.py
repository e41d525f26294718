"""Parts of files that are too large to be read completely."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.files.paths import split_selector
from tau.coding.readers import large_file
from tau.coding.readers.text import TextPage
from tau.coding.tools.read import Read
from tests.coding.context import CallContext, call_now, text_of


def part(path: Path, selector: str = "", first_lines: int = 300) -> TextPage:
    wanted = split_selector(f"x{selector}")[1]
    return asyncio.run(
        large_file.large_page(path, "x", path.stat().st_size, wanted, first_lines, LocalFileSystem())
    )


def rows(page: TextPage) -> list[str]:
    return page.text.split("\n")[:-1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.text(st.characters(blacklist_characters="\n\r\0", blacklist_categories=["Cs"])), min_size=1
    ),
    first=st.integers(1, 40),
    count=st.integers(1, 20),
    chunk=st.integers(1, 64),
    ended=st.booleans(),
)
def test_lines_do_not_depend_on_chunking(
    tmp_path: Path, lines: list[str], first: int, count: int, chunk: int, ended: bool
) -> None:
    path = tmp_path / "x"
    text = "\n".join(lines) + ("\n" if ended else "")
    path.write_bytes(text.encode())
    real = text.split("\n")
    if not real[-1]:
        real.pop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_file, "CHUNK_BYTES", chunk)
        patch.setattr(large_file, "LIMITS", large_file.OutputLimits(columns=100_000))
        page = part(path, f":{first}+{count}")
    if max(first - 1, 1) > len(real):
        assert "Nothing there" in page.text
        return
    begin, end = max(first - 1, 1), min(first + count + 2, len(real))
    if all(len(line.encode()) <= chunk for line in real):  # longer ones are cut
        assert rows(page) == [f"{number}:{real[number - 1]}" for number in range(begin, end + 1)]
    assert page.ranges == [(begin, end)]


def test_reads_no_further_than_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"line\n" * 1_000_000)
    read: list[int] = []
    real = LocalFileSystem.read_part

    async def counted(self: LocalFileSystem, path: Path, start: int, size: int) -> bytes:
        read.append(start)
        return await real(self, path, start, size)

    monkeypatch.setattr(LocalFileSystem, "read_part", counted)
    page = part(path, first_lines=40)
    assert len(read) == 1 and page.ranges == [(1, 40)]
    assert page.text.endswith("too large for edits by line; continue with x:41-]")


def test_endless_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 3_000_000 + b"\nnext\n")
    page = part(path)
    first, second, _ = page.text.split("\n")
    assert first.startswith("1:aaa") and len(first) <= 2_000 and second == "2:next"


def test_several_ranges_and_raw(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("".join(f"line {number}\n" for number in range(1, 101)))
    assert rows(part(path, ":10-10,50-50"))[:2] == ["9:line 9", "10:line 10"]
    assert large_file.GAP in rows(part(path, ":10-10,50-50"))
    assert rows(part(path, ":raw:10-10"))[0] == "line 9"


def test_large_file_is_read_in_parts_by_the_tool(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_file, "LARGE_BYTES", 100)
    (ctx.cwd / "big.log").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    text = text_of(call_now(Read(), ctx, path="big.log:50-51"))
    assert "50:line 50" in text and "¶" not in text
    (ctx.cwd / "big.bin").write_bytes(b"\0" * 200)
    with pytest.raises(ToolError, match="binary"):
        call_now(Read(), ctx, path="big.bin")
