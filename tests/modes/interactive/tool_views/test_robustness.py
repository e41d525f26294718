"""Models and session files may send anything: it always renders, and cleanly."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai.wire import ImageContent, TextContent
from tau.modes.interactive.tool_views import fault_log, generic, read
from tau.modes.interactive.tool_views import registry as table
from tau.modes.interactive.tool_views.body_parts import LazyRows
from tau.modes.interactive.tool_views.registry import RENDERERS
from tau.modes.interactive.tool_views.view import ToolCallView
from tests.modes.interactive.tool_views.looks import CWD, LOOKS, PLAIN, check, drawn, title, view, whole
from tests.support.soak import examples
from tools.gallery.specimens.catalogue import SPECIMENS

TOOLS = (*RENDERERS, "unknown")
EXAMPLES = 15
NAMES = sorted(
    {name for each in SPECIMENS.values() for name in each.views[0].args} | {"file_path", "i", "skip"}
)
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\x00\u202e\ud800 a\tb\r\nc\x08"
ODD = [
    HOSTILE,
    "x" * 3_000,
    "日本語 👩‍👩‍👧 e\u0301",
    "\n" * 50,
    "¶a#1234\n+x",
    "[",
    "[[" * 200,
    "1:" + "a" * 999,
]
TEXT = st.text(max_size=60) | st.sampled_from(ODD)
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
ARGS = st.dictionaries(st.sampled_from(NAMES) | TEXT, VALUE, max_size=6)
STATE = st.sampled_from(["streaming", "pending", "running", "done", "failed", "aborted"])
CONTENT = st.lists(st.builds(TextContent, TEXT) | st.builds(ImageContent, TEXT, TEXT), max_size=3)
REAL = {
    tool: [
        msgspec.to_builtins(each.views[0].details)
        for each in SPECIMENS.values()
        if each.tool == tool and each.views[0].details is not None
    ]
    for tool in TOOLS
}


def spoilt(known: Any, value: Any, keys: list[int]) -> Any:
    """Real details with one value replaced."""
    if isinstance(known, dict) and known and keys:
        name = sorted(known)[keys[0] % len(known)]
        return {**known, name: spoilt(known[name], value, keys[1:])}
    if isinstance(known, list) and known and keys:
        at = keys[0] % len(known)
        return [*known[:at], spoilt(known[at], value, keys[1:]), *known[at + 1 :]]
    return value


@st.composite
def calls(draw: st.DrawFn, tool: str) -> ToolCallView:
    details = draw(VALUE)
    if REAL[tool] and draw(st.booleans()):
        keys = draw(st.lists(st.integers(0, 9), max_size=4))
        details = spoilt(draw(st.sampled_from(REAL[tool])), details, keys)
    args: Any = draw(ARGS)
    if draw(st.integers(0, 9)) == 0:
        args = draw(VALUE)
    return ToolCallView(
        tool,
        args,
        draw(STATE),
        CWD,
        draw(CONTENT),
        details,
        draw(st.booleans()),
        draw(st.none() | st.integers(-5, 10**9)),
    )


def look_at(found: ToolCallView) -> None:
    for look in ("dark", "linear"):
        shown = table.draw(found, LOOKS[look])
        assert shown.title
        check([shown.title, shown.note], 10_000, look)
        for width in (1, 20, 80):
            check([row for part in shown.body for row in part.render(width)], width, look)


@pytest.mark.parametrize("tool", TOOLS)
def test_any_call_renders_cleanly(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @examples(EXAMPLES)
    @given(calls(tool))
    def holds(found: ToolCallView) -> None:
        noted.clear()
        look_at(found)
        assert not noted

    noted: list[str] = []
    monkeypatch.setattr(fault_log, "log_once", lambda message, error: noted.append(message))
    holds()


@pytest.mark.parametrize("tool", TOOLS)
def test_hostile_text_is_neutralized(tool: str) -> None:
    """Every text of every specimen is followed by control sequences."""

    def poisoned(value: Any) -> Any:
        if isinstance(value, str):
            return value + HOSTILE
        if isinstance(value, dict):
            return {name: poisoned(each) for name, each in value.items()}
        return [poisoned(each) for each in value] if isinstance(value, list) else value

    for specimen in SPECIMENS.values():
        known = specimen.views[0]
        if specimen.tool == tool:
            details = poisoned(msgspec.to_builtins(known.details))
            content = [TextContent(known.text + HOSTILE)]
            for expanded in (False, True):
                look_at(
                    known._replace(
                        args=poisoned(known.args), details=details, content=content, expanded=expanded
                    )
                )


def test_details_from_disk_render_like_those_of_the_tool() -> None:
    for specimen in SPECIMENS.values():
        known = specimen.views[0]
        read = known._replace(details=msgspec.to_builtins(known.details))
        assert whole(table.draw(known, PLAIN)) == whole(table.draw(read, PLAIN)), specimen.name


def test_failing_renderer_falls_back_to_the_generic_one(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[str] = []
    monkeypatch.setattr(fault_log.log, "error", lambda message, error: noted.append(message))

    monkeypatch.setattr(read, "draw", broken)
    for _ in range(3):
        assert title(drawn("read", {"path": "a.py"})) == "read a.py"
    assert noted == ["Drawing a read call failed."]


def test_undrawable_call_still_shows_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_log, "log_once", lambda message, error: None)
    monkeypatch.setattr(generic, "draw", broken)
    monkeypatch.setattr(read, "draw", broken)
    assert title(drawn("read", {"path": "a.py"})) == "read"
    assert title(drawn("\x1b[2J" + "n" * 500)) == "n" * 80


def test_undrawable_group_of_reads_shows_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    views = [view("read", {"path": "a.py"}), view("read", {"path": "b.py"})]
    assert title(table.draw_group(views, PLAIN)) == "Read 2 files"
    monkeypatch.setattr(fault_log, "log_once", lambda message, error: None)
    monkeypatch.setattr(read, "draw_group", broken)
    assert title(table.draw_group(views, PLAIN)) == "Read b.py"


def test_part_that_fails_while_drawing_becomes_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_log, "log_once", lambda message, error: None)
    part = LazyRows(PLAIN, broken)
    assert list(part.render(30)) == ["Could not draw this part; see", "the log."]


def broken(*_: Any) -> Any:
    raise ZeroDivisionError("on purpose")
