"""Syntax highlighting."""

import random

import pytest

from tau.tui.style import StyleSpec, Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.widgets import highlight as module
from tau.tui.widgets.highlight import Highlighter, highlight
from tests.support.palettes import DARK_TOKENS, PLAIN

TOKENS = {
    "syntaxKeyword": StyleSpec(bold=True),
    "syntaxString": StyleSpec(italic=True),
    "syntaxComment": StyleSpec(underline=True),
}


def marked(code: str, language: str) -> list[str]:
    signs = {"1": "<k>", "22": "</k>", "3": "<s>", "23": "</s>", "4": "<c>", "24": "</c>"}
    out = []
    for line in highlight(code, language, Theme(TOKENS)):
        for number, sign in signs.items():
            line = line.replace(f"\x1b[{number}m", sign)
        out.append(line)
    return out


def test_keywords_strings_and_comments_have_their_tokens() -> None:
    assert marked("if x: 'a'  # b", "python") == ["<k>if </k>x: <s>'a'  </s><c># b</c>"]


def test_multiline_strings_are_strings_to_their_end() -> None:
    assert marked('x = """a\nif b\n"""\nif c', "python") == [
        'x = <s>"""a</s>',
        "<s>if b</s>",
        '<s>"""</s>',
        "<k>if </k>c",
    ]


@pytest.mark.parametrize("language", ["js", "ts", "c", "java", "css", "go", "rust"])
def test_multiline_comments_are_comments_to_their_end(language: str) -> None:
    lines = marked("/* a\n   return b\n*/", language)
    assert lines == ["<c>/* a</c>", "<c>   return b</c>", "<c>*/</c>"]


def test_open_comment_is_already_a_comment() -> None:
    assert marked("/* a\n   return", "js") == ["<c>/* a</c>", "<c>   return</c>"]


def test_pattern_with_a_star_opens_no_comment() -> None:
    assert marked("x = 'src/**/*.py'\nif y", "python")[1] == "<k>if </k>y"


@pytest.mark.parametrize("language", ["", "nonsense", "text", "plaintext", "x" * 500])
def test_unknown_languages_are_plain(language: str) -> None:
    assert highlight("if x\n\ty", language, Theme(PLAIN)) == ["if x", "    y"]


def test_language_names_ignore_case() -> None:
    assert marked("if x", "Python") == ["<k>if </k>x"]


CODES = {
    "python": 'def f(a):\n    """doc\n\n    x"""\n    return [f"{a}" for _ in a]  # c\n\n@d\nclass A: pass\n',
    "ts": "/**\n * doc\n */\nexport const f = (a: string) => `x${a}\ny`; // c\n/* open",
    "yaml": "a: 1\nb:\n  - 'x' # c\n  - |\n    text\n",
    "json": '{"a": [1, true,\n "x"]}\n',
    "html": "<!-- a\nb --><div class='x'>\n<script>\nlet a = 1;\n</script></div>",
    "bash": 'for i in $(ls); do\n  echo "$i\ntwo" # c\ndone <<EOF\nx\nEOF\n',
    "markdown": "# a\n\n```py\nx\n```\n",
    "php": "<?php\n/* a\n*/ echo 1;\n?>\n<p>",
}


@pytest.mark.parametrize("language", CODES)
def test_lines_are_unchanged_in_any_chunking(language: str) -> None:
    code = CODES[language]
    theme = Theme(DARK_TOKENS)
    whole = highlight(code, language, theme)
    lines = code.removesuffix("\n").split("\n")
    assert [strip_escapes(line) for line in whole] == lines
    rng = random.Random(1)
    for _ in range(20):
        growing = Highlighter(language, theme)
        out: list[str] = []
        at = 0
        while at < len(lines):
            size = rng.randint(1, 3)
            seen = growing.peek(lines[at : at + size])
            assert [strip_escapes(line) for line in out + seen] == lines[: at + size]
            out += growing.feed(lines[at : at + size])
            at += size
        assert out + growing.flush() == whole


def test_each_line_is_lexed_once_while_streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    lex = module._lex

    def counted(lexer: object, lines: tuple[str, ...], stack: tuple[str, ...]) -> object:
        calls.append(len(lines))
        return lex(lexer, lines, stack)

    monkeypatch.setattr(module, "_lex", counted)
    growing = Highlighter("python", Theme(DARK_TOKENS))
    for number in range(50):
        growing.peek([f"unseen_{number} = 1"])
        growing.feed([f"unseen_{number} = 1"])
    assert sum(calls) == 50


def test_very_long_lines_and_blocks_only_lose_their_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert marked("if '" + "x" * 2000, "python") == ["if '" + "x" * 2000]
    monkeypatch.setattr(module, "_MAX_CHARS", 10)
    assert marked("if x\nif yyyyyyyyy\nif z", "python") == ["<k>if </k>x", "<k>if </k>yyyyyyyyy", "if z"]


def test_failing_lexer_leaves_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(module, "_run", fail)
    assert marked("if unlucky", "python") == ["if unlucky"]


def test_controls_in_code_are_removed() -> None:
    line = highlight("a = '\x1b[2J\x07'", "python", Theme(PLAIN))[0]
    assert line.isprintable()


def test_cache_of_lexed_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_CHARS", 500)
    for number in range(200):
        highlight(f"value_{number} = {number}", "python", Theme(PLAIN))
    assert len(module._memory._known) < 60
