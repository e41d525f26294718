"""Reports on shell lines: the commands they run, what they change outside, and what is not understood."""

import os
from pathlib import Path

import pytest

from tau.coding.approval.command_report import CommandReport, report_command
from tests.safety.commands_ordinary import ORDINARY

# A line, the commands in order, and "action target" for each change outside.
REPORTED: list[tuple[str, str, list[str]]] = [
    # names without their quotes
    ("rm a", "rm", []),
    ("r\\m a", "rm", []),
    ("r''m a", "rm", []),
    ('"r"m a', "rm", []),
    ("$'\\x72m' a", "rm", []),
    ("$'\\162\\155' OUT/a", "rm", ["delete OUT/a"]),
    ("\\rm OUT/a", "rm", ["delete OUT/a"]),
    ("/bin/rm OUT/a", "/bin/rm", ["delete OUT/a"]),
    ("RM OUT/a", "RM", ["delete OUT/a"]),
    ("~/bin/tool x", "HOME/bin/tool", []),
    # lists, pipelines, compound commands
    ("a; b && c || d | e", "a b c d e", []),
    ("a & b", "a b", []),
    ("! a", "a", []),
    ("(a; b)", "a b", []),
    ("{ a; b; }", "a b", []),
    ("if a; then b; elif c; then d; else e; fi", "a b c d e", []),
    ("while a; do b; done", "a b", []),
    ("for x in 1 2; do a; done", "a", []),
    ("case x in a) b;; *) c;; esac", "b c", []),
    ("f() { a; }; f", "a f", []),
    ("time a", "a", []),
    ("a # rm OUT/a", "a", []),
    # substitutions
    ("a $(b)", "a b", []),
    ("a `b`", "a b", []),
    ('a "$(b $(c))"', "a b c", []),
    ("a <(b) >(c)", "a b c", []),
    ("x=$(a)", "a", []),
    ("a ${x:-$(b)}", "a b", []),
    ("a $((1 + $(b)))", "a b", []),
    ("cat <<E\n$(a)\nE", "cat a", []),
    ("cat <<'E'\n$(a)\nE", "cat", []),
    ("[[ -n $(a) ]] && b", "a b", []),
    # redirections
    ("a > x", "a", []),
    ("a > OUT/x", "a", ["overwrite OUT/x"]),
    ("a >> OUT/x", "a", ["append to OUT/x"]),
    ("a >| OUT/x", "a", ["overwrite OUT/x"]),
    ("a &> OUT/x", "a", ["overwrite OUT/x"]),
    ("a >& OUT/x", "a", ["overwrite OUT/x"]),
    ("a 2> ../out/x", "a", ["overwrite OUT/x"]),
    ("a > ~/x", "a", ["overwrite HOME/x"]),
    ("a > '~/x'", "a", []),
    ("a > $x", "a", ["overwrite $x"]),
    ('a > "$HOME/x"', "a", ['overwrite "$HOME/x"']),
    ("a > link/x", "a", ["overwrite OUT/x"]),
    ("a > leak", "a", ["overwrite OUT/a"]),
    ("> OUT/x", "", ["overwrite OUT/x"]),
    ("{ a; b; } > OUT/x", "a b", ["overwrite OUT/x"]),
    ("while a; do b; done >> OUT/x", "a b", ["append to OUT/x"]),
    ("a > /dev/null 2>&1", "a", []),
    ("a 2> /dev/stderr", "a", []),
    ("a > /dev/sda", "a", ["overwrite /dev/sda"]),
    ("a < OUT/x", "a", []),
    ("a 3>&1 >&2 2>&-", "a", []),
    ("cat > OUT/x <<E\ntext\nE", "cat", ["overwrite OUT/x"]),
    # working folders
    ("cd OUT && rm a", "cd rm", ["delete OUT/a"]),
    ("cd OUT; rm a", "cd rm", ["delete OUT/a"]),
    ("cd sub && rm ../a", "cd rm", []),
    ("cd sub; rm ../a", "cd rm", []),
    ("cd nowhere; rm ../a", "cd rm", ["delete PARENT/a"]),
    ("cd nowhere && rm ../a", "cd rm", []),
    ("cd nowhere || exit 1; rm ../a", "cd exit rm", ["delete PARENT/a"]),
    ("cd sub || exit 1; rm ../a", "cd exit rm", []),
    ("cd OUT > log; rm a", "cd rm", ["delete OUT/a"]),
    ("! cd OUT; rm a", "cd rm", ["delete OUT/a"]),
    ("time cd OUT; rm a", "cd rm", ["delete OUT/a"]),
    ("if cd OUT; then rm a; fi", "cd rm", ["delete OUT/a"]),
    ("case x in x) cd OUT;; esac; rm b", "cd rm", ["delete OUT/b"]),
    ("(cd OUT); rm a", "cd rm", []),
    ("(cd OUT; rm a); rm b", "cd rm rm", ["delete OUT/a"]),
    ("pushd OUT; rm a", "pushd rm", ["delete OUT/a"]),
    ("pushd sub; rm a; popd; rm b", "pushd rm popd rm", ["delete b"]),
    ("cd $x; rm a", "cd rm", ["delete a"]),
    ("cd -; rm a", "cd rm", ["delete a"]),
    ("cd; rm a", "cd rm", ["delete HOME/a"]),
    ("cd link && rm a", "cd rm", ["delete OUT/a"]),
    ("if a; then cd OUT; fi; rm b", "a cd rm", ["delete OUT/b"]),
    ("cd OUT | a; rm b", "cd a rm", ["delete OUT/b"]),
    ("cd OUT & rm b", "cd rm", ["delete OUT/b"]),
    ("for x in 1 2; do rm a; cd $x; done", "rm cd", ["delete a"]),
    ("f() { rm a; }; f", "rm f", ["delete a"]),
    ("f() { cd OUT; }; f; rm a", "cd f rm", ["delete a"]),
    ("cd OUT && make", "cd make", []),
    ("git -C OUT clean -fd", "git", ["change files in OUT"]),
    ("git -C OUT status", "git", []),
    ("cd OUT && git clean -fd", "cd git", ["change files in OUT"]),
    ("git --work-tree=OUT checkout .", "git", ["change files in OUT"]),
    ("git --git-dir OUT/.git reset --hard", "git", ["change files in OUT/.git"]),
    ("git clone https://x/y OUT/y", "git", ["write to OUT/y"]),
    ("git worktree add OUT/y", "git", ["write to OUT/y"]),
    ("git clean -fdx ../out", "git", ["delete or overwrite PARENT/out"]),
    ("git checkout -- OUT/x", "git", ["delete or overwrite OUT/x"]),
    ("git checkout feature/x", "git", []),
    ('git checkout "$branch"', "git", []),
    ("git rm -r a ../out/b", "git", ["delete or overwrite PARENT/out/b"]),
    ("git format-patch -o OUT HEAD~1", "git", ["overwrite OUT"]),
    # programs that change files
    ("rm -rf -- OUT a", "rm", ["delete OUT"]),
    ("rm -rf $x", "rm", ["delete $x"]),
    ('rm -rf "$x/build"', "rm", ['delete "$x/build"']),
    ("rm leak", "rm", ["delete OUT/a"]),
    ("rm ../out/*", "rm", ["delete OUT/*", "delete OUT/a"]),
    ("rm sub/*", "rm", []),
    ("rm {a,OUT/a}", "rm", ["delete {a,OUT/a}"]),
    ("rmdir OUT/sub", "rmdir", ["delete OUT/sub"]),
    ("unlink OUT/a", "unlink", ["delete OUT/a"]),
    ("shred -n 3 OUT/a", "shred", ["overwrite OUT/a"]),
    ("mv a OUT/b", "mv", ["overwrite OUT/b"]),
    ("mv OUT/a b", "mv", ["move OUT/a"]),
    ("mv -t OUT a", "mv", ["overwrite OUT"]),
    ("mv --target-directory=OUT a", "mv", ["overwrite OUT"]),
    ("cp OUT/a b", "cp", []),
    ("cp a OUT/b", "cp", ["overwrite OUT/b"]),
    ("cp -rtOUT a", "cp", ["overwrite OUT"]),
    ('cp "$x" b', "cp", ['overwrite "$x"']),
    ('cp -- a "$x/b"', "cp", ['overwrite "$x/b"']),
    ("cp a leak", "cp", ["overwrite OUT/a"]),
    ("install -m 644 a OUT/b", "install", ["overwrite OUT/b"]),
    ("install -d OUT/x", "install", ["write to OUT/x"]),
    ("ln -s OUT x", "ln", ["link to OUT"]),
    ("ln OUT/a x", "ln", ["link to OUT/a"]),
    ("ln -s a OUT/x", "ln", ["link to OUT/x"]),
    ("dd if=/dev/zero of=OUT/x bs=1M", "dd", ["overwrite OUT/x"]),
    ("dd of=~/x", "dd", ["overwrite HOME/x"]),
    ("truncate -s 0 OUT/a", "truncate", ["overwrite OUT/a"]),
    ("chmod -R 777 OUT", "chmod", ["change permissions of OUT"]),
    ("chown me:me OUT/a", "chown", ["change permissions of OUT/a"]),
    ("touch OUT/x", "touch", ["write to OUT/x"]),
    ("mkdir -p OUT/x/y", "mkdir", ["write to OUT/x/y"]),
    ("tee -a OUT/x", "tee", ["overwrite OUT/x"]),
    ("uniq -c a OUT/x", "uniq", ["overwrite OUT/x"]),
    ("uniq -f 1 OUT/x", "uniq", []),
    ("xxd -r a OUT/x", "xxd", ["overwrite OUT/x"]),
    ("xxd OUT/x | head", "xxd head", []),
    ("zip OUT/x.zip a", "zip", ["overwrite OUT/x.zip"]),
    ("iconv -o OUT/x a", "iconv", ["overwrite OUT/x"]),
    ("gcc -o OUT/x a.c", "gcc", ["overwrite OUT/x"]),
    ("gcc -o build/x OUT/a.c", "gcc", []),
    ("csplit -f OUT/x a 1", "csplit", ["write to OUT/x"]),
    ("mktemp -p OUT", "mktemp", ["write to OUT"]),
    ("mktemp -d", "mktemp", []),
    ("ed OUT/x", "ed", ["overwrite OUT/x"]),
    ("rename s/a/b/ OUT/x", "rename", ["move OUT/x"]),
    ("rsync -a --delete a/ OUT/", "rsync", ["delete or overwrite OUT"]),
    ("rsync -a a/ host:b", "rsync", []),
    ("find OUT -delete", "find", ["delete in OUT"]),
    ("find . -delete", "find", []),
    ('find "src/$x" -name "$y" -delete', "find", ['delete in "src/$x"']),
    ("find OUT -name a", "find", []),
    ("find . -fprintf OUT/x %p", "find", ["overwrite OUT/x"]),
    ("tar xf a.tar", "tar", []),
    ("tar -xf a.tar -C OUT", "tar", ["extract into OUT"]),
    ("tar -C OUT -cf a.tar .", "tar", []),
    ("tar cf OUT/a.tar .", "tar", ["overwrite OUT/a.tar"]),
    ("tar tf OUT/a.tar", "tar", []),
    ("cd OUT && tar xf a.tar", "cd tar", ["extract into OUT"]),
    ("unzip a.zip -d OUT", "unzip", ["extract into OUT"]),
    ("sed -i s/a/b/ OUT/a", "sed", ["overwrite OUT/a"]),
    ("sed -n 1p OUT/a", "sed", []),
    ("perl -pi -e s/a/b/ OUT/a", "perl", ["overwrite OUT/a"]),
    ("curl -o OUT/x https://x/y", "curl", ["overwrite OUT/x"]),
    ("wget -P OUT https://x/y", "wget", ["overwrite OUT"]),
    ("sort -o OUT/x a", "sort", ["overwrite OUT/x"]),
    ("gzip OUT/a", "gzip", ["overwrite OUT/a"]),
    # wrappers
    ("env A=1 rm OUT/a", "env rm", ["delete OUT/a"]),
    ("env -u A -C OUT rm a", "env rm", ["delete OUT/a"]),
    ("sudo -u root rm OUT/a", "sudo rm", ["delete OUT/a"]),
    ("timeout -k 5 10 rm OUT/a", "timeout rm", ["delete OUT/a"]),
    ("nice -n 5 nohup setsid stdbuf -oL rm OUT/a", "nice nohup setsid stdbuf rm", ["delete OUT/a"]),
    ("command rm OUT/a", "command rm", ["delete OUT/a"]),
    ("command -v rm", "command", []),
    ("exec rm OUT/a", "exec rm", ["delete OUT/a"]),
    ("builtin echo a", "builtin echo", []),
    ("strace -f rm OUT/a", "strace rm", ["delete OUT/a"]),
    ("flock x rm OUT/a", "flock rm", ["delete OUT/a"]),
    ("flock x -c 'rm OUT/a'", "flock rm", ["delete OUT/a"]),
    ("watch -n 5 'rm OUT/a'", "watch rm", ["delete OUT/a"]),
    ("su root -c 'rm OUT/a'", "su rm", ["delete OUT/a"]),
    ("script -qc 'rm OUT/a' log", "script rm", ["delete OUT/a"]),
    ("ssh host 'rm a'", "ssh rm", ["delete CWD/a"]),
    ("xargs rm < a", "xargs rm", ["delete its input"]),
    ("xargs -0 -n 1 grep x", "xargs grep", []),
    ("xargs -I% cp a %", "xargs cp", ["overwrite its input"]),
    ("find OUT -exec rm {} +", "find rm", ["delete OUT"]),
    ("find . -name x -exec rm {} \\;", "find rm", []),
    ("find . -exec rm OUT/a \\;", "find rm", ["delete OUT/a"]),
    ("fd x -x rm", "fd rm", ["delete its input"]),
    ("uv run rm OUT/a", "uv rm", ["delete OUT/a"]),
    ("busybox rm OUT/a", "busybox rm", ["delete OUT/a"]),
    ("bash -c 'rm OUT/a; b'", "bash rm b", ["delete OUT/a"]),
    ("bash -lc 'cd OUT && rm a'", "bash cd rm", ["delete OUT/a"]),
    ("sh <<E\nrm OUT/a\nE", "sh rm", ["delete OUT/a"]),
    ("bash <<< 'rm OUT/a'", "bash rm", ["delete OUT/a"]),
    ("bash script.sh x", "bash", []),
    ('env bash -c "sudo rm OUT/a"', "env bash sudo rm", ["delete OUT/a"]),
    # builtins and options that run text
    ("eval rm OUT/a", "eval rm", ["delete OUT/a"]),
    ("eval 'a; b'", "eval a b", []),
    ("trap 'rm OUT/a' EXIT", "trap rm", ["delete OUT/a"]),
    ("trap 'rm a' EXIT", "trap rm", ["delete a"]),
    ("trap - EXIT", "trap", []),
    ("mapfile -C 'rm OUT/a' x", "mapfile rm", ["delete OUT/a"]),
    ("source x.sh", "source", []),
    (". x.sh", ".", []),
    ("git -c alias.x='!rm OUT/a' x", "git rm", ["delete OUT/a"]),
    ("git config core.pager 'rm OUT/a'", "git rm", ["delete OUT/a"]),
    ("git -c user.name=x commit -m y", "git", []),
    ("git clone -u 'rm OUT/a' x", "git rm", ["delete OUT/a"]),
    ("git fetch --upload-pack='rm OUT/a' x", "git rm", ["delete OUT/a"]),
    ("git rebase -x 'rm OUT/a' main", "git rm", ["delete OUT/a"]),
    ("git submodule foreach 'rm OUT/a'", "git rm", ["delete OUT/a"]),
    ("git bisect run rm OUT/a", "git rm", ["delete OUT/a"]),
    ("tar xf a --to-command='rm OUT/a'", "tar rm", ["delete OUT/a"]),
    ("tar cf a b --checkpoint-action=exec='rm OUT/a'", "tar rm", ["delete OUT/a"]),
    ("rsync -e 'rm OUT/a' a b", "rsync rm", ["delete OUT/a"]),
    ("GIT_EXTERNAL_DIFF='rm OUT/a' git diff", "git rm", ["delete OUT/a"]),
    ("env GIT_SSH_COMMAND='rm OUT/a' git fetch", "env git rm", ["delete OUT/a"]),
    ("export PAGER='rm OUT/a'; git log", "export git rm", ["delete OUT/a"]),
    ("EDITOR=true git rebase --continue", "git true", []),
    ("HOME=x PATH=y npm ci", "npm", []),
    ("rg --pre x y", "rg x", []),
    ("sort --compress-program=x y", "sort x", []),
    ("go test -exec x ./...", "go x", []),
    ("man -P x y", "man x", []),
]

NOT_UNDERSTOOD = [
    # errors, and forms that shells read differently
    "a 'b",
    "a $(b",
    "a &&",
    "a <> OUT/x",
    "if a; then b",
    "coproc a",
    "a \x1b[0m",
    "a\r\nb",
    "a " * 6_000,
    "a; " * 3_000,
    "(" * 5_000,
    "$(" * 3_000 + ")" * 3_000,
    "{ " * 400 + "a;" + " }; " * 400,
    "a && " * 500 + "a",
    "env " * 500 + "a",
    # known only when it runs
    "$x a",
    "$(a) b",
    "{rm,a}",
    "r* a",
    "${x}m a",
    "eval $x",
    'eval "$(a)"',
    'bash -c "$x"',
    'bash -c "a $x"',
    "xargs sh -c",
    "env $x a",
    "sudo $x",
    "find . $x rm {} +",
    "find . -exec sh -c 'rm {}' \\;",
    "a | sh",
    "bash",
    "bash < x",
    "bash -s",
    "cat x | sudo bash",
    ". <(a)",
    "source /dev/stdin <<< a",
    "bash <(a)",
    # wrappers with options that are not known
    "env -S 'rm a'",
    "env --argv0=x rm a",
    "sudo -e x",
    "sudo --chroot=x rm",
    "timeout --foo 5 rm",
    "nice --x rm",
    "parallel rm ::: a",
    "chroot x rm a",
    "unshare -r rm a",
    "ssh -o ProxyCommand=x host",
    "su",
    "script log",
    # definitions, and what changes the meaning of other commands
    "alias ls=rm",
    "cd() { builtin cd /; }",
    "function command { :; }",
    "alias x='rm a'",
    "hash -p /bin/rm ls",
    "enable -f x y",
    "fc -s",
    "compgen -W '$(a)'",
    "complete -C a b",
    "bind -x '\"a\":b'",
    "HOME=x; a",
    "export HOME=x",
    "CDPATH=x",
    "PS4='$(a)'",
    "PROMPT_COMMAND=a",
    "env 'BASH_FUNC_ls%%=() { rm a; }' bash -c ls",
    "env BASH_ENV=x bash -c a",
    "GIT_CONFIG_COUNT=1 git status",
    "PAGER=$x git log",
    "functions[ls]='rm a'",
    "BASH_ENV=x bash -c a",
    "GIT_WORK_TREE=x git clean",
    # text that runs when it is evaluated once more
    "printf -v 'a[$(b)]' c",
    "read 'a[$(b)]'",
    "declare 'a[$(b)]=c'",
    "unset 'a[$(b)]'",
    "[[ -v 'a[$(b)]' ]]",
    "[ -v 'a[$(b)]' ]",
    "test -v 'a[`b`]'",
    "x='a[$(b)]'; ((x))",
    "x='$(b)'; y=${x@P}",
    "echo ${!x}",
    'printf -v "$x" y',
    'read "$x"',
    'declare "$x"',
    "mapfile -C $x a",
    "trap $x EXIT",
    # scripts
    "sed 'w /x' a",
    "sed '1e x' a",
    "sed s/a/b/e x",
    "sed -f x y",
    'sed "$x" y',
    "awk '{print > \"x\"}' y",
    "awk 'BEGIN{system(\"x\")}'",
    "awk '{print | \"x\"}' y",
    "awk -f x y",
    "git filter-branch --tree-filter x",
    "git --exec-path=x status",
    "git --config-env=a=b c",
    'git -c "$x" y',
    # zsh
    "=rm a",
    "repeat 3 rm a",
    "noglob rm a",
    "nocorrect rm a",
    "- rm a",
    "ls *(.om)",
    "print -l **/*(.)",
    "for f (a b) rm $f",
    "rm *(e:'a':)",
    "a =(b)",
    "foreach x (a b); rm $x; end",
]


class Place:
    def __init__(self, folder: Path) -> None:
        self.work, self.out, self.home = folder / "work", folder / "out", folder / "home"
        for each in (self.work / "sub", self.out, self.home):
            each.mkdir(parents=True)
        (self.out / "a").write_text("")
        (self.work / "sub" / "a").write_text("")
        (self.work / "link").symlink_to(self.out)
        (self.work / "leak").symlink_to(self.out / "a")

    def fill(self, text: str) -> str:
        text = text.replace("OUT", str(self.out)).replace("HOME/", f"{self.home}/")
        return text.replace("PARENT", str(self.work.parent)).replace("CWD", str(self.work))

    def report(self, line: str, shell: str = "bash") -> CommandReport:
        line = line.replace("OUT", str(self.out))
        return report_command(line, self.work, [self.work], shell=shell)


@pytest.fixture(name="place")
def make_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = Place(Path(os.path.realpath(tmp_path)))
    monkeypatch.setenv("HOME", str(place.home))
    return place


@pytest.mark.parametrize(("line", "names", "outside"), REPORTED, ids=[row[0] for row in REPORTED])
def test_report(place: Place, line: str, names: str, outside: list[str]) -> None:
    report = place.report(line)
    assert report.problem == ""
    assert [command.name for command in report.commands] == place.fill(names).split()
    assert [f"{change.action} {change.target}" for change in report.outside] == [
        place.fill(change) if "$" not in change else change for change in outside
    ]


@pytest.mark.parametrize("line", NOT_UNDERSTOOD, ids=lambda line: ascii(line[:40]))
def test_line_is_not_understood(place: Place, line: str) -> None:
    assert place.report(line).problem


@pytest.mark.parametrize("line", ["ls =rm", "ls ^a", "echo a#b", "print -P a"])
def test_words_that_only_zsh_expands_are_not_understood_in_zsh(place: Place, line: str) -> None:
    assert place.report(line, "zsh").problem
    assert not place.report(line, "bash").problem


def test_shells_with_another_syntax_are_not_understood(place: Place) -> None:
    assert place.report("ls", "fish").problem
    assert not place.report("ls", "zsh").problem


def test_words_are_unquoted_or_unknown(place: Place) -> None:
    (command,) = place.report("git log 'a b' \"c $x\" ~/y $'\\t' *.py {a,b} {} a\\ b").commands
    assert command.name == "git"
    assert command.words == ("log", "a b", None, f"{place.home}/y", "\t", None, None, "{}", "a b")


@pytest.mark.parametrize("line", ORDINARY, ids=lambda line: ascii(line[:40]))
def test_ordinary_lines_are_understood_and_stay_inside(place: Place, line: str) -> None:
    report = place.report(line)
    assert report.problem == ""
    assert report.outside == ()


def test_globs_that_match_too_much_count_as_outside(place: Place) -> None:
    for number in range(120):
        folder = place.work / "many" / str(number)
        folder.mkdir(parents=True)
        for name in range(100):
            (folder / str(name)).touch()
    assert place.report("rm many/*/*").outside
    assert not place.report("rm many/1/*").outside


def test_loop_that_changes_the_folder_may_delete_outside(place: Place) -> None:
    targets = [change.target for change in place.report("for x in 1 2; do rm a; cd ..; done").outside]
    assert str(place.work.parent / "a") in targets


def test_path_that_cannot_be_looked_at_is_outside_or_not_by_its_name(place: Place) -> None:
    long = "x" * 300
    assert not place.report(f"cd {long}; rm -r {long}/y {long}/*").problem
    assert place.report(f"rm {place.out}/{long}").outside
    assert not place.report(f"rm {place.work}/{long}").outside


def test_roots_may_be_several(place: Place) -> None:
    report = report_command(f"rm {place.out}/a", place.work, [place.work, place.out])
    assert report.outside == ()
