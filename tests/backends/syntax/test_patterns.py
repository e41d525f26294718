"""Structural search and rewriting: metavariables, layout, bytes outside the matches, invalid patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.backends.syntax.languages import LANGUAGES, detect_language
from tau.backends.syntax.patterns import PatternRewrite, required_words, rewrite, search
from tau.base.errors import ToolError
from tests.backends.syntax.samples import SAMPLES, Sample


def found(pattern: str, text: str, language: str) -> list[str]:
    return [match.text for match in search(pattern, text, language)]


def changed(pat: str, out: str, text: str, language: str = "python") -> str:
    return rewrite([PatternRewrite(pat, out)], text, language).text


@pytest.mark.parametrize(
    ("language", "pattern", "text", "expected"),
    [
        ("python", "foo($A)", "x = foo( 1 )\nfoo(1, 2)\n", ["foo( 1 )"]),
        ("python", "def $F($$$A): $$$B", "def f(a, b):\n    x\n    y\n", ["def f(a, b):\n    x\n    y"]),
        ("typescript", "$A as any", "let x = y as any;", ["y as any"]),
        ("typescript", "private $F: $T", "class A { private x: string; y: number }", ["private x: string"]),
        ("tsx", "<div>$$$C</div>", "const a = <div><b>x</b></div>;", ["<div><b>x</b></div>"]),
        ("javascript", "const $X = $Y", "const q = 2;\nlet r = 3;", ["const q = 2"]),
        ("javascript", "a: $V", "let o = {a: 4, b: 5}", ["a: 4"]),
        ("javascript", "case $A: $$$B", "switch (x) { case 1: y() }", ["case 1: y()"]),
        ("rust", "$X.unwrap()", "fn f() { a.b().unwrap(); }", ["a.b().unwrap()"]),
        ("rust", "$P => $E", "fn f() { match x { 1 => 2, _ => 3 } }", ["1 => 2", "_ => 3"]),
        ("go", "fmt.Println($A)", "package a\nfunc f() {\n\tfmt.Println(x)\n}\n", ["fmt.Println(x)"]),
        ("go", "if err != nil { $$$B }", "package a\nfunc f() { if err != nil { return } }", None),
        ("java", "public void $M($$$A) { $$$B }", "class A { public void f(int x) { y(); } }", None),
        ("java", "System.out.println($A)", "class A { void f() { System.out.println(1); } }", None),
        ("java", "@Override", "class A { @Override void f() {} }", ["@Override"]),
        ("c", "$F($A)", "int f(int x) { return g(x); }", ["g(x)"]),
        ("c", "foo($A);", "int f(int x) { foo(1); }", ["foo(1);"]),
        ("c", "$T $F($$$A) { $$$B }", "int f(int x) { foo(1); }", ["int f(int x) { foo(1); }"]),
        ("cpp", "$A->$B()", "void f() { x->y(); }", ["x->y()"]),
        ("csharp", "$X.Foo($$$A)", "class A { void F() { b.Foo(1, 2); } }", ["b.Foo(1, 2)"]),
        ("ruby", "puts $A", "puts 1\nputs(2)\n", ["puts 1", "puts(2)"]),
        ("php", "foo($A)", "<?php\nfoo($x);\n", ["foo($x)"]),
        ("php", "$X->bar($$$A)", "<?php\n$y->bar(1,2);\n", ["$y->bar(1,2)"]),
        ("bash", "echo $A", "echo $HOME\nls\n", ["echo $HOME"]),
        ("html", "<p>$$$C</p>", "<div><p>x</p></div>", ["<p>x</p>"]),
        ("css", "color: $C", ".a { color: red; }", ["color: red"]),
        ("css", ".a { $$$B }", ".a { color: red; }", [".a { color: red; }"]),
        ("json", '{"a": $B}', '{"x": {"a": [1]}}', ['{"a": [1]}']),
        ("yaml", "a: $V", "a: 1\nb:\n  a: 2\n", ["a: 1", "a: 2"]),
        ("kotlin", "println($A)", "fun f() { println(1) }", ["println(1)"]),
        ("swift", "print($A)", "func f() { print(1) }", ["print(1)"]),
        ("lua", "print($A)", "print(1)\nlocal x = 2\n", ["print(1)"]),
        ("lua", "$A .. $B", "x = a .. b\n", ["a .. b"]),
        ("scala", "println($A)", "object A { def f = println(1) }", ["println(1)"]),
        ("elixir", "IO.puts($A)", "IO.puts(1)\n", ["IO.puts(1)"]),
        ("zig", "$A.b()", "fn f() void { x.b(); }", ["x.b()"]),
        ("dart", "print($A)", "void f() { print(1); }", ["print(1)"]),
        ("solidity", "require($A)", "contract A { function f() public { require(x); } }", ["require(x)"]),
    ],
)
def test_pattern_finds_code_of_its_shape(
    language: str, pattern: str, text: str, expected: list[str] | None
) -> None:
    matches = found(pattern, text, language)
    assert matches == expected if expected is not None else len(matches) == 1


def test_match_has_its_location_and_the_metavariables() -> None:
    (match,) = search("f($A, $$$REST)", "é = '𝄞'\r\ng(f(x.y,\r\n  1, 2))\r\n", "python")
    assert match.variables == {"A": "x.y", "REST": "1, 2"}
    assert (match.first_line, match.last_line, match.start, match.end) == (2, 3, 11, 26)


def test_repeated_metavariable_matches_the_same_code() -> None:
    assert found("$A == $A", "a == a\na == b\n", "python") == ["a == a"]


def test_matches_are_bounded() -> None:
    assert len(search("f($A)", "f(1)\n" * 50, "python", max_matches=7)) == 7
    with pytest.raises(ToolError, match="more than 10 times"):
        rewrite([PatternRewrite("f($A)", "g($A)")], "f(1)\n" * 50, "python", max_changes=10)


@pytest.mark.parametrize(
    ("pattern", "language", "message"),
    [
        ("", "python", "is empty"),
        (" \n", "python", "is empty"),
        ("$A", "python", "matches everything"),
        ("$$$ARGS", "python", "needs more than"),
        ("foo(", "python", "not valid python"),
        ("def", "python", "not valid python"),
        ("if $A:", "python", "not valid python"),
        ("foo($a)", "python", "uppercase"),
        ("x; y", "python", "more than one piece"),
        ("foo($A) foo($B)", "python", "not valid python"),
        ("}", "javascript", "not valid javascript"),
        ("class {{", "java", "not valid java|more than one piece"),
        ("fn f(", "rust", "not valid rust|more than one piece"),
        ("a\0b", "python", "NUL"),
        ("a\ud800", "python", "surrogate"),
        ("f(" + "x, " * 1000 + "y)", "python", "2000"),
        ("x", "nope", "no parser for nope"),
    ],
)
def test_non_code_is_refused_with_the_reason(pattern: str, language: str, message: str) -> None:
    with pytest.raises(ToolError, match=message) as error:
        search(pattern, "x = 1\n", language)
    assert "\n" not in str(error.value).replace(pattern.strip(), "")


def test_rewrite_keeps_everything_else() -> None:
    text = "é = foo( 1,\r\n  2 )  # ü\r\n\tfoo(3)\n"
    assert changed("foo($A, $B)", "bar($B, $A)", text) == "é = bar(2, 1)  # ü\r\n\tfoo(3)\n"


def test_semicolon_missing_from_the_pattern_is_kept() -> None:
    assert changed("const $X = $Y", "let $X = $Y", "const a = 1;\nconst b = 2\n", "javascript") == (
        "let a = 1;\nlet b = 2\n"
    )


def test_empty_list_drops_its_comma() -> None:
    assert changed("f($$$A)", "g(x, $$$A)", "f()\nf(1, 2)\n") == "g(x)\ng(x, 1, 2)\n"
    assert changed("f($$$A)", "g($$$A, x)", "f()\nf(1, 2)\n") == "g(x)\ng(1, 2, x)\n"


def test_lines_are_reindented_for_their_new_position() -> None:
    text = "class A:\n    def f(x):\n        if x:\n            y()\n\n        z()\n"
    assert changed("def $F($$$A):\n    $$$B", "def $F($$$A):\n    with a:\n        $$$B", text) == (
        "class A:\n    def f(x):\n        with a:\n"
        "            if x:\n                y()\n\n            z()\n"
    )


def test_new_lines_use_the_line_ending_of_the_file() -> None:
    assert changed("f($A)", "g($A,\n  1)", "  f(2)\r\nx\r\n") == "  g(2,\r\n    1)\r\nx\r\n"


def test_empty_replacement_deletes() -> None:
    assert changed("debug($$$A)", "", "debug(1)\nx = 1\n") == "\nx = 1\n"


def test_outermost_of_nested_matches_is_changed() -> None:
    result = rewrite([PatternRewrite("f($A)", "g($A)")], "f(f(1)) + f(2)\n", "python")
    assert (result.text, len(result.changes), result.overlapping) == ("g(f(1)) + g(2)\n", 2, 1)


def test_all_patterns_match_the_original_text_and_the_earlier_one_wins() -> None:
    result = rewrite(
        [PatternRewrite("a($X)", "b($X)"), PatternRewrite("b($X)", "a($X)"), PatternRewrite("a(1)", "c()")],
        "a(1); b(2)\n",
        "python",
    )
    assert (result.text, result.overlapping) == ("b(1); a(2)\n", 1)
    assert [change.op for change in result.changes] == [0, 1]


def test_unknown_metavariable_in_the_replacement_is_refused_if_clearly_a_mistake() -> None:
    with pytest.raises(ToolError, match=r"uses \$AGRS, which `pat` does not have; its holes are: \$ARGS"):
        changed("f($$$ARGS)", "g($AGRS)", "f(1)")
    with pytest.raises(ToolError, match="needs a name"):
        changed("f($$$)", "g($$$)", "f(1)")
    assert changed("echo $A", "echo $HOME $A", "echo 1\n", "bash") == "echo $HOME 1\n"


def test_required_words_occur_in_every_match() -> None:
    assert required_words("self.foo_bar($ARGS, $$$MORE) if is_é else 12") == [
        "self",
        "foo_bar",
        "is_é",
        "else",
    ]


@given(
    st.lists(
        st.sampled_from(["f(1)", "f(f(2))", "é", "\r\n", "\n", " ", "x = ", "'𝄞'", "(", ")", "# f(3)", "\t"])
    )
)
def test_unmatched_text_keeps_every_byte(pieces: list[str]) -> None:
    text = "".join(pieces)
    result = rewrite([PatternRewrite("f($A)", "g[$A]")], text, "python")
    rest, at = "", 0
    for change in result.changes:
        assert text[change.start : change.end].startswith("f(") and change.text.startswith("g[")
        rest += text[at : change.start] + change.text
        at = change.end
    assert rest + text[at:] == result.text
    assert rewrite([PatternRewrite("f($A)", "f($A)")], text, "python").text == text


@given(st.sampled_from(LANGUAGES), st.text(max_size=60), st.sampled_from(SAMPLES))
def test_any_pattern_on_any_text_gives_valid_matches_or_a_reason(
    language: str, pattern: str, sample: Sample
) -> None:
    try:
        matches = search(pattern, sample.text, language)
    except ToolError as error:
        assert str(error).endswith(".")
        return
    assert all(sample.text[match.start : match.end] == match.text for match in matches)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_line_of_code_is_a_pattern_that_finds_itself(sample: Sample) -> None:
    language = detect_language(sample.name, sample.text)
    assert language is not None
    at_home = 0
    for line in {line.strip() for line in sample.text.split("\n")}:
        try:
            at_home += bool({line, line.rstrip(";,")} & set(found(line, sample.text, language)))
        except ToolError:
            continue  # a part of something
    assert at_home
