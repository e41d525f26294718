"""Pages of a text: the right lines, without work for the rest."""

import asyncio
import tracemalloc

import pytest

from tau.base.run import LocalRunner
from tau.base.sizes import MIB
from tau.coding.files.paths import split_selector
from tau.coding.readers.text import BLOCK_CHARS, PageOptions, TextPage, page


def shown(text: str, selector: str = "") -> TextPage:
    shape = PageOptions(name="a", selector=split_selector(f"a{selector}")[1], first_lines=300)
    runner = LocalRunner()
    try:
        return asyncio.run(page(text, shape, runner))
    finally:
        runner.close()


def test_last_lines_of_a_long_file_stopped_everything_else_meanwhile() -> None:
    """Splitting the whole text is one step that no other thread, such as the event loop's, can interrupt."""
    text = "ab\n" * 400_000
    tracemalloc.start()
    try:
        rows = shown(text, ":399999-400000").text.splitlines()
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows[0] == "399998:ab" and rows[2] == "400000:ab"
    assert peak_bytes < 4 * MIB


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("final", ["", "end"])
def test_lines_across_the_borders_of_blocks_are_right(separator: str, final: str) -> None:
    lines = [f"{'x' * (number % 50)} {number}" for number in range(1, 3 * BLOCK_CHARS // 20)]
    text = separator.join([*lines, final])
    lines += [final] if final else []
    for number in [1, 2, 2000, 2001, 4000, len(lines) - 1, len(lines)]:
        for row in shown(text, f":{number}-{number}:raw").text.splitlines()[: min(number, 2)]:
            assert row in lines[max(number - 2, 0) : number]
    rows = shown(text, ":5-5,4000-4000").text.splitlines()
    assert rows[:6] == [*(f"{number}:{lines[number - 1]}" for number in range(4, 9)), "[…]"]
    assert rows[6:11] == [f"{number}:{lines[number - 1]}" for number in range(3999, 4004)]
