"""Parsing shell text: what is understood is exact, the rest is left alone."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.coding.shell.rewrite import (
    CdPrefix,
    TrimmedCommand,
    better_tool,
    fold_cd,
    internal_urls,
    quoted_at,
    without_limit,
)

TOOLS = ("read", "search", "find", "edit", "write")


@pytest.mark.parametrize(
    ("command", "folded"),
    [
        ("cd sub && make", CdPrefix("sub", "make")),
        ("  cd  ../a-b/c.d  &&make -j2\n", CdPrefix("../a-b/c.d", "make -j2\n")),
        ("cd -- 'with blank' && a; b || c", CdPrefix("with blank", "a; b || c")),
        ('cd "it\'s" && a 2>&1 | b &> c', CdPrefix("it's", "a 2>&1 | b &> c")),
        ("cd ~/x && ls", CdPrefix("~/x", "ls")),
        ("cd a &&\n  make", CdPrefix("a", "make")),
    ],
)
def test_leading_cd_is_found(command: str, folded: CdPrefix) -> None:
    assert fold_cd(command) == folded


@pytest.mark.parametrize(
    "command",
    [
        *("cd a; make", "cd a || make", "cd a", "cd && make", "cd - && make", "cd '~' && make", "cdx a && b"),
        *(
            "cd $HOME && ls",
            'cd "$HOME" && ls',
            "cd `pwd` && ls",
            "cd a* && ls",
            "cd a b && ls",
            "cd a\\ b && ls",
        ),
        *("cd a && server &", "cd a && x & y", "echo cd a && b", "(cd a && b)", "cd {a,b} && c"),
    ],
)
def test_other_uses_of_cd_are_left_alone(command: str) -> None:
    assert fold_cd(command) is None


@pytest.mark.parametrize(
    ("command", "limited"),
    [
        ("make 2>&1 | tail -20", TrimmedCommand("make", "tail", 20, "tail -20")),
        ("make 2>&1|tail -n5", TrimmedCommand("make", "tail", 5, "tail -n5")),
        ("make -j 2 |& tail", TrimmedCommand("make -j 2", "tail", 10, "tail")),
        (
            "./x 'a|b;c' \"d && e\" 2>&1 | tail --lines=7",
            TrimmedCommand("./x 'a|b;c' \"d && e\"", "tail", 7, "tail --lines=7"),
        ),
        ("A=1 pytest -q 2>&1 | head -n 50", TrimmedCommand("A=1 pytest -q", "head", 50, "head -n 50")),
        ("sh -c 'a > b; c' 2>&1 | tail -1", TrimmedCommand("sh -c 'a > b; c'", "tail", 1, "tail -1")),
        ("npm run build 2>&1 | head -5", TrimmedCommand("npm run build", "head", 5, "head -5")),
        ("a | b 2>&1 | tail -3", TrimmedCommand("a | b", "tail", 3, "tail -3")),
    ],
)
def test_trailing_limit_is_found(command: str, limited: TrimmedCommand) -> None:
    assert without_limit(command, 3000) == limited


@pytest.mark.parametrize(
    "command",
    [
        # Errors would not have passed through it.
        *("make | tail -20", "yes | head", "make > log 2>&1 | tail -5", "make 2>log | tail -5"),
        # It bounds what may be endless, or is quick because of it.
        *("yes 2>&1 | head -5", "find / 2>&1 | head", "npm run dev 2>&1 | head -9", "make watch 2>&1 | head"),
        *("pytest --looponfail 2>&1 | head", "pytest 2>&1 | grep x 2>&1 | head"),
        # It applies to a part of the command only.
        *(
            "a; b 2>&1 | tail -5",
            "a && b 2>&1 | tail -5",
            "a || b |& tail",
            "a\nb 2>&1 | tail",
            "a & b |& tail",
        ),
        # It does something else.
        *(
            "a 2>&1 | tail -f x",
            "a 2>&1 | tail -n +5",
            "a 2>&1 | tail -c 9",
            "a 2>&1 | head -n -5",
            "tail -5 x",
        ),
        *("a 2>&1 | tail -n 5 file", "a 2>&1 | tail -n 0", "a 2>&1 | tail -n 9999", "a 2>&1 | tail -5 | wc"),
        # Unknown without running it, or it changes the shell.
        *(
            "a $(b) 2>&1 | tail",
            'a "`b`" 2>&1 | tail',
            "a <<X 2>&1 | tail\nX",
            "(a) 2>&1 | tail",
            "a 'b 2>&1 | tail",
        ),
        *(
            "for i in 1; do a; done 2>&1 | tail",
            "cd x 2>&1 | tail",
            "time a 2>&1 | tail",
            "{ a; } 2>&1 | tail",
        ),
        *("", "|", "2>&1 | tail", "| tail -5", "a # b 2>&1 | tail"),
    ],
)
def test_limit_that_is_needed_or_unclear_is_left_alone(command: str) -> None:
    assert without_limit(command, 3000) is None


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        *((command, "read") for command in ("cat a.py", "head -5 x", "tail -n 3 x", "less x", " more x ")),
        *((command, "search") for command in ("grep -rn foo src", "rg 'a|b' .", "ag x", "ack x")),
        *((command, "find") for command in ("find . -name '*.py'", "fd x", "locate x")),
        *(
            (command, "edit")
            for command in ("sed -i s/a/b/ x", "sed -n -i.bak 1p x", "sed --in-place s/a/b/ x")
        ),
        *((command, "edit") for command in ("perl -pi -e 's/a/b/' x", "awk -i inplace '{print}' x")),
        *((command, "write") for command in ("echo hi > f", "printf '%s' x >f", "cat > f <<END\nx\nEND")),
        ("cat <<'END' > f\nx; y | z\nEND", "write"),
    ],
)
def test_command_with_a_better_tool_is_refused_if_the_tool_exists(command: str, tool: str) -> None:
    refused = better_tool(command, TOOLS)
    assert refused is not None and refused.startswith(f"Use the tool {tool} instead")
    assert better_tool(command, [name for name in TOOLS if name != tool]) is None


@pytest.mark.parametrize(
    "command",
    [
        *("cat a | wc -l", "cat a b > c", "tail -f log", "tail --follow log", "grep x f && echo y", "cat"),
        *("find . -name x -delete", "find . -exec rm {} +", "sed s/a/b/ x", "awk '{print}' x", "perl -e 1"),
        *("echo hi", "echo hi >> f", "echo x > /dev/null", "echo hi >&2", "git grep x", "catalog x", "make"),
    ],
)
def test_command_without_a_better_tool_is_not_refused(command: str) -> None:
    assert better_tool(command, TOOLS) is None


def test_only_internal_urls_are_found() -> None:
    text = 'cp artifact://3 "local://a b.md" x; curl https://a/b; psql postgres://h/d; echo my-artifact://4, tau://x.'
    assert [match[0] for match in internal_urls(text)] == ["artifact://3", "local://a", "tau://x"]


@pytest.mark.parametrize("around", ["{}", "'{}'", '"{}"', "a'b'{}", '"x y"{}', "\\'{}", "'a'\"'{}'\""])
@settings(max_examples=15)
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), min_size=1, max_size=12))
def test_inserted_path_is_one_word_in_any_quoting(around: str, name: str) -> None:
    before, after = around.split("{}")
    command = f"printf %s {before}artifact://1{after}"
    index = command.index("artifact://1")
    replaced = command.replace("artifact://1", quoted_at(command, index, name))
    wanted = command.replace("artifact://1", "MARK")
    outputs = [subprocess.run(["sh", "-c", text], capture_output=True).stdout for text in (replaced, wanted)]
    assert outputs[0] == outputs[1].replace(b"MARK", name.encode())
