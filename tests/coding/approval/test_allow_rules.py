"""What a user's allow pattern covers, and above all what it does not: commands, files, hosts."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.coding.approval.allow_rules import AllowRules, parse_rule
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import Workspace, decide
from tau.coding.approval.rules import RuleList
from tau.coding.approval.shell_syntax import simple_commands
from tau.coding.approval.suggestions import suggest_connection, suggest_run, suggest_write
from tests.support.limits import HANG_S

LOOKING = (
    *("run: git *", "run: sort *", "run: find *", "run: date *", "run: ls *", "run: echo *", "run: cat *"),
    *("run: rg *", "run: grep *", "run: xargs *", "run: env *", "run: sed *", "run: awk *", "run: uniq *"),
    *("run: tar *", "run: python *", "run: bash *", "run: curl *"),
)

COVERED = [
    "git status",
    "git log --oneline -n 5",
    "git log 'a b' \"c d\"",
    "git diff HEAD~1 HEAD^ -- src/main.py",
    "git status && git log | cat",
    "git status; ls -la;",
    "ls -la src/*.py",
    "ls 2>/dev/null",
    "git status > /dev/null 2>&1",
    "git log --grep='fix; rm -rf /'",
    'git log --grep="$" | cat'.replace("$", "x"),
    "echo a\\ b \\; c",
    "find . -name '*.py'",
    "sort -r names.txt",
    "date +%F",
    "rg -n needle src",
    "git add -u",
]

# Text that a shell would expand or run, and options that turn a reader into a writer or a runner.
NOT_COVERED = [
    # substitutions and expansions
    "git status $(touch x)",
    "git status `touch x`",
    'git status "$(touch x)"',
    'git status "`touch x`"',
    "git status ${IFS}x",
    "git status $HOME",
    'git log "$x"',
    "git status <(touch x)",
    "git diff <(touch x) >(touch y)",
    "git log $'\\x24(touch x)'",
    'git log $"x"',
    "echo {a,b}",
    "echo !!",
    "ls =rm",
    "ls *",
    "ls ?x",
    "ls [a-z]*",
    "ls -*",
    "ls ~*",
    "ls *(e:'touch x':)",
    "ls src/*(e:'touch x':)",
    # lists with something else in them
    "git status; rm -rf x",
    "git status && rm x",
    "git status || rm x",
    "git status | sh",
    "git status |& sh",
    "git status & rm x",
    "git status &",
    "git status\nrm x",
    "git status\r\nrm x",
    "git status \\\n; rm x",
    "git status\trm",
    "git status # harmless",
    "(git status)",
    "{ git status; }",
    "git status;; rm",
    "git status ; ; rm x",
    "; git status",
    "git status &&",
    "git status |",
    "! git status",
    "git status 'unclosed",
    'git status "unclosed',
    "git status \\",
    # redirections
    "git log > out.txt",
    "git log >out.txt",
    "git log>out.txt",
    "git log >> out.txt",
    "git log >| out.txt",
    "git log &> out.txt",
    "git log &>> out.txt",
    "git log &> /dev/null rm x",
    "git log 5>&1",
    "git log >& out.txt",
    "git log 2> out.txt",
    "git log 1>&2 3> out.txt",
    "git log > /dev/null/../x",
    "git log > /dev/nullx",
    'git log > /dev/null"x"',
    "cat < secret.txt",
    "cat << EOF",
    "cat <<< text",
    "git log <> x",
    "cat ²>/dev/null | sh",
    # assignments
    "PAGER='touch x' git log",
    "GIT_SSH_COMMAND=evil git fetch",
    "x=1",
    "a+=1 git status",
    "git=rm git status",
    # not the program by its name
    "./git status",
    "/tmp/git status",
    "'git' status",
    "g\\it status",
    "gi't' status",
    "git* status",
    "=git status",
    "\u2003git status",
    "git\u00a0status",
    # keywords
    "if git status",
    "while git status",
    "time git status",
    "exec git status",
    "coproc git status",
    "function git",
    # options that run a program, or write a file
    "git -c core.pager='touch x' log",
    "git -ccore.pager=x log",
    "git --config-env=a=b log",
    "git --exec-path=/tmp status",
    "git -C /elsewhere status",
    "git --git-dir=/elsewhere/.git status",
    "git log --output=x",
    "git log --outp=x",
    "git diff --ext-diff",
    "git grep -O'touch x' needle",
    "git grep --open-files-in-pager=sh needle",
    "git ls-remote --upload-pack='touch x' .",
    "git fetch --upl='touch x'",
    "git archive -o x HEAD",
    "git rebase -x 'touch x' main",
    "git rebase --exec 'touch x' main",
    "git bisect run sh",
    "git bisec* run sh",
    "git submodule foreach 'touch x'",
    "git config core.pager x",
    "git difftool -x touch",
    "sort -o x names.txt",
    "sort -ro x names.txt",
    "sort --output=x names.txt",
    "sort --out x names.txt",
    "sort --compress-program=sh names.txt",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -execdir touch x ';'",
    "find . -ok rm ';'",
    "find . -fprint x",
    "find . -fprintf x %p",
    "find . -fls x",
    "date -s 2030-01-01",
    "date --set=2030-01-01",
    "date --se 2030-01-01",
    "rg --pre sh needle",
    "xargs rm",
    "env rm x",
    "sed -i s/a/b/ x",
    "sed 'w x' y",
    "sed -n '1e touch x' y",
    "awk 'BEGIN{system(\"touch x\")}'",
    "uniq a b",
    "tar --checkpoint-action=exec=sh -cf x y",
    "tar xf y",
    "python -c 'import os'",
    "python tool.py --verbose",
    "bash -c 'touch x'",
    "bash script.sh",
    "curl -o x https://example.com",
    "curl --output x https://example.com",
    "ls | xargs rm",
]


@pytest.mark.parametrize("command", COVERED)
def test_pattern_covers_matching_subjects(command: str) -> None:
    assert AllowRules.of(LOOKING).command(command, ())


@pytest.mark.parametrize("command", NOT_COVERED)
def test_pattern_does_not_cover_subjects_that_merely_share_a_prefix(command: str) -> None:
    assert not AllowRules.of(LOOKING).command(command, ())


@pytest.mark.parametrize("command", NOT_COVERED)
def test_uncovered_subjects_require_approval(command: str, tmp_path: Path) -> None:
    permissions = Permissions(mode="ask", allow=RuleList.of("allow", LOOKING))
    effects, workspace = Effects(runs=(command,)), Workspace.of((tmp_path,))
    assert decide(effects, permissions, workspace, demo=False, contained=False).verdict != "allow"


@pytest.mark.parametrize(
    ("pattern", "command", "covers"),
    [
        ("run: git status", "git status", True),
        ("run: git status", "git status -s", False),
        ("run: git status *", "git status", True),
        ("run: git status *", "git status -s .", True),
        ("run: git status *", "git stash", False),
        ("run: git status*", "git status -s", True),
        ("run: git st* -s", "git status -s", True),
        ("run: git st* -s", "git status -s x", False),
        ("run: git * status", "git -C status", False),
        ("run: make test-*", "make test-all", True),
        ("run: make test-*", "make install", False),
        ("run: git -C /srv/x status", "git -C /srv/x status", True),
        ("run: sort -o out *", "sort -o out names", True),
        ("run: sort -o out *", "sort -o out -o /etc/passwd", False),
        ("run: echo 'a b'", "echo 'a b'", True),
        ("run: echo 'a b'", "echo a b", False),
        ("write: /tmp/**", "git status", False),
        ("RUN : git status", "git status", True),
    ],
)
def test_words_are_compared_one_by_one(pattern: str, command: str, covers: bool) -> None:
    assert AllowRules.of([pattern]).command(command, ()) is covers


def test_every_command_of_a_pipeline_needs_a_pattern() -> None:
    both = AllowRules.of(["run: git status", "run: head *"])
    assert both.command("git status | head -3", ())
    assert not AllowRules.of(["run: git status"]).command("git status | head -3", ())


def test_cd_is_allowed_inside_the_workspace(tmp_path: Path) -> None:
    inside, outside = tmp_path.resolve() / "work", tmp_path.resolve() / "other"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    allowed = AllowRules.of(["run: git status *"])
    assert allowed.command(f"cd {inside}/src && git status", [inside])
    assert not allowed.command(f"cd {outside} && git status", [inside])
    assert not allowed.command(f"cd {inside}/link && git status", [inside])
    assert not allowed.command(f"cd {inside}/../other && git status", [inside])
    assert not allowed.command(f"cd {inside}; git status", [inside])
    assert not allowed.command(f"cd {inside}", [inside])
    assert not allowed.command("cd src && git status", [inside])


@pytest.mark.parametrize(
    ("pattern", "path", "covers"),
    [
        ("notes/**", "notes/a.md", True),
        ("notes/**", "notes/deep/down/a.md", True),
        ("notes/**", "notes", False),
        ("notes/**", "notes-two/a.md", False),
        ("notes/*", "notes/a.md", True),
        ("notes/*", "notes/deep/a.md", False),
        ("notes/*.md", "notes/a.md", True),
        ("notes/*.md", "notes/a.txt", False),
        ("**/x.md", "deep/er/x.md", True),
        ("**/x.md", "x.md", True),
        ("notes/a.md", "notes/a.md", True),
        ("notes/a.md", "notes/a.mdx", False),
        ("notes/a.m.", "notes/a.md", False),
        ("link/**", "real/a.md", True),
        ("link/**", "notes/a.md", False),
    ],
)
def test_paths(tmp_path: Path, pattern: str, path: str, covers: bool) -> None:
    base = tmp_path.resolve()
    (base / "real").mkdir()
    (base / "link").symlink_to(base / "real")
    assert AllowRules.of([f"write: {base}/{pattern}"]).write(base / path) is covers


def test_path_may_start_with_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    allowed = AllowRules.of(["write: ~/notes/**"])
    assert allowed.write(tmp_path.resolve() / "notes" / "a")
    assert suggest_write(tmp_path.resolve() / "notes" / "a") == ("write: ~/notes/*",)


def test_file_in_the_home_folder_is_suggested_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A pattern for ~/notes.txt must not allow ~/.bashrc."""
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    assert suggest_write(tmp_path.resolve() / "notes.txt") == ("write: ~/notes.txt",)
    assert suggest_write(tmp_path.resolve() / "a*") == ()


@pytest.mark.parametrize(
    ("pattern", "host", "covers"),
    [
        ("connect: example.com", "example.com", True),
        ("connect: Example.com", "EXAMPLE.com", True),
        ("connect: *.example.com", "api.example.com", True),
        ("connect: *.example.com", "example.com.evil.org", False),
        ("connect: example.com", "*", False),
        ("connect: *", "*", True),
    ],
)
def test_hosts(pattern: str, host: str, covers: bool) -> None:
    assert AllowRules.of([pattern]).connection(host) is covers


@pytest.mark.parametrize(
    "pattern",
    [
        *("run: *", "run: g* status", "run: 'unclosed", "run:", "git status", "execute: ls", ""),
        *("write: notes/**", "write: /a/../b", "run: a\nb", "run: " + "x" * 2_000),
    ],
)
def test_invalid_pattern_is_reported_and_allows_nothing(pattern: str) -> None:
    allowed = AllowRules.of([pattern])
    assert allowed.rules == ()
    assert len(allowed.problems) == 1
    with pytest.raises(ValueError, match=r"."):
        parse_rule(pattern)


def test_number_of_patterns_is_limited() -> None:
    allowed = AllowRules.of([f"run: echo {number}" for number in range(600)])
    assert len(allowed.rules) == 500
    assert len(allowed.problems) == 1


def test_patterns_never_cover_files_of_git_and_tau(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    workspace = Workspace.of((base / "work",), (base / "home",))
    permissions = Permissions(allow=RuleList.of("allow", [f"write: {base}/**"]))
    for path, verdict in (
        ("work/.git/config", "ask"),
        ("home/settings.json", "ask"),
        ("other/a.txt", "allow"),
    ):
        effects = Effects(writes=(base / path,))
        assert decide(effects, permissions, workspace, demo=False, contained=False).verdict == verdict


def test_patterns_do_not_apply_to_the_demo_model_or_non_shell_code(tmp_path: Path) -> None:
    workspace = Workspace.of((tmp_path,))
    permissions = Permissions(mode="ask", allow=RuleList.of("allow", ["run: git status"]))
    effects = Effects(runs=("git status",))
    for demo, shell, verdict in ((False, True, "allow"), (True, True, "ask"), (False, False, "ask")):
        found = decide(effects, permissions, workspace, demo=demo, contained=False, shell=shell)
        assert found.verdict == verdict


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        ("git status -s", ["run: git status *"]),
        ("git log | head -3", ["run: git log *", "run: head *"]),
        ("cd /x && git diff", ["run: git diff *"]),
        ("git push origin main", ["run: git push origin main"]),
        ("rm -rf build", ["run: rm -rf build"]),
        ("git log --output=x", ["run: git log --output=x"]),
        ("make test", ["run: make test"]),
        ("npm run build", ["run: npm run build"]),
        ("python -m pytest", ["run: python -m pytest"]),
        ("echo 'a b'", ["run: echo *"]),
        ("cp 'a b' c", ["run: cp 'a b' c"]),
        ("ls", ["run: ls"]),
        ("echo $HOME", []),
        ("for x in a; do rm x; done", []),
        ("rm src/*.pyc", []),
        ("a; b; c; d", []),
        ("cat > x <<EOF", []),
    ],
)
def test_suggested_patterns_are_narrow_and_cover_the_command(command: str, patterns: list[str]) -> None:
    suggested = suggest_run(command)
    assert list(suggested) == patterns
    if suggested:
        assert AllowRules.of(suggested).command(command, [Path("/x")])


def test_hosts_and_odd_folders_are_suggested_literally_or_not_at_all() -> None:
    assert suggest_connection("example.com") == ("connect: example.com",)
    assert suggest_connection("*") == ()
    assert suggest_write(Path("/top.txt")) == ()
    assert suggest_write(Path("/a*b/top.txt")) == ()


def test_words_match_shell_word_splitting() -> None:
    assert simple_commands("""git log --grep='it'"'"'s' a\\"b "c \\"d\\" \\x" """) == [
        ("git", "log", "--grep=it's", 'a"b', 'c "d" \\x')
    ]
    assert simple_commands("a && b|c ; d") == [("a",), ("b",), ("c",), ("d",)]
    assert simple_commands("") is None
    assert simple_commands("x" * 20_000) is None


PIECES = (
    *("prog", "prog ", "prog a", " ", " ", " ", "'", '"', "\\", "$", "`", "(", ")", "{", "}", "|", "&&", "&"),
    *("<", ">", "a*", "*", "?", "a[b]", "=", "#", "!", "^", "a", "b", "1", ">/dev/null", "2>&1", "||"),
    *(";", "-x", "' '", '" "', "\\ ", "$(prog)", "x=", "\\;"),
)


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_real_shell_splits_into_the_same_words(tmp_path: Path, shell: str) -> None:
    """Random text: whatever parses as simple commands is, to a shell, a call with these words."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell} to compare with")
    chance = random.Random(7)
    texts = {f"prog {''.join(chance.choices(PIECES, k=chance.randint(1, 8)))}" for _ in range(20_000)}
    simple = {text: found for text in sorted(texts) if (found := simple_commands(text)) is not None}
    wanted = {
        text: found
        for text, found in simple.items()
        if all(words[0] == "prog" for words in found) and "|" not in text
    }
    assert len(wanted) > 800
    keep = "setopt nonomatch; " if shell == "zsh" else ""  # a pattern that no file fits is itself
    script = keep + 'exec 9>&1; prog() { printf "<%s>" "$#" "$@" >&9; }; '
    script += 'for text; do (eval "$text"); printf "\\0"; done'
    ran = subprocess.run(
        [shell, "-c", script, shell, *wanted], cwd=tmp_path, capture_output=True, timeout=HANG_S
    )
    reported = ran.stdout.decode().split("\0")[:-1]
    for (text, found), shown in zip(wanted.items(), reported, strict=True):
        words = "".join("".join(f"<{word}>" for word in (str(len(one) - 1), *one[1:])) for one in found)
        assert shown == words, text
