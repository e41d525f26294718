"""The code in the pages about extensions runs as it is."""

import asyncio
import re
from pathlib import Path

import pytest

from tau import ext
from tau.ext.extensions.events import EVENT_NAMES, FACTS, OWN_FACTS, QUESTIONS
from tests.ext.extensions.host import opened

DOCS = Path(__file__).resolve().parents[3] / "docs"
BLOCKS = [
    (page, kind, code)
    for page in ("extensions.md", "tui.md")
    for kind, code in re.findall(r"^```python( test)?\n(.*?)^```", (DOCS / page).read_text(), re.S | re.M)
]


@pytest.mark.parametrize("at", range(len(BLOCKS)), ids=lambda at: f"{BLOCKS[at][0]} {at}")
def test_code_in_the_pages_runs(at: int, tmp_path: Path) -> None:
    _, kind, code = BLOCKS[at]
    if kind:
        exec(compile(code, "docs", "exec"), {"__name__": "docs"})
        return

    async def main() -> None:
        async with opened(tmp_path, code) as rig:
            await rig.session.prompt("hi")
            await rig.extensions.settle()
            assert not rig.faults and not rig.extensions.set.failures

    asyncio.run(main())


def test_the_page_names_every_event() -> None:
    text = (DOCS / "extensions.md").read_text()
    assert not [name for name in EVENT_NAMES if f"`{name}`" not in text]


def test_every_event_has_its_types() -> None:
    source = Path(ext.__file__).parent / "extensions" / "event_types.py"
    literals = re.findall(r"name: L\[(.+?)\]", source.read_text())
    assert {name for literal in literals for name in re.findall(r'"([\w.]+)"', literal)} == EVENT_NAMES
    assert len(EVENT_NAMES) == 44 == len(QUESTIONS) + len(OWN_FACTS) + len(FACTS)


def test_public_names_for_type_checkers_are_the_real_ones() -> None:
    text = Path(ext.__file__).read_text()
    assert sorted(re.findall(r" as (\w+)\n", text)) == sorted(ext.__all__)
    for name in ext.__all__:
        assert getattr(ext, name) is not None
