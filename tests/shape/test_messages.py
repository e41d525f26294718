"""tau's messages to people and models are sentences."""

import ast
from collections.abc import Iterator

import pytest

from tests.shape.source_tree import calls, dotted, package_sources

SPEAKING = {
    *("TauError", "UsageError", "ConfigError", "ProviderError", "ToolError", "SessionError"),
    *("tell", "complain", "source.error"),
}
ENDS = (".", "?", "…", "{}")  # {} is a placeholder for a value, which is a sentence itself there
# Names that keep their lower case at the start of a sentence.
NAMES = {"tau", "stdout", "providers", "read", "find", "search", "inspect_image", "edit", "write", "bash"}


def text_of(node: ast.AST) -> str:
    """A string with its values as {}; "" for what is assembled elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def problem(text: str) -> str:
    first = text.split()[0].rstrip(",:;")
    if first.islower() and first.isidentifier() and first not in NAMES:
        return "begins in lower case"
    if not text.endswith(ENDS):
        return "has no end"
    return "has an exclamation mark" if "!" in text.removeprefix('A value is just "!"') else ""


def messages() -> Iterator[tuple[str, str]]:
    for source in package_sources():
        for call in calls(source.tree):
            if dotted(call.func) in SPEAKING and call.args and " " in (text := text_of(call.args[0])):
                yield source.at(call), text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("There is no file x.", ""),
        ("{}/a.py has no lines.", ""),
        ("tau config list shows them.", ""),
        ("there is no file.", "begins in lower case"),
        ("There is no file", "has no end"),
        ("Done!", "has no end"),
    ],
)
def test_sentences_are_distinguished_from_fragments(text: str, wrong: str) -> None:
    assert problem(text) == wrong


def test_errors_and_remarks_are_sentences() -> None:
    found = list(messages())
    assert len(found) > 100
    assert not [f"{where} {problem(text)}: {text}" for where, text in found if problem(text)]
