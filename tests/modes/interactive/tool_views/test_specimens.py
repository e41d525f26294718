"""Every specimen at every width in every look, and its captures."""

import pytest

from tau.modes.interactive.tool_views.registry import RENDERERS
from tau.tui.input.bindings import Keymap
from tests.modes.interactive.tool_views.golden import TOOLS, capture, path_of
from tests.modes.interactive.tool_views.looks import BOXES, LOOKS, WIDTHS, check
from tests.support.soak import part
from tools.gallery.specimens.block import block_of, scene_of
from tools.gallery.specimens.catalogue import SPECIMENS
from tools.gallery.specimens.printed import printed

STATES = ("streaming", "pending", "running", "done", "failed", "aborted", "declined")
OTHER_LOOKS = [look for look in LOOKS if look != "dark"]
"""In every run, a specimen is checked in the dark look and in one of these."""
MOST_ROWS = 24
"""Of a collapsed block at 80 columns."""


@pytest.mark.parametrize(
    ("name", "look"),
    [
        *((name, "dark") for name in SPECIMENS),
        *(
            (name, look)
            for at, look in enumerate(OTHER_LOOKS)
            for name in part(SPECIMENS, at, len(OTHER_LOOKS))
        ),
    ],
)
def test_every_specimen_fits_and_is_clean(name: str, look: str) -> None:
    for expanded in (False, True):
        scene = scene_of(LOOKS[look], Keymap())
        scene.expanded = expanded
        block = block_of(SPECIMENS[name], scene)
        for width in WIDTHS:
            rows = block.render(width)
            assert block.render(width) is rows
            check(rows, width, look)


@pytest.mark.parametrize("name", SPECIMENS)
def test_own_symbols_respect_the_look(name: str) -> None:
    """Tool text may contain any character; the specimens' own is recognized by its position."""
    own = "".join(str(view.args) + view.text + repr(view.details) for view in SPECIMENS[name].views)
    for look in ("ascii", "linear"):
        for expanded in (False, True):
            for row in printed(SPECIMENS[name], LOOKS[look], 120, expanded=expanded):
                strange = [letter for letter in row if not letter.isascii() and letter not in own]
                assert look != "ascii" or not strange, row
                assert look != "linear" or not BOXES.search("".join(strange)), row


@pytest.mark.parametrize("name", SPECIMENS)
def test_folded_block_is_short(name: str) -> None:
    assert len(printed(SPECIMENS[name], LOOKS["none"], 80, expanded=False)) <= MOST_ROWS


def test_every_tool_has_specimens_in_every_state() -> None:
    known = {specimen.tool for specimen in SPECIMENS.values()}
    assert set(RENDERERS) <= known
    missing = [
        f"{tool}/{state}"
        for tool in (*RENDERERS, "tracker_search")
        for state in STATES
        if f"{tool}/{state}" not in SPECIMENS
    ]
    assert not missing


@pytest.mark.parametrize("tool", TOOLS)
def test_captures_match_the_golden_files(tool: str) -> None:
    """After a change, run `make snapshots` and review the diff."""
    assert capture(tool) == path_of(tool).read_text(encoding="utf-8")


def test_state_is_shown_by_words_and_signs_not_by_color_alone() -> None:
    for tool in RENDERERS:
        folded = {
            state: printed(SPECIMENS[f"{tool}/{state}"], LOOKS["none"], 80, expanded=False)
            for state in ("done", "failed", "aborted", "declined")
        }
        assert "stopped" in folded["aborted"][0], tool
        assert any(word in folded["failed"][0] for word in ("failed", "exit")), tool
        assert folded["done"] != folded["failed"] != folded["aborted"]


def test_declined_call_shows_the_users_answer_and_no_failure() -> None:
    for tool in RENDERERS:
        for expanded in (False, True):
            shown = "\n".join(printed(SPECIMENS[f"{tool}/declined"], LOOKS["none"], 80, expanded=expanded))
            assert "You declined: ask me first next time" in shown, tool
            assert not any(word in shown for word in ("failed", "stopped", "The user", "They say")), tool
