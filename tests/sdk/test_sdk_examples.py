"""Every example of docs/sdk.md runs verbatim against a local model server."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from tau.ai import standalone
from tau.ai.catalog import load_catalog
from tests.shape.source_tree import ROOT
from tests.support.fake_answers import Answer, Call, Scriptable, Status, Text, Usage
from tests.support.fake_server import FakeServer

PAGE = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
SUMMARY = "## Goal\nExplain the compiler.\n\n## Decisions\nNone yet."


def _explained(letter: str, input_tokens: int) -> Answer:
    return Answer((Text(f"{letter}. " * 300),), Usage(input=input_tokens, output=900))


# By heading and number: the model's answers, and what the example then prints.
EXPECTED: dict[tuple[str, int], tuple[list[Scriptable], str]] = {
    ("A model alone", 1): (["Hello."], "Hello. 10 tokens\n"),
    ("One prompt", 1): (["It is a parser."], "It is a parser.\n10 tokens\n"),
    ("One prompt", 2): (["It is a parser."], "It is a parser.\n"),
    ("Many tasks", 1): (["A tool.", "A tool."], "git done A tool.\nmake done A tool.\n"),
    ("Options", 1): (["In tests/."], "In tests/.\n"),
    ("What happens, as it happens", 1): (
        [Status(503, "busy"), Call("bash", {"command": "ls"}), Answer((Text("There are none.", deltas=3),))],
        "\n[fake answered 503: busy. Trying again in 0.0 s]\n\n[bash {'command': 'ls'}]\nThere are none.\n",
    ),
    ("What happens, as it happens", 2): (
        [Call("read", {"path": "missing.txt"}), "It is not there."],
        "read failed: There is no file missing.txt.\n",
    ),
    ("Tools of your own", 1): ([Call("ticket", {"number": 7}), "A door."], "A door.\n"),
    ("Hooks", 1): (
        [Call("bash", {"command": "rm -r build"}), "Then not."],
        "asked: Clean up.\nrefused: bash\n",
    ),
    ("While it works", 1): (
        ["There."],
        "removed: Now write it to NOTES.md.\naborted: True - waiting: 1\nerror: None\n",
    ),
    ("Resume a session", 1): (
        ["Noted.", "7."],
        "2 messages\n4 messages\na copy: True 4 messages\n",
    ),
    ("The tree", 1): (
        ["First a lexer.", "Done.", "Done by hand."],
        "to edit: Write it with a table.\n"
        "• user: Plan the parser.\n"
        "  [table] user: Write it with a table.\n"
        "• user: Write it by hand.\n"
        "True {ID: 'table'}\n"
        "The parser 3 messages\n",
    ),
    ("Compaction", 1): (
        [_explained("A", 2_500), _explained("B", 5_000), _explained("C", 7_500), SUMMARY],
        "## Goal\nsmaller: True\nkept on disk: True\n",
    ),
    ("What goes wrong", 1): ([Status(503, "busy")], "try later: fake answered 503: busy.\n"),
    ("Models and keys", 1): ([], "anthropic/claude-sonnet-4-5 high 200000\nanthropic/claude-opus-4-5 low\n"),
    ("The loop alone", 1): (
        [Call("add", {"numbers": [2, 40]}), "42"],
        "['UserMessage', 'AssistantMessage', 'ToolResultMessage', 'AssistantMessage']\n",
    ),
    ("Without a model", 1): ([], "2 requests, 4 messages\n"),
    ("Reading a session file", 1): (
        ["Hello."],
        "True None []\nmessage UserMessage\nmessage AssistantMessage\ncustom {'build': 17}\n",
    ),
}


def examples() -> Iterator[tuple[str, int, str]]:
    """Heading, number below it, and text of each example."""
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks, 1):
            yield heading, number, block


def test_every_example_runs() -> None:
    assert {(heading, number) for heading, number, _ in examples()} == set(EXPECTED)


@pytest.mark.parametrize(
    ("heading", "number", "text"),
    list(examples()),
    ids=[f"{heading} {number}" for heading, number, _ in examples()],
)
def test_example(
    heading: str,
    number: int,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers, printed = EXPECTED[heading, number]
    monkeypatch.chdir(tmp_path)
    with FakeServer() as server:
        _use(server)
        if heading == "A model alone":
            _redirect(server, monkeypatch)
        if answers:
            server.script(*answers)
        _run(text, monkeypatch)
        assert not server.problems
    shown = re.sub(r"'[0-9a-f]{8}'", "ID", capsys.readouterr().out)
    shown = re.sub(r"(?<=Trying again in )[\d.]+", "0.0", shown)
    if heading == "Many tasks":  # they end in any order
        shown = "".join(sorted(shown.splitlines(keepends=True)))
    assert shown == printed


def _use(server: FakeServer) -> None:
    """User settings with the fake server as the model."""
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    models = [{"id": "m", "contextWindow": 200_000, "maxTokens": 8_000}, {"id": "sonnet", "reasoning": True}]
    provider = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "models": models}
    (home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    settings: dict[str, Any] = {"defaultProvider": "fake", "defaultModel": "m", "retry.baseDelayMs": 1}
    (home / "settings.json").write_text(json.dumps(settings))


def _redirect(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without files, a provider's address can only be changed in the table."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    known = load_catalog()
    rows = {**known.providers, "anthropic": replace(known.providers["anthropic"], base_url=server.url)}
    monkeypatch.setattr(standalone, "load_catalog", lambda: known.with_changes(rows, {}))


def _run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like a separate program, but in this process: starting one for each would take a second."""
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    exec(compile(text, "docs/sdk.md", "exec"), module.__dict__)
