"""Shell text as simple commands, compared with what bash runs.

No program is found on the path, so bash hands every call to a function that reports its arguments.
"""

import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.coding.approval import shell_syntax
from tau.coding.approval.shell_syntax import (
    ParsedCommand,
    ShellCommand,
    parse_command,
    read_command,
    simple_commands,
)
from tau.coding.approval.shell_words import ShellWord
from tests.support.limits import HANG_S

REPORT = r"""
command_not_found_handle() {
  local all; printf -v all '%s\1' "$@"; printf '%s\2' "${all//$'\n'/$'\4'}" >&9
  [[ $1 != no* ]]
}
PATH=/nowhere
for text; do
  called=$( ( eval "$text" ) 9>&1 </dev/null >/dev/null 2>&1 )  # ends with the last process that it started
  printf '%s\3' "$called"
done
"""

# Each command runs once, and nothing but quotes is removed.
EXACT = [
    # words and quotes
    "p",
    "p a b",
    "  p   a\tb  ",
    "p 'a b' \"c d\"",
    "p 'a'\"b\"c",
    "p ''",
    'p "" x',
    "p a''b",
    'p "it\'s"',
    "p 'say \"x\"'",
    "p 'it'\\''s'",
    "p 'a\nb'",
    'p "a\nb"',
    'p "  a  "',
    "p 'a $x `b` \\n'",
    "p é 日本 😀",
    "p a=b --x=y -n5 -- -",
    "p x=1 y=2",
    "p @ % + , . / : x@y a:b a%b a+b",
    "p == =~ -eq",
    "p if then for do done case esac in function time",
    "p a]b c]",
    "p http://x/y",
    "'p' a",
    '"p q" a',
    "p\\ q a",
    # escapes
    "p a\\ b",
    "p \\'",
    'p \\"',
    "p a\\\\b",
    "p \\$x \\`y\\`",
    "p \\* \\? \\[a] \\~ \\{a,b}",
    "p \\# \\! \\; \\| \\& \\< \\> \\( \\)",
    "p a\\nb",
    'p "a\\"b"',
    'p "a\\\\b"',
    'p "a\\nb\\\'c"',
    'p "\\$x \\`y\\`"',
    "p '\\'",
    "p $'a\\tb' $'it\\'s' $'\\x41\\101' $'a\\\\b' $'\\e[0m' $'\"'",
    "p $'a b'c",
    # line continuations and comments
    "p a \\\n b",
    "p \\\n  -a \\\n  -b",
    "p a # b c",
    "p a #'b",
    "p a; # b\nq",
    "# a\np b",
    "p '# a'",
    'p "# a"',
    "p \\#a",
    # lists and pipelines
    "p; q",
    "p ; q ;",
    "p && q",
    "no || q",
    "p && q; r",
    "p | q",
    "p|q|r",
    "p |& q",
    "p\nq\n\nr",
    "p &&\nq |\nr",
    "p & wait",
    "! p",
    "! p | q",
    "time p a",
    "time -p p a",
    # redirections
    "p > out a",
    "p a >out b",
    "> out p a",
    "p 2>/dev/null",
    "p 2>&1 a",
    "p 1>&2 2>&1",
    "p a2>out",
    "p 2 >out",
    "p a>out",
    "p >>out 2>>err",
    "p >| out",
    "p &> out a",
    "p &>> out",
    "p >& out",
    "p < /dev/null a",
    "p <<< 'a b' c",
    "p 2>&-",
    "p >'a b' c",
    "p && q > out a",
    "p | q > out a",
    "{ p a; q; } > out",
    "(p; q) 2>&1",
    # here-documents
    "p <<E\na\nE",
    "p a <<'E'\n$(q)\n`r`\nE",
    'p <<"E"\n$(q)\nE\nr',
    "p <<E\nit's \\$5\nE",
    "p <<-E\n\ta\n\tE\nq",
    "p <<E | q a\nx\nE",
    "p <<E && q > out\nx\nE\nr",
    "p > out <<E\nx\nE",
    "p <<E > out\nx\nE",
    "p <<E\nE",
    "p <<E\n$(q a)\nE",
    # assignments
    "a=1 p b",
    "a='x y' b=2 p",
    "a= p",
    "a+=1 p",
    "a=1; p",
    "a=(x y); p",
    "a[0]=x; p",
    "a=$(p b)",
    # compound commands
    "(p a)",
    "(p; q)",
    "( (p) )",
    "{ p a; }",
    "{ p; q\n}",
    "if p; then q; fi",
    "if no; then :; else q; fi",
    "if no; then :; elif p; then q; fi",
    "if p\nthen\nq\nfi > out",
    "for x in a; do p; done",
    "for x in 'a b'\ndo\np c\ndone",
    "while no; do :; done",
    "until p; do :; done",
    "case a in a) p;; esac",
    "case a in\n  (a|b) p x ;;\nesac",
    "case a in a) p;& b) q;; esac",
    "f() { p a; }; f",
    "function f { p; }; f",
    "f() ( p ); f",
    "[[ -n a ]] && p",
    "[[ a == a* && b =~ ^b$ ]] && p",
    "[ -n a ] && p",
    "[ a = b -o c = c ] && p",
    "(( 1 + 1 )) && p",
    # substitutions that print nothing, in places where no word is left over
    ": $(p a)",
    ': "$(p a; q "b c")"',
    ": `p a`",
    ": \"`p 'a b'`\"",
    ": $(: $(q))",
    ": $(< /dev/null)",
    ": $(p | q)",
    ": $(p # c\n)",
    ": ${x:-$(p)}",
    ': "${x:-"$(p)"}"',
    ": $((1 + $(p; echo 1)))",
    ": <(p a)",
    "for x in $(p); do :; done",
    "case $(p) in a) :;; esac",
    "[[ $(p) == a ]]",
    "[ $(p) = a ]",
    "export a=$(p)",
    "a=($(p) b)",
    ": > $(p; echo out)",
]
BUILTINS = {":", "wait", "echo", "export", "[", "f"}

# What bash does with these depends on more than the text.
EXPANDED = [
    ("p $x", "parameter"),
    ('p "$x"', "parameter"),
    ('p "  $x  "', "parameter"),
    ("p ${x:-a}", "parameter"),
    ("p a$", "parameter"),
    ("p $? $# $@ $$", "parameter"),
    ("p $(q)", "command"),
    ("p `q`", "command"),
    ('p "a $(q) b"', "command"),
    ("p <(q)", "process"),
    ("p $((1 + 2))", "arithmetic"),
    ("p $[1 + 2]", "arithmetic"),
    ("p {a,b}", "brace"),
    ("p a{1..3}b", "brace"),
    ("p {}", "brace"),
    ("p ~ ~/x", "tilde"),
    ("p a=~/x", "tilde"),
    ("p a*", "glob"),
    ("p a?b", "glob"),
    ("p a[bc]", "glob"),
    ("p a'b'*", "glob"),
    ("p !x", "history"),
    ('p "a!"', "history"),
    ("p a#b", "zsh"),
    ("p =a", "zsh"),
    ("p ^a", "zsh"),
    ("p $'a'", "ansi-c"),
    ("$x a", "parameter"),
    ("$(p) a", "command"),
]

NOT_UNDERSTOOD = [
    # bash reports an error, or might
    "p 'a",
    'p "a',
    "p $(q",
    "p `q",
    "p &&",
    "p |",
    "; p",
    "p;; q",
    "p ; ; q",
    "p & ; q",
    "(p",
    "p )",
    "{ p; ",
    "{ p }",
    "p; }",
    "if p; then q",
    "p; fi",
    "for x in a; do p done",
    "p <<E\na",
    "p \\",
    "then p",
    # bash and the grammar disagree
    "p a\\\nb",
    "p\\\n-x",
    "p \\ a",
    "p a \\ ",
    "\\ p",
    "p\n\\\nq",
    "p `q \\`r\\``",
    "{p a; }",
    "!p\n!]",
    "p {x}>out",
    "[ a > b ]",
    "[ a && b ]",
    "[ a\n= b ]",
    "p >& -x",
    "p >&-x",
    "1a=b p",
    "é=b p",
    "p ${x/`q`/b}",
    "p \"${x:-'$(q)'}\"",
    "p ${x/{1..2}/q}",
    "(( ${x:-)} ))",
    "p $((q) ; (r))",
    "((p) ; (q))",
    "p <<E\na\\\nE\nq\nE",
    "p <<E\n`q \\`r\\``\nE",
    "p <<E\n${x/`q`/}\nE",
    "p <<A <<B\nA\nB",
    "p <<E\n E\nE2\nE",
    "p <<E\n\\$(q)\nE",
    "x=$ p",
    "- x=1 p",
    "p -E<<-E\nE",
    "p $'\\xff' $'\\u00e9' $'\\0'",
    'p $"a"',
    # too rare to be worth it
    "coproc p",
    "coproc P { p; }",
    "p | time q",
    "a=1 time p",
    "time a=1 p",
    "time { p; }",
    "for ((i=0; i<3; i++)); do p; done",
    "p @(a|b)",
    "p <> out",
    "p (a)",
    # zsh
    "p *(e:'q':)",
    "p =(q)",
    # characters that are not what they seem
    "p\r\nq",
    "p\u00a0a",
    "p\u2003a",
    "p \x00",
    "p \x1b[0m",
    "p " + "a" * 10_000,
    "(" * 5_000,
    "$(p " * 2_000 + ")" * 2_000,
]


def run_in_bash(texts: list[str], folder: Path) -> list[list[tuple[str, ...]]]:
    """The commands that bash runs for each text."""
    ran = subprocess.run(
        ["bash", "--norc", "-c", REPORT, "bash", *texts],
        cwd=folder,
        env={"LC_ALL": "C.UTF-8", "HOME": "/home/x"},
        capture_output=True,
        timeout=HANG_S,
    )
    reports = ran.stdout.decode(errors="replace").replace("\4", "\n").split("\3")[:-1]
    return [[tuple(call.split("\1")[:-1]) for call in report.split("\2")[:-1]] for report in reports]


def commands_of(parsed: ParsedCommand) -> Counter[tuple[str, ...]]:
    calls = (tuple(word.text for word in command.words) for command in parsed.commands)
    return Counter(call for call in calls if call and call[0] not in BUILTINS)


def may_run(command: ShellCommand, call: tuple[str, ...]) -> bool:
    return _may_become(command.words, call)


def _may_become(words: tuple[ShellWord, ...], call: tuple[str, ...]) -> bool:
    if not words:
        return not call
    if words[0].expansions - {"ansi-c", "history", "zsh"}:
        return any(_may_become(words[1:], call[at:]) for at in range(len(call) + 1))
    return bool(call) and call[0] == words[0].text and _may_become(words[1:], call[1:])


def test_bash_runs_the_same_commands(tmp_path: Path) -> None:
    for text, calls in zip(EXACT, run_in_bash(EXACT, tmp_path), strict=True):
        parsed = parse_command(text)
        assert parsed is not None, text
        assert commands_of(parsed) == Counter(calls), text


@pytest.mark.parametrize(("text", "expansion"), EXPANDED)
def test_expansions_are_marked(tmp_path: Path, text: str, expansion: str) -> None:
    parsed = parse_command(text)
    assert parsed is not None
    assert expansion in {kind for word in parsed.commands[0].words for kind in word.expansions}
    (calls,) = run_in_bash([text], tmp_path)
    for call in calls:
        assert any(may_run(command, call) for command in parsed.commands)


@pytest.mark.parametrize("text", NOT_UNDERSTOOD, ids=lambda text: ascii(text[:40]))
def test_unparsable_text_yields_no_commands(text: str) -> None:
    assert parse_command(text) is None
    assert simple_commands(text) is None


def test_a_command_has_assignments_words_and_redirections() -> None:
    parsed = parse_command("A=1 B='x y' git log \"$a\" -n5 2>/dev/null >out")
    assert parsed is not None and parsed.constructs == frozenset()
    (command,) = parsed.commands
    assert [(each.name, each.value.text) for each in command.assignments] == [("A", "1"), ("B", "x y")]
    assert command.name == ShellWord("git", "git")
    assert command.arguments == (
        ShellWord("log", "log"),
        ShellWord("$a", '"$a"', frozenset({"parameter"})),
        ShellWord("-n5", "-n5"),
    )
    assert [(each.descriptor, each.operator, each.target.text) for each in command.redirections] == [
        ("2", ">", "/dev/null"),
        ("", ">", "out"),
    ]


def test_a_redirection_belongs_to_the_command_before_it() -> None:
    parsed = parse_command("a && b | c >out d")
    assert parsed is not None
    assert [len(command.redirections) for command in parsed.commands] == [0, 0, 1]
    parsed = parse_command("a && { b; c >inner; } 2>outer")
    assert parsed is not None
    assert [len(command.redirections) for command in parsed.commands] == [0, 0, 1]
    assert [each.source for each in parsed.redirections] == ["2>outer"]


@pytest.mark.parametrize(
    ("text", "constructs"),
    [
        ("a; b && c || d | e;", set()),
        ("a &", {"&"}),
        ("a |& b", {"|&"}),
        ("! a", {"negated_command"}),
        ("(a)", {"subshell"}),
        ("a # b", {"comment"}),
        ("a>b", {"glued_redirect"}),
        ("time a", {"time"}),
        ("if a; then b; fi", {"if_statement"}),
        ("f() { a; }", {"function_definition", "compound_statement"}),
        ("a $(b)", {"command_substitution"}),
    ],
)
def test_constructs_beyond_a_list_are_named(text: str, constructs: set[str]) -> None:
    parsed = parse_command(text)
    assert parsed is not None and parsed.constructs == constructs


def test_a_glob_that_may_match_an_option_is_marked() -> None:
    for text, is_option in (
        ("p *", True),
        ("p -*", True),
        ("p ''*", True),
        ("p ./*", False),
        ("p a*", False),
    ):
        parsed = parse_command(text)
        assert parsed is not None
        assert ("option-glob" in parsed.commands[0].words[1].expansions) is is_option


PIECES = (
    *("p", "q", "r x", "s 'a b'", 't "a b"', "no", "u", "p", "q", *" " * 8, ";", " && ", " || ", " | ", "|&"),
    *("\n", "\n", "(", ")", "{ ", "; }", "}", "$(", "$(", ")", "`", "`", '"', '"', "'", "'", "\\", "\\\n"),
    *("$'", "${x:-", "$((", "))", "((", "1", "+", "$x", "$", "#", " #", "!", "! ", "if ", "; then ", "; fi"),
    *("for i in ", "; do ", "; done", "case ", " in ", ") ", ";; ", " esac", "[[ ", " ]]", "[ ", " ]"),
    *(" -n ", " = ", " == ", " =~ ", "<", ">", "2>", "&>", ">&", "2>&1", ">/dev/null", "<<E\n", "<<'E'\n"),
    *(
        "<<-E\n",
        "\nE\n",
        "\nE\n",
        "<<<",
        "x=",
        "x+=",
        "y=(",
        "a[1]=",
        "{a,b}",
        "*",
        "?",
        "[ab]",
        "~",
        "time ",
    ),
    *(
        "export ",
        "declare ",
        "unset ",
        "=",
        "^",
        "%",
        "\t",
        "é",
        "\\ ",
        "\\'",
        '\\"',
        "\\n",
        "else ",
        "elif ",
    ),
    *("\\`", "\\$", "-", "--", " \\\n", "\\\\", "@(a|b)", "'\\''", ",", "{1..2}", "[", "]", "E"),
)
SHAPES = (
    *("if {}; then {}; else {}; fi", "for i in {}; do {}; done", "case {} in {}) {};; *) {};; esac"),
    *("{{ {}; }}", "( {} )", "$( {} )", '"$({})"', "`{}`", "{} && {}", "{} | {}", "! {}", "{} # {}\n{}"),
    *("p <<E\n{}\nE\n{}", "p <<'E'\n{}\nE\n{}", "p <<E | {}\n{}\nE", "p <<-E > o\n\t{}\n\tE\n{}"),
    *("[[ {} == {} ]]", "[ {} = {} ]", "(( {} ))", "$(( {} ))", "${{x:-{}}}", '"${{x:-{}}}"', "${{x/{}/{}}}"),
    *("x={} {}", "x=({}) {}", "{} > {}", "{} <<< {}", "'{}'", '"{}"', "$'{}'", "{} \\\n {}", "{}\\\n{}"),
    *("time {}", "export {}", "declare x={}", "{{ {}; }} > {}", "{}; {}", "{}\n{}", "p {} q", "x[{}]=1"),
)


def make_text(chance: random.Random, depth: int = 0) -> str:
    if depth < 3 and chance.random() < 0.45:
        shape = chance.choice(SHAPES)
        count = shape.replace("{{", "").replace("}}", "").count("{}")
        return shape.format(*(make_text(chance, depth + 1) for _ in range(count)))
    return "".join(chance.choices(PIECES, k=chance.randint(1, 3 if depth else 7)))


def test_bash_runs_only_parsed_commands(tmp_path: Path) -> None:
    """Random text: each call that bash makes is one of the parsed commands."""
    chance = random.Random(11)
    parsed = {text: found for _ in range(2_000) if (found := parse_command(text := make_text(chance)))}
    assert len(parsed) > 300
    calls = run_in_bash(list(parsed), tmp_path)
    assert sum(map(len, calls)) > 300
    for (text, found), made in zip(parsed.items(), calls, strict=True):
        for call in made:
            assert any(may_run(command, call) for command in found.commands), (text, call)


_WORDS = st.sampled_from(
    (
        *(
            "ls",
            "-la",
            "0x12",
            "0x1f",
            "12",
            "-5",
            "-0x3",
            "--",
            "-",
            "..",
            "./x",
            "a:b",
            "1.2",
            "exec",
            "let",
        ),
        *(
            "time",
            "export",
            "local",
            "unsetenv",
            "if",
            "in",
            "do",
            "done",
            "function",
            "select",
            "coproc",
            ".",
        ),
    )
) | st.text("abtx019./_:,@%+-", min_size=1, max_size=6)


@given(st.lists(_WORDS, min_size=1, max_size=5).map(" ".join))
def test_plain_command_is_read_as_the_grammar_reads_it(text: str) -> None:
    plain = shell_syntax._read_plain(text)
    if plain is not None:
        assert plain == shell_syntax._read_with_grammar(text)


def test_plain_command_does_not_load_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_syntax, "parse", None)
    read_command.cache_clear()
    assert read_command("git log -n 3 src/main.py").commands[0].arguments[2].text == "3"
