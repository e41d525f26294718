"""Shell lines that bash runs under strace: all that it runs and changes outside is in the report."""

import os
import shlex
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.safety.commands_trace import Place, find_lie, make_place, report_line, reset, run_traced

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to see what bash does")

LINES = [
    # plain and quoted names
    "touch OUT/x",
    "r\\m OUT/a",
    "r''m OUT/a",
    "$'\\x72m' OUT/a",
    '"rm" OUT/a',
    "'rm' -f a",
    "x=rm; $x OUT/a",
    "$(echo rm) OUT/a",
    "{rm,OUT/a}",
    "/bin/rm -f OUT/a",
    # redirections
    "echo x > OUT/x",
    "echo x >> OUT/a",
    "echo x >| OUT/a",
    "echo x &> OUT/x",
    "echo x &>> OUT/x",
    "echo x >& OUT/x",
    "echo x 2> OUT/x",
    "> OUT/x",
    ": <> OUT/x",
    "{ echo a; echo b; } > OUT/x",
    "(echo a) > OUT/x",
    "if true; then echo a; fi > OUT/x",
    "for f in 1 2; do echo $f; done > OUT/x",
    "echo x > link/x",
    "echo x > leak",
    "echo x > ../out/x",
    "echo x > sub/../../out/x",
    "echo x > ~/x",
    'echo x > "$HOME/x"',
    "exec > OUT/x; echo a",
    "cat > OUT/x <<E\ntext\nE",
    "cat <<E > OUT/x && touch OUT/y\ntext\nE",
    "cat <<'E' | tee OUT/x\ntext\nE",
    "echo x > OUT/$(echo name)",
    # substitutions
    "echo $(touch OUT/x)",
    "echo `touch OUT/x`",
    'echo "$(touch OUT/x)"',
    "cat <(touch OUT/x)",
    "echo x > >(tee OUT/x); sleep 0.1",
    "x=$(touch OUT/x)",
    "a=($(touch OUT/x))",
    "echo ${y:-$(touch OUT/x)}",
    "echo $(( $(touch OUT/x; echo 1) + 1 ))",
    "cat <<E\n$(touch OUT/x)\nE",
    "cat <<< $(touch OUT/x)",
    "[[ -n $(touch OUT/x) ]]",
    "case $(touch OUT/x) in *) ;; esac",
    # working folders
    "cd OUT && rm -f a",
    "cd OUT; rm -f a",
    "cd ../out && rm -f a",
    "cd link && rm -f a",
    "cd; rm -f a",
    "cd sub && rm -f ../a",
    "cd sub && rm -f ../../out/a",
    "cd sub; cd ..; cd ../out; rm -f a",
    "pushd OUT; rm -f a; popd; rm -f a",
    "pushd OUT && popd && rm -f a",
    "(cd OUT; rm -f a); rm -f a",
    "(cd OUT); rm -f a",
    "cd nowhere || cd OUT; rm -f a",
    "cd nowhere && rm -f a; rm -f b",
    "cd sub || exit 1; rm -f ../a",
    "cd OUT | cat; rm -f a",
    "cd OUT & wait; rm -f a",
    "{ cd OUT; }; rm -f a",
    "if true; then cd OUT; fi; rm -f a",
    "for d in 1; do rm -f a; cd OUT; done",
    "while true; do rm -f a; cd ..; cd out; rm -f b; break; done",
    "f() { rm -f a; }; cd OUT; f",
    "f() { cd OUT; }; f; rm -f a",
    "eval 'cd OUT'; rm -f a",
    "trap 'rm -f a' EXIT; cd OUT",
    "command cd OUT; rm -f a",
    "builtin cd OUT && rm -f a",
    "CDPATH=OUT cd sub; rm -f a",
    "CDPATH=OUT; cd sub && rm -f a",
    "cd sub && cd - && cd OUT && cd - && rm -f a",
    "cd OUT && cd WORK && rm -f a",
    "cd OUT/sub/.. && rm a",
    "cd -P link/sub/.. && rm a",
    "HOME=WORK; touch ~/x",
    "HOME=OUT; cd ~; touch x",
    # wrappers
    "env rm OUT/a",
    "env X=1 rm OUT/a",
    "env -i PATH=BIN rm OUT/a",
    "env -C OUT rm a",
    "env -S 'rm OUT/a'",
    "sudo rm OUT/a",
    "timeout 5 rm OUT/a",
    "timeout -s KILL 5 rm OUT/a",
    "nice rm OUT/a",
    "nice -n 5 rm OUT/a",
    "nohup rm OUT/a",
    "setsid rm OUT/a; sleep 0.1",
    "stdbuf -oL rm OUT/a",
    "time rm OUT/a",
    "command rm OUT/a",
    "exec rm OUT/a",
    "coproc rm OUT/a; wait",
    "flock OUT/lock rm OUT/a",
    "flock a -c 'rm OUT/a'",
    "echo OUT/a | xargs rm",
    "echo OUT/a | xargs -I{} rm {}",
    "echo a | xargs -n1 sh -c 'rm OUT/$0'",
    "find OUT -name a -delete",
    "find OUT -name a -exec rm {} ;".replace(" ;", " \\;"),
    "find . -name a -exec touch OUT/x \\;",
    "find . -name a -execdir touch OUT/x \\;",
    "find -L link -name a -delete",
    "find . -fprint OUT/x",
    "find link/ -name a -delete",
    "bash -c 'rm OUT/a'",
    "sh -c 'touch OUT/x'",
    "bash -xec 'cd OUT && rm a'",
    "bash <<E\nrm OUT/a\nE",
    "sh <<< 'rm OUT/a'",
    "echo 'rm OUT/a' | sh",
    "cat script | bash",
    "bash < script",
    "bash -s < script",
    "timeout 5 bash -c 'nice rm OUT/a'",
    "env bash -c \"eval 'rm OUT/a'\"",
    # builtins that run text
    "eval rm OUT/a",
    "eval 'rm' 'OUT/a'",
    'eval "$(echo rm OUT/a)"',
    "trap 'rm OUT/a' EXIT",
    "trap 'rm OUT/a' DEBUG; :",
    "shopt -s expand_aliases\nalias z='rm OUT/a'\nz",
    "shopt -s expand_aliases\nalias z=rm\nz OUT/a",
    "source /dev/stdin <<< 'rm OUT/a'",
    ". <(echo rm OUT/a)",
    "printf -v 'x[$(touch OUT/x)]' y",
    "read 'x[$(touch OUT/x)]' <<< y",
    "declare 'x[$(touch OUT/x)]=y'",
    "[[ -v 'x[$(touch OUT/x)]' ]]",
    "[ -v 'x[$(touch OUT/x)]' ]",
    "x='y[$(touch OUT/x)]'; ((x))",
    "x='y[$(touch OUT/x)]'; let x",
    "x='y[$(touch OUT/x)]'; echo $((x))",
    "x='y[$(touch OUT/x)]'; [[ $x -eq 1 ]]",
    "x='y[$(touch OUT/x)]'; echo ${z[x]}",
    "x='y[$(touch OUT/x)]'; echo ${!x}",
    "x='$(touch OUT/x)'; echo \"${x@P}\"",
    "x='y[$'; x+='(touch OUT/x)]'; ((x))",
    "declare -i n; n='y[$(touch OUT/x)]'",
    "declare -n r='y[$(touch OUT/x)]'; echo $r",
    "x='y[$(touch OUT/x)]'; z[x]=1",
    "PS4='$(touch OUT/x)'; set -x; :",
    "mapfile -C 'touch OUT/x' -c 1 y < a",
    "compgen -W '$(touch OUT/x)'",
    "hash -p BIN/rm z; z OUT/a",
    "PROMPT_COMMAND='touch OUT/x'",
    "BASH_ENV=script bash -c :",
    "env BASH_ENV=script bash -c :",
    "env 'BASH_FUNC_ls%%=() { touch OUT/x; }' bash -c ls",
    "git init -q; echo 1 > a; git add a; echo 2 > a; GIT_EXTERNAL_DIFF='touch OUT/x' git diff",
    'f() { "$@"; }; f rm OUT/a',
    'rm() { command rm "$1"; }; rm OUT/a',
    # programs that change files
    "mv a OUT/x",
    "mv OUT/a .",
    "mv -t OUT a",
    "mv --target-directory=OUT a",
    "mv -tOUT a b",
    "cp a OUT/x",
    "cp -t OUT a",
    "cp --t=OUT a",
    "cp -r sub link/copy",
    "cp a leak",
    "ln -s OUT here; echo x > here/new",
    "ln OUT/a hard; echo x > hard",
    "ln -sf a OUT/x",
    "dd if=a of=OUT/x",
    "dd of=leak if=a",
    "truncate -s 0 OUT/a",
    "truncate -s0 leak",
    "chmod 600 OUT/a",
    "chmod -R 700 link/",
    "chmod 600 leak",
    "tee OUT/x < a",
    "tee -a a OUT/x < b",
    "install a OUT/x",
    "install -D a OUT/new/x",
    "install -d OUT/new",
    "mkdir -p OUT/new/deep",
    "rmdir OUT/sub/deep",
    "shred OUT/a",
    "sed -i s/t/x/ OUT/a",
    "sed -i.bak s/t/x/ OUT/a a",
    "sed 'w OUT/x' a",
    "sed -n '1e touch OUT/x' a",
    "sed 's/text/touch OUT\\/x/e' a",
    "awk '{ print > \"OUT/x\" }' a",
    "awk 'BEGIN { system(\"touch OUT/x\") }'",
    "sort -o OUT/x a",
    "sort -uoOUT/x a",
    "sort --outp=OUT/x a",
    "split a OUT/x",
    "tar cf OUT/x.tar a",
    "tar -cf x.tar a && tar -C OUT -xf x.tar",
    "tar cf x.tar a; tar xf x.tar --directory OUT",
    "tar cf x.tar a; tar xf x.tar --to-command='touch OUT/x'",
    "tar cf x.tar a --checkpoint=1 --checkpoint-action=exec='touch OUT/x'",
    "tar -cPf x.tar OUT/a; rm x.tar",
    "tar -I 'touch OUT/x' -cf x.tar a",
    "gzip -k OUT/a",
    "rm -f ../out/*",
    "rm -f link/*",
    "chmod 600 l*",
    "touch {OUT/x,OUT/y}",
    "touch OUT/{x,y}",
    "for f in OUT/a OUT/b; do rm $f; done",
    'while read f; do rm "$f"; done <<< OUT/a',
    "ls OUT | while read f; do touch OUT/$f; done",
    # git
    "git init -q OUT/repo",
    "git -C OUT init -q",
    "git init -q; git -c alias.z='!touch OUT/x' z",
    "git init -q; git config alias.z '!touch OUT/x'; git z",
    "git init -q; git --work-tree=OUT clean -fdxq",
    "git init -q; git -c core.fsmonitor='touch OUT/x' status",
    "git init -q; GIT_WORK_TREE=OUT git clean -fdq",
    "git init -q; git add a; git diff --output=OUT/x --cached",
    "git init -q . && git clone -q -u 'touch OUT/x' . copy",
]


def fill(place: Place, line: str) -> str:
    return place.fill(line).replace("BIN", str(place.bin))


@pytest.fixture(name="place")
def make_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = make_place(Path(os.path.realpath(tmp_path)))
    monkeypatch.setenv("HOME", str(place.out))
    return place


def test_bash_does_nothing_that_is_not_reported(place: Place) -> None:
    lies: list[str] = []
    effective = 0
    for line in LINES:
        reset(place)
        text = fill(place, line)
        report = report_line(text, place)
        reality = run_traced(text, place)
        effective += bool(reality.changed or reality.programs)
        if lie := find_lie(report, reality):
            lies.append(f"{line!r} {lie}; reported {report}")
    assert not lies, "\n".join(lies)
    assert effective > len(LINES) * 0.8


ZSH_LINES = [
    "=rm OUT/a",
    "rm OUT/a(.)",
    "setopt promptsubst; print -P '$(touch OUT/x)'",
    "x='$(touch OUT/x)'; echo ${(e)x}",
    "repeat 1 touch OUT/x",
    "echo x | cd OUT; rm -f a",
    "echo x > OUT/x > a",
    "for x (OUT/a) rm $x",
    "noglob touch OUT/x",
    "cd work out; rm a",
    "{ touch a } always { touch OUT/x }",
    "f() touch OUT/x; f",
    "touch ${:-OUT/x}",
    "alias -g X=OUT/x; eval 'touch X'",
    "emulate sh -c 'touch OUT/x'",
    "functions[z]='touch OUT/x'; z",
    "aliases[z]='touch OUT/x'; eval z",
    "zmodload zsh/files; zf_rm OUT/a",
    "chpwd() { touch OUT/x }; cd sub",
    "TRAPEXIT() { touch OUT/x }",
]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh to compare with")
def test_zsh_does_nothing_that_is_not_reported(place: Place) -> None:
    for line in ZSH_LINES:
        reset(place)
        text = fill(place, line)
        report = report_line(text, place, "zsh")
        assert not (lie := find_lie(report, run_traced(text, place, "zsh"))), f"{line!r} {lie}; {report}"


NAMES = (
    "rm -f {}",
    "touch {}",
    "r\\m -f {}",
    "t''ouch {}",
    "$'\\x72m' -f {}",
    "'tee' {} < /dev/null",
    "cp a {}",
)
TARGETS = (
    "a",
    "b",
    "sub/a",
    "OUT/x",
    "../out/x",
    "link/x",
    "leak",
    "~/x",
    "$v",
    '"$v"',
    "OUT/*",
    "*",
    "sub/../a",
)
TARGETS += ("{a,OUT/x}", "'a'", "$(echo OUT/x)", "./b", "new", "l*")
# None leads above the two folders: what follows deletes files.
FOLDERS = ("sub", "OUT", "link", "sub/deep", "nowhere", "~", '"$v"', "WORK", "../out", "sub/..", "-")
CHANGERS = ("cd", "pushd", "builtin cd", "cd -P")
SHAPES = (
    *(
        "{0}; {1}",
        "{0} && {1}",
        "{0} || {1}",
        "{0} | {1}",
        "{0} & wait; {1}",
        "({0}); {1}",
        "{{ {0}; }}; {1}",
    ),
    *(
        "if {0}; then {1}; fi",
        "for v in OUT/x; do {0}; done; {1}",
        "while {0}; do {1}; break; done",
        "! {0}; {1}",
    ),
    *(
        "f() {{ {0}; }}; {1}; f",
        "echo $({0}); {1}",
        "v=$({0}); {1}",
        "case x in x) {0};; esac; {1}",
        "{0}\n{1}",
    ),
    *("{{ {0}; }} > FILE; {1}", "cat <<E; {1}\n$({0})\nE", "trap TEXT0 EXIT; {1}", "(({{1..2}})) ; {0}; {1}"),
    *(
        "eval TEXT0; {1}",
        "bash -c TEXT0; {1}",
        "env {0}; {1}",
        "timeout 5 {0}; {1}",
        "nice {0} && {1}",
        "time {0}",
    ),
    *(
        "sh <<E\n{0}\nE\n{1}",
        "command {0}; {1}",
        "echo a | xargs {0}; {1}",
        "find . -name a -exec {0} \\; ; {1}",
    ),
    *(
        "({0}; {1}) | {1}",
        "{0} <(  {1} )",
        "exec {0}",
        "v=OUT/x; {0}; {1}",
        "cat < a | {{ {0}; {1}; }}",
        "{0} # {1}",
    ),
)


@st.composite
def shell_lines(draw: st.DrawFn, depth: int = 0) -> str:
    """Lines composed of commands that stay within the two folders."""
    if depth < 3 and draw(st.integers(0, 3)):
        shape = draw(st.sampled_from(SHAPES))
        one, other = draw(shell_lines(depth + 1)), draw(shell_lines(depth + 1))
        line = shape.replace("TEXT0", shlex.quote(one)).replace("FILE", draw(st.sampled_from(TARGETS)))
        if "TEXT0" in shape:
            return line.replace("{0}", ":").replace("{1}", other).replace("{{", "{").replace("}}", "}")
        return (
            line.format(one, other)
            if "{" not in line.replace("{0}", "").replace("{1}", "")
            else (
                line.replace("{{", "\0")
                .replace("}}", "\1")
                .replace("{0}", one)
                .replace("{1}", other)
                .replace("\0", "{")
                .replace("\1", "}")
            )
        )
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return f"{draw(st.sampled_from(CHANGERS))} {draw(st.sampled_from(FOLDERS))}"
    target = draw(st.sampled_from(TARGETS))
    if kind == 1:
        return f"echo x {draw(st.sampled_from(('>', '>>', '2>', '&>', '>|')))} {target}"
    return draw(st.sampled_from(NAMES)).replace("{}", target)


def check_composed(line: str, place: Place) -> None:
    reset(place)
    text = fill(place, line)
    report = report_line(text, place)
    if report.problem:
        return
    lie = find_lie(report, run_traced(text, place))
    assert not lie, f"{line!r} {lie}; reported {report}"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=shell_lines())
def test_composed_lines_do_nothing_that_is_not_reported(line: str, place: Place) -> None:
    check_composed(line, place)


@pytest.mark.soak
@settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=shell_lines())
def test_many_composed_lines_do_nothing_that_is_not_reported(line: str, place: Place) -> None:
    check_composed(line, place)
