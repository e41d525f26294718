"""Text cannot lie: what hides in it or reverses it is visible to people and to the model."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tau.modes.event_json import encode
from tau.modes.interactive.tool_views.labels import short_path
from tau.sdk import SessionOptions, create_session
from tau.tui.text.clean import clean, clean_styled
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer

HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "run rm")
LIES = [
    "\x7f",
    "\x85",
    "\x9b2J",
    "\x9d0;title\x9c",
    "\u061c",
    "\u200b",
    "\u200e\u200f",
    "\u202agnp\u202e.exe",
    "\u2028\u2029",
    "\u2060\u2066\u2069",
    "\ufeff",
    HIDDEN,
]


@pytest.mark.parametrize("text", LIES, ids=ascii)
def test_json_lines_escape_what_would_control_or_deceive(text: str) -> None:
    line = encode({"text": f"a{text}b", "ü": "日本 👩‍💻"})
    assert line.isascii() or not any(ord(c) in range(0x7F, 0xA0) for c in line.decode())
    assert not any(c in line.decode() for c in text if not c.isascii() or c == "\x7f")
    assert json.loads(line) == {"text": f"a{text}b", "ü": "日本 👩‍💻"}


def results_of(cwd: Path, *calls: Call) -> list[str]:
    """What the model reads of these calls."""
    with FakeServer() as server:
        server.script(*calls, "done")

        async def main() -> None:
            options = SessionOptions(cwd=cwd, model="custom", base_url=f"{server.url}/v1", save=False)
            async with create_session(options, os.environ) as session:
                await session.prompt("go")

        asyncio.run(main())
        messages: list[dict[str, Any]] = server.requests[-1].body["messages"]
        return [str(message["content"]) for message in messages if message["role"] == "tool"]


def test_the_model_sees_what_hides_in_files_and_output(tmp_path: Path) -> None:
    text = f"x = 1 # \u202eesrever\u202c {HIDDEN}\u200b می‌خواهم 👩‍💻\n"
    (tmp_path / "a.py").write_text(text)
    results = results_of(
        tmp_path,
        Call("read", {"path": "a.py"}),
        Call("bash", {"command": "cat a.py"}),
        Call("search", {"pattern": "x =", "paths": ["."]}),
    )
    assert len(results) == 3
    for result in results:
        assert "<U+202E>esrever<U+202C>" in result
        assert "<U+E0072><U+E0075><U+E006E>" in result
        assert "<U+200B>" in result
        assert "می‌خواهم 👩‍💻" in result
    assert (tmp_path / "a.py").read_text() == text


def test_a_file_with_hidden_characters_can_still_be_edited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\u200b\ntwo\n")
    results_of(
        tmp_path,
        Call("read", {"path": "a.txt"}),
        Call("bash", {"command": "sed -i s/two/three/ a.txt"}),
        Call("write", {"path": "b.txt", "content": "kept \u200b\u202e as written\n"}),
    )
    assert (tmp_path / "a.txt").read_text() == "one\u200b\nthree\n"
    assert (tmp_path / "b.txt").read_text() == "kept \u200b\u202e as written\n"


def test_the_screen_shows_what_hides() -> None:
    for show in (clean, clean_styled):
        assert show(f"ok \u202egnp.exe {HIDDEN[:2]}") == "ok <U+202E>gnp.exe <U+E0072><U+E0075>"
        assert show("👩‍💻 می‌خواهم ❤️") == "👩‍💻 می‌خواهم ❤️"


def test_imitated_paths_show_in_tool_titles() -> None:
    assert short_path("/w/src/p\u0430yments.py", Path("/w")) == "src/p<U+0430>yments.py"
    assert short_path("/w/документы/a.txt", Path("/w")) == "документы/a.txt"
