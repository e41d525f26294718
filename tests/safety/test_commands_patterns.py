"""A `*` in tools.allow covers only harmless arguments, never options that run a program or write a file."""

import re
from pathlib import Path

import pytest

from tau.coding.approval.allow_rules import AllowRules, can_be_remembered
from tau.coding.approval.harmless_options import HarmlessArguments, harmless_programs
from tau.coding.approval.suggestions import suggest_run

# A harmless command of a program, and dangerous ones that must not fit the pattern that tau offers for it,
# nor the widest pattern that a user can write.
DANGEROUS: dict[str, list[str]] = {
    "pylint src": [
        "pylint --init-hook='import os' src",
        "pylint --init-hook 'import os' src",
        "pylint --load-plugins=evil src",
        "pylint --rcfile=/tmp/rc src",
        "pylint --output=/etc/x src",
        "pylint --output-format=text:/etc/x src",
        "pylint -f evil.Reporter src",
        "pylint /tmp/elsewhere",
    ],
    "mypy src": [
        "mypy --python-executable=/tmp/evil src",
        "mypy --python-executable /tmp/evil src",
        "mypy --config-file=/tmp/evil.ini src",
        "mypy --config /tmp/evil.ini src",
        "mypy --junit-xml=/etc/x src",
        "mypy --any-exprs-report=/etc src",
        "mypy --any-exprs=/etc src",
        "mypy --cache-dir=/etc src",
        "mypy --install-types src",
        "mypy @/tmp/args",
    ],
    "flake8 src": [
        "flake8 --config=/tmp/evil src",
        "flake8 --config /tmp/evil src",
        "flake8 --append-config=/tmp/evil src",
        "flake8 --output-file=/etc/x src",
        "flake8 --tee src",
    ],
    "kubectl get pods": [
        "kubectl get pods --kubeconfig=/tmp/evil",
        "kubectl get pods --kubeconfig /tmp/evil",
        "kubectl --kubeconfig=/tmp/evil get pods",
        "kubectl get --raw /api",
        "kubectl get pods --cache-dir=/etc",
        "kubectl get -f /tmp/x",
        "kubectl exec pod -- sh",
    ],
    "pytest tests": [
        "pytest --basetemp=/home tests",
        "pytest --basetemp /home tests",
        "pytest --junitxml=/etc/x tests",
        "pytest --junit-xml /etc/x tests",
        "pytest -p evil tests",
        "pytest -pevil tests",
        "pytest -c /tmp/evil.ini tests",
        "pytest --rootdir=/tmp tests",
        "pytest -o python_files=x tests",
        "pytest -W error::evil.Warning tests",
        "pytest --pdbcls=evil:x tests",
        "pytest --log-file=/etc/x tests",
        "pytest --cov-report=html:/etc tests",
        "pytest --debug=/etc/x tests",
        "pytest /tmp/evil.py",
        "pytest ../evil.py",
        "pytest tests/../../evil.py",
        "pytest ~/evil.py",
        "pytest @/tmp/args",
        "pytest --pyargs evil",
    ],
    "pip list": [
        "pip list --log /etc/x",
        "pip list --log=/etc/x",
        "pip --log /etc/x list",
        "pip list --python /tmp/evil",
        "pip list --index-url http://evil",
        "pip list --path /x --cache-dir=/etc",
        "pip install evil",
    ],
    "make test": [
        "make -E 'x:=$(shell rm y)'",
        "make --eval=x",
        "make -f /tmp/evil",
        "make -C /tmp",
        "make SHELL=/tmp/evil test",
        "make -j SHELL=/tmp/evil",
        "make --jobs SHELL=/tmp/evil",
        "make -I /tmp",
    ],
    "git log --oneline": [
        "git -c core.pager=evil log",
        "git --exec-path=/tmp log",
        "git --exec-path /tmp log",
        "git -C /tmp log",
        "git --git-dir=/tmp/.git log",
        "git --work-tree=/tmp log",
        "git --config-env=core.pager=X log",
        "git -p log",
        "git log --output=/etc/x",
        "git log --outp=/etc/x",
        "git log --ext-diff",
        "git log --show-signature",
    ],
    "git fetch origin": [
        "git fetch --upload-pack=evil origin",
        "git fetch --upload-pack evil origin",
        "git fetch --upl=evil origin",
        "git fetch 'ext::sh -c evil'",
        "git fetch /tmp/evil.git",
        "git fetch --recurse-submodules",
    ],
    "git diff": ["git diff --output=/etc/x", "git diff --ext-diff", "git diff -o /etc/x"],
    "git grep needle": ["git grep -O'sh -c x' needle", "git grep --open-files-in-pager=x needle"],
    "git commit -m x": [
        "git commit -F /etc/passwd",
        "git commit --no-verify -m x",
        "git commit -S -m x",
        "git commit -c HEAD",
        "git commit --trailer x",
        "git commit -t /x",
        "git commit --gpg-sign=x -m y",
    ],
    "git branch -a": ["git branch -D main", "git branch new", "git branch --color new", "git branch -f a b"],
    "git cat-file -p HEAD": ["git cat-file --filters HEAD:x", "git cat-file --textconv HEAD:x"],
    "git status": [
        "git clone -u evil x y",
        "git clone --upload-pack=evil x",
        "git push --receive-pack=evil",
        "git ls-remote --upload-pack=evil .",
        "git archive --exec=evil --remote=x HEAD",
        "git config x y",
        "git submodule foreach evil",
        "git bisect run evil",
        "git rebase -x evil",
        "git difftool -x evil",
        "git reflog expire --all",
        "git stash clear",
        "git worktree add /x",
        "git remote add x y",
    ],
    "rg needle": [
        "rg --pre evil needle",
        "rg --pre=evil needle",
        "rg --hostname-bin=evil needle",
        "rg -z needle",
        "rg --search-zip needle",
    ],
    "find . -name x": [
        "find . -exec evil ';'",
        "find . -execdir evil ';'",
        "find . -ok evil ';'",
        "find . -okdir evil ';'",
        "find . -delete",
        "find . -fprint /etc/x",
        "find . -fprint0 /etc/x",
        "find . -fprintf /etc/x y",
        "find . -fls /etc/x",
        "find -files0-from /x",
    ],
    "fd needle": [
        "fd -x evil",
        "fd -X evil",
        "fd --exec evil",
        "fd --exec-batch evil",
        "fd -l",
        "fd -Hx evil",
    ],
    "sort names": [
        "sort -o /etc/x names",
        "sort -o/etc/x names",
        "sort -uo /etc/x names",
        "sort --output=/etc/x names",
        "sort --compress-program=evil names",
        "sort --comp evil names",
        "sort -T /etc names",
        "sort --files0-from=/x",
    ],
    "uniq -c": ["uniq a /etc/x", "uniq -c a /etc/x", "uniq --group a /etc/x"],
    "date +%F": [
        "date -s 2030-01-01",
        "date 01012030",
        "date --set=x",
        "date -f /x",
        "date -I 01012030",
        "date --iso-8601 01012030",
    ],
    "tree src": ["tree -o /etc/x", "tree -R -H x -L 1", "tree --fromfile x"],
    "diff a b": ["diff -l a b", "diff --paginate a b", "diff --output=/etc/x a b"],
    "jq . x.json": ["jq -f evil.jq x", "jq -rf evil.jq x", "jq -L /tmp . x", "jq --from-file x"],
    "file x": ["file -C -m x", "file -m /tmp/magic x", "file -z x"],
    "tsc --noEmit": [
        "tsc --outDir /etc",
        "tsc -p /tmp",
        "tsc --project /tmp",
        "tsc --generateTrace /etc",
        "tsc @/tmp/args",
    ],
    "ruff check src": [
        "ruff check --config /tmp/evil src",
        "ruff check -o /etc/x src",
        "ruff check --fix /etc",
        "ruff check --output-file=/etc/x src",
        "ruff check --cache-dir=/etc src",
        "ruff check ~/x",
    ],
    "eslint src": [
        "eslint -c /tmp/evil src",
        "eslint --config=/tmp/evil src",
        "eslint -o /etc/x src",
        "eslint -f /tmp/evil.js src",
        "eslint --rulesdir /tmp src",
        "eslint --plugin x src",
        "eslint /tmp/x",
        "eslint --resolve-plugins-relative-to /tmp src",
        "eslint --parser /tmp/evil src",
    ],
    "jest tests": [
        "jest --config=/tmp/evil",
        "jest -c /tmp/evil",
        "jest --rootDir=/tmp",
        "jest --reporters=x",
        "jest --globalSetup=/tmp/evil",
        "jest --setupFiles /tmp/evil",
        "jest --outputFile=/etc/x",
    ],
    "cargo test": [
        "cargo --config build.rustc=evil test",
        "cargo test --config build.rustc=evil",
        "cargo test --manifest-path /tmp/Cargo.toml",
        "cargo test --target-dir=/etc",
        "cargo test -- --logfile /etc/x",
        "cargo test -Z unstable",
        "cargo test --target /tmp/spec.json",
        "cargo -C /tmp test",
        "cargo +/tmp/evil test",
        "cargo run",
    ],
    "go test ./...": [
        "go test -exec evil ./...",
        "go test --exec evil ./...",
        "go test -exec=evil ./...",
        "go test -toolexec evil ./...",
        "go test -o /etc/x ./...",
        "go test -coverprofile=/etc/x ./...",
        "go test -cpuprofile /etc/x ./...",
        "go test -outputdir /etc ./...",
        "go test -overlay=/tmp/x ./...",
        "go test -modfile=/tmp/x ./...",
        "go test -ldflags=-extld=evil ./...",
        "go test /tmp/evil",
        "go test ../evil",
        "go test . -args -x",
        "go -C /tmp test",
        "go generate",
    ],
    "go vet ./...": ["go vet -vettool=evil ./...", "go vet -C /tmp ./..."],
    "npm ls": [
        "npm ls --script-shell=evil",
        "npm ls --prefix /tmp",
        "npm ls --userconfig=/tmp/x",
        "npm exec x",
        "npm ls --globalconfig=/tmp/x",
        "npm --script-shell evil ls",
        "npm run evil",
        "npm ls --node-options=-r",
    ],
    "docker ps": [
        "docker -H tcp://evil ps",
        "docker --config /tmp ps",
        "docker run -v /:/x y",
        "docker exec x y",
    ],
    "uv tree": [
        "uv --directory /tmp tree",
        "uv tree --python /tmp/evil",
        "uv run evil",
        "uv pip install evil",
    ],
    "ps aux": ["ps --evil"],
    "stat x": ["stat --evil x"],
}
# Programs without a list: a pattern with `*` covers nothing beyond the words that it spells out.
UNLISTED = [
    "wget --use-askpass=evil x",
    "wget -e http_proxy=x y",
    "tar --to-command=evil -xf x",
    "tar --checkpoint-action=exec=evil -cf x y",
    "tar -I evil -cf x y",
    "sed -i s/a/b/ x",
    "sed 'w /etc/x' y",
    "sed '1e evil' y",
    "awk 'BEGIN{system(\"evil\")}'",
    "man -P evil ls",
    "less x",
    "xargs evil",
    "tee /etc/x",
    "env evil",
    "ssh -o ProxyCommand=evil host",
    "rsync -e evil a b",
    "curl -o /etc/x y",
    "curl -K /tmp/x",
    "node -e evil",
    "node --require /tmp/evil.js x",
    "python -c evil",
    "perl -e evil",
    "ruby -e evil",
    "php -r evil",
    "gdb -ex '!evil'",
    "vim -c '!evil'",
    "bash -c evil",
    "sudo evil",
    "timeout 5 evil",
    "nice evil",
    "nohup evil",
    "strace evil",
    "parallel evil",
    "watch evil",
    "openssl enc -out /etc/x",
    "zip -TT evil x y",
    "xxd -r a /etc/x",
    "vitest --config=/tmp/x",
    "printf -v 'a[$(evil)]' x",
    "nm @/tmp/args",
    "helm install x",
    "terraform apply",
    "mount /x",
    "crontab x",
]


@pytest.mark.parametrize("harmless", DANGEROUS)
def test_star_covers_harmless_arguments_only(harmless: str, tmp_path: Path) -> None:
    program = harmless.split()[0]
    offered = suggest_run(harmless)
    assert offered
    wide = AllowRules.of([*offered, f"run: {program} *"])
    assert wide.command(harmless, [tmp_path])
    for dangerous in DANGEROUS[harmless]:
        assert not wide.command(dangerous, [tmp_path]), dangerous
        assert all("*" not in pattern for pattern in suggest_run(dangerous)), dangerous


@pytest.mark.parametrize("command", UNLISTED)
def test_program_without_a_list_gets_exact_patterns(command: str, tmp_path: Path) -> None:
    program = command.split()[0]
    assert all("*" not in pattern for pattern in suggest_run(command))
    wide = AllowRules.of([f"run: {program} *"])
    assert not wide.command(command, [tmp_path])
    (problem,) = wide.problems
    assert program in problem and "covers nothing" in problem
    exact = AllowRules.of([f"run: {command}"]) if "$(" not in command else None
    assert exact is None or exact.problems or exact.command(command, [tmp_path])


@pytest.mark.parametrize(
    ("program", "dangerous"),
    [
        ("pylint", ("init-hook", "load-plugins", "rcfile", "output", "output-format")),
        ("mypy", ("python-executable", "config-file", "junit-xml", "any-exprs-report", "html-report")),
        ("mypy", ("cache-dir", "install-types", "shadow-file", "custom-typeshed-dir", "linecount-report")),
        ("flake8", ("config", "append-config", "output-file", "tee", "require-plugins")),
        (
            "pytest",
            ("basetemp", "junitxml", "junit-xml", "rootdir", "confcutdir", "override-ini", "log-file"),
        ),
        ("pytest", ("pdbcls", "import-mode", "pyargs", "debug", "cov-config", "cov-report")),
        ("git", ("upload-pack", "receive-pack", "exec-path", "output", "output-directory", "ext-diff")),
        ("git", ("open-files-in-pager", "work-tree", "config-env", "gpg-sign", "show-signature")),
        ("sort", ("output", "compress-program", "files0-from", "temporary-directory")),
        ("date", ("set", "file")),
        ("make", ("eval", "file", "makefile", "directory", "include-dir")),
        ("pip", ("log", "log-file", "python", "cache-dir", "index-url", "proxy", "cert")),
        ("tree", ("output", "fromfile")),
        ("diff", ("paginate", "output")),
    ],
)
def test_no_listed_option_abbreviates_a_dangerous_one(program: str, dangerous: tuple[str, ...]) -> None:
    """These programs accept the beginning of a long option for the whole."""
    for option in _all_options(harmless_programs()[program]):
        name = option.rstrip("=?")
        assert name == "co" or not any(each.startswith(name) for each in dangerous), name


def _all_options(listed: HarmlessArguments) -> list[str]:
    inner = [option for each in listed.subcommands.values() for option in _all_options(each)]
    return [*listed.long, *listed.single, *inner]


def test_operand_rules_are_valid_patterns() -> None:
    for program, listed in harmless_programs().items():
        assert re.compile(listed.operands).groups == 0 or program in ("ps", "git"), program


@pytest.mark.parametrize("name", ["GIT_EXTERNAL_DIFF", "PATH", "BASH_ENV", "HARMLESS"])
def test_call_that_sets_variables_is_never_covered(name: str, tmp_path: Path) -> None:
    allowed = AllowRules.of(["run: git diff", "run: git diff *"])
    assert allowed.command("git diff", [tmp_path])
    assert not allowed.command("git diff", [tmp_path], env=((name, "x"),))
    assert suggest_run("git diff", ((name, "x"),)) == ()
    assert not can_be_remembered(((name, "x"),))
    assert can_be_remembered(())


def test_call_that_runs_elsewhere_is_never_covered(tmp_path: Path) -> None:
    inside = tmp_path.resolve() / "work"
    inside.mkdir()
    allowed = AllowRules.of(["run: git status *"])
    assert allowed.command("git status", [inside], cwd=inside)
    assert not allowed.command("git status", [inside], cwd=tmp_path)


@pytest.mark.parametrize(
    ("pattern", "command", "covers"),
    [
        ("run: ls ~/notes", "ls ~/notes", True),
        ("run: ls ~/notes", "ls '~/notes'", False),
        ("run: ls '~/notes'", "ls '~/notes'", True),
        ("run: ls '~/notes'", "ls ~/notes", False),
        ("run: ls ~/notes", "ls /home/someone/notes", True),
        ("run: ls /home/someone/notes", "ls ~/notes", True),
        ("run: ~/bin/tool x", "~/bin/tool x", True),
        ("run: rm a'*'", "rm 'a*'", True),
        ("run: rm a'*'", "rm a*", False),
        ("run: rm 'a*'", "rm ab", False),
        ("run: rm a*", "rm ab", False),  # rm has no list
        ("run: cat a*", "cat ab", True),
        ("run: cat *", "cat a*", True),
        ("run: cat *", "cat *", False),  # may match a file named like an option
        ("run: cat * b", "cat a* b", False),  # may match more than one file
        ("run: pytest *", "pytest tests/*.py", True),
        ("run: pytest *", "pytest ../*.py", False),
        ("run: pytest *", "pytest ~/x*", False),
    ],
)
def test_tildes_and_globs_mean_what_the_shell_makes_of_them(
    monkeypatch: pytest.MonkeyPatch, pattern: str, command: str, covers: bool
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert AllowRules.of([pattern]).command(command, ()) is covers


@pytest.mark.parametrize(
    "pattern", ["run: rm a?", "run: ls [ab]", "run: echo $HOME", "run: echo {a,b}", "run: a; b"]
)
def test_pattern_with_other_shell_syntax_is_invalid(pattern: str) -> None:
    allowed = AllowRules.of([pattern])
    assert allowed.rules == () and "must be quoted" in allowed.problems[0]
