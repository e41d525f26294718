"""What is committed is what was staged, whatever the repository looks like."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tau.base.errors import ProviderError, TauError, UsageError
from tau.base.run import LocalRunner
from tau.coding.commit import splitting, staged
from tau.coding.commit.changelog import add_entries
from tau.coding.commit.repository import open_repository
from tau.coding.commit.style import CommitStyle
from tau.config.settings import CommitSettings
from tests.coding.commit.rig import Rig, git, lines, odd_name
from tests.support.soak import pairs


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def _modified(rig: Rig) -> None:
    rig.stage("a.py", lines(80))
    rig.save()
    rig.stage("a.py", lines(80, (3, 30, 31, 60, 79)))


def _unborn(rig: Rig) -> None:
    rig.stage("a.py", "x = 1\n")
    rig.stage("docs/a.md", "text\n")


def _detached(rig: Rig) -> None:
    _modified(rig)
    rig.git("checkout", "-q", "--detach")


def _partly_staged(rig: Rig) -> None:
    _modified(rig)
    rig.write("a.py", lines(80, (1, 2, 3, 4)))
    rig.write("untracked.txt", "not staged")


def _renamed(rig: Rig) -> None:
    rig.stage("old.py", lines(60))
    rig.stage("b.py", "b\n")
    rig.save()
    rig.git("mv", "old.py", "new.py")
    rig.stage("new.py", lines(60, (5,)))
    rig.stage("b.py", "c\n")


def _deleted(rig: Rig) -> None:
    rig.stage("a.py", "a\n")
    rig.stage("b/c.py", "b\n")
    rig.save()
    rig.git("rm", "-q", "b/c.py")
    rig.stage("a.py", "")


def _binary(rig: Rig) -> None:
    rig.stage("a.bin", bytes(range(256)) * 20)
    rig.save()
    rig.stage("a.bin", bytes(range(255, -1, -1)) * 20)
    rig.stage("b.txt", "text")


def _modes(rig: Rig) -> None:
    rig.stage("run.sh", lines(40))
    rig.stage("link", "x\n")
    rig.save()
    rig.write("run.sh", lines(40, (1, 30))).chmod(0o755)
    (rig.root / "link").unlink()
    (rig.root / "link").symlink_to("run.sh")
    rig.git("add", "-A")


def _odd_names(rig: Rig) -> None:
    name = odd_name()
    rig.stage("-- $(touch pwned)", "a\n")
    rig.stage(name, lines(50))
    rig.save()
    rig.stage(name, lines(50, (1, 40)))
    rig.stage(":(top)x", "pathspec\n")


def _line_ends(rig: Rig) -> None:
    rig.git("config", "core.autocrlf", "false")
    rig.stage("a.txt", lines(60).replace("\n", "\r\n"))
    rig.stage("b.txt", lines(50).rstrip("\n"))
    rig.stage("c.txt", lines(50))
    rig.save()
    rig.stage("a.txt", lines(60, (1, 50)).replace("\n", "\r\n"))
    rig.stage("b.txt", lines(50, (1,)))
    rig.stage("c.txt", lines(50, (1, 49)).rstrip("\n"))


def _repeated(rig: Rig) -> None:
    """Context that fits in many places."""
    rig.stage("a.txt", "same\n" * 200)
    rig.save()
    text = ["same\n"] * 200
    for at in (20, 60, 100, 140):
        text[at : at + 1] = ["new\n", "same\n"]
    rig.stage("a.txt", "".join(text))


def _submodule(rig: Rig) -> None:
    other = rig.root.parent / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "one")
    rig.save()
    rig.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")


def _merge(rig: Rig) -> None:
    rig.stage("a.txt", "a\n")
    rig.save()
    rig.git("checkout", "-q", "-b", "side")
    rig.stage("a.txt", "side\n")
    rig.save("feat: side")
    rig.git("checkout", "-q", "main")
    rig.stage("a.txt", "main\n")
    rig.save("feat: main")
    rig.git("merge", "-q", "side", check=False)
    rig.stage("a.txt", "both\n")


def _configured(rig: Rig) -> None:
    """Settings of the user that change what git prints."""
    _modified(rig)
    for key, value in {
        "diff.noprefix": "true",
        "diff.external": "/bin/false",
        "color.ui": "always",
        "diff.mnemonicPrefix": "true",
        "core.quotePath": "false",
        "diff.context": "0",
        "diff.renames": "false",
        "commit.verbose": "true",
        "core.commentChar": "f",
    }.items():
        rig.git("config", key, value)


def _intended(rig: Rig) -> None:
    _modified(rig)
    rig.write("later.py", "later\n")
    rig.git("add", "-N", "later.py")


STATES: dict[str, Callable[[Rig], None]] = {
    "modified": _modified,
    "unborn": _unborn,
    "detached": _detached,
    "partly staged": _partly_staged,
    "renamed": _renamed,
    "deleted": _deleted,
    "binary": _binary,
    "modes": _modes,
    "odd names": _odd_names,
    "line ends": _line_ends,
    "repeated": _repeated,
    "submodule": _submodule,
    "merge": _merge,
    "configured": _configured,
    "intent to add": _intended,
}


def _answers(rig: Rig, kind: str) -> dict[str, object]:
    """What the model says, and the options."""
    if kind == "model":
        rig.answers = ["feat: change things"]
        return {}
    if kind == "fallback":
        return {}
    if kind == "split":
        rig.answers = ['{"commits": [{"changes": [1], "message": "feat: one"}]}'] * 3
    return {"split": True}


@pytest.mark.parametrize(
    ("state", "kind"), pairs(list(STATES), ["model", "fallback", "split", "each change"], each=2)
)
def test_the_tree_equals_what_was_staged(rig: Rig, state: str, kind: str) -> None:
    STATES[state](rig)
    if kind in ("split", "each change") and state == "merge":
        with pytest.raises(UsageError, match="merge is in progress"):
            asyncio.run(rig.commit(split=True))
        return
    options = _answers(rig, kind)
    if kind == "each change":
        rig.answers = ["?", _reversed_plan(rig)]
    staged, index = rig.git("write-tree"), rig.git("ls-files", "--stage")
    worktree = rig.git("status", "--porcelain", "-z").count("\0")
    result = asyncio.run(rig.commit(**options))
    assert result is not None and result.commits
    assert rig.git("rev-parse", "HEAD^{tree}") == staged
    assert rig.git("ls-files", "--stage") == index
    assert rig.git("diff", "--cached", "--name-only") == ""
    assert not (rig.root / "pwned").exists()
    assert worktree or state
    if kind == "each change":
        assert len(result.commits) == rig.seen.count("<change id=") // 2
        assert result.fallback == ""
    for commit in result.commits:
        rig.git("fsck", "--no-dangling", commit)


def _reversed_plan(rig: Rig) -> str:
    """Every change in its own commit, the last first: the hardest order."""

    async def main() -> int:
        runner = LocalRunner()
        found = await staged.read_staged(await open_repository(rig.root, runner))
        runner.close()
        return len(splitting.changes_of(found.files))

    numbers = range(asyncio.run(main()), 0, -1)
    commits = ", ".join(f'{{"changes": [{number}], "message": "feat: part {number}"}}' for number in numbers)
    return f'Here it is: {{"commits": [{commits}]}}'


def test_nothing_staged_is_wrong_use_and_stages_nothing(rig: Rig) -> None:
    rig.save()
    rig.write("new.py", "x\n")
    with pytest.raises(UsageError, match="Nothing is staged"):
        asyncio.run(rig.commit())
    assert rig.git("diff", "--cached", "--name-only") == ""
    assert not rig.requests


@pytest.mark.parametrize(
    "text",
    [
        "key = 'sk-ant-api03-" + "aB3dE5fG7h" * 9 + "'\n",
        "x\n\npassword: hunter2secret9\n",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567\n-----END RSA PRIVATE KEY-----\n",
    ],
)
def test_a_staged_secret_stops_it_before_any_request(rig: Rig, text: str) -> None:
    rig.stage("a.txt", "start\n")
    rig.save()
    rig.stage("conf/a.txt", "first\n" + text)
    with pytest.raises(TauError, match=r"conf/a\.txt:[234]"):
        asyncio.run(rig.commit())
    assert not rig.requests
    assert rig.git("log", "--format=%s") == "chore: start"


@pytest.mark.parametrize("way", ["attributes", "UTF-16", "binary"])
def test_a_secret_in_a_file_without_a_diff_stops_it(way: str, rig: Rig) -> None:
    key = "sk-ant-api03-" + "aB3dE5fG7h" * 9
    rig.stage("a.txt", "start\n")
    rig.save()
    if way == "attributes":
        rig.stage(".gitattributes", "*.env -diff\n")
        rig.stage("b.env", f"KEY={key}\n")
    else:
        data = f"KEY={key}\n".encode("utf-16") if way == "UTF-16" else f"\0\1KEY={key}\0".encode()
        (rig.root / "b.env").write_bytes(data)
        rig.git("add", "b.env")
    with pytest.raises(TauError, match=r"holds secrets: b\.env\."):
        asyncio.run(rig.commit())
    assert not rig.requests


def test_only_the_staged_diff_is_shown_to_the_model(rig: Rig) -> None:
    _modified(rig)
    rig.write("a.py", lines(80) + "UNSTAGED\n")
    rig.write("other.py", "UNTRACKED\n")
    rig.stage("package-lock.json", "LOCKED\n" * 50)
    rig.answers = ["fix: change lines"]
    asyncio.run(rig.commit())
    assert "+line 30 changed" in rig.seen and "package-lock.json (+50 -0)" in rig.seen
    assert not any(word in rig.seen for word in ("UNSTAGED", "UNTRACKED", "LOCKED\n"))
    assert rig.git("log", "-1", "--format=%B") == "fix: change lines"


def test_two_corrections_then_a_deterministic_message(rig: Rig) -> None:
    _modified(rig)
    rig.answers = ["Fixed it.", "nope: x", "feat: " + "x" * 80, "feat: never asked"]
    result = asyncio.run(rig.commit())
    assert result is not None and "not valid" in result.fallback
    assert len(rig.requests) == 3 and 'type "nope" is not one of' in rig.seen
    assert result.messages == ("chore: update a.py",)


def test_a_model_that_fails_gives_a_deterministic_message(rig: Rig) -> None:
    _modified(rig)
    rig.answers = [ProviderError("offline")]
    result = asyncio.run(rig.commit())
    assert result is not None and result.fallback == "offline"


def test_whitespace_and_renames_need_no_model(rig: Rig) -> None:
    rig.stage("a.py", "if x:\n  y\n")
    rig.save()
    rig.stage("a.py", "if x:\n    y\n")
    first = asyncio.run(rig.commit())
    rig.git("mv", "a.py", "b.py")
    second = asyncio.run(rig.commit())
    assert first is not None and first.messages == ("style: change whitespace in a.py",)
    assert second is not None and second.messages == ("refactor: rename a.py to b.py",)
    assert not rig.requests and first.fallback == ""


def test_the_repository_style_wins(rig: Rig) -> None:
    for number in range(6):
        rig.stage("a.py", f"{number}\n")
        rig.save(f"Teach the parser trick {number}")
    rig.stage("a.py", "new\n")
    rig.answers = ["Teach the parser another trick"]
    asyncio.run(rig.commit())
    assert rig.git("log", "-1", "--format=%s") == "Teach the parser another trick"
    assert "Teach the parser trick 5" in rig.seen


def test_a_commitlint_file_names_the_types_and_is_never_run(rig: Rig) -> None:
    rules = (
        "require('fs').writeFileSync('pwned', '')\nmodule.exports = {rules: {"
        "'type-enum': [2, 'always', ['ui', 'api']], 'header-max-length': [2, 'always', 40]}}\n"
    )
    rig.stage("commitlint.config.js", rules)
    rig.save()
    rig.stage("a.py", "x\n")
    rig.answers = ["feat: add", "api: " + "x" * 40, "api: add a"]
    result = asyncio.run(rig.commit())
    assert result is not None and result.messages == ("api: add a",)
    assert not (rig.root / "pwned").exists()


def test_a_long_diff_is_summarized_in_parts(rig: Rig) -> None:
    for number in range(6):
        rig.stage(f"f{number}.py", "".join(f"value_{n} = {n}\n" for n in range(1_200)))
    rig.answers = ["It adds values."] * 20
    rig.answers.append("feat: add values")
    settings = CommitSettings(map_reduce_max_concurrency=1)
    asyncio.run(rig.commit(settings))
    parts = [one for one in rig.requests if "Summarize" in one.system]
    assert len(parts) >= 2 and "It adds values." in str(rig.requests[-1].messages)
    before = len(rig.requests)
    rig.stage("f0.py", "x = 1\n" * 9_000)
    rig.answers = ["feat: rewrite"]
    asyncio.run(rig.commit(one_call=True))
    assert len(rig.requests) == before + 1


def test_a_failing_hook_is_shown_and_nothing_is_retried(rig: Rig) -> None:
    _modified(rig)
    hook = rig.write(
        ".git/hooks/pre-commit", "#!/bin/sh\necho x >> ran\necho the linter says no >&2\nexit 1\n"
    )
    hook.chmod(0o755)
    rig.answers = ["feat: change", "feat: again"]
    staged = rig.git("write-tree")
    with pytest.raises(TauError, match="the linter says no"):
        asyncio.run(rig.commit())
    assert (rig.root / "ran").read_text() == "x\n"
    assert rig.git("write-tree") == staged and rig.git("log", "--format=%s") == "chore: start"


@pytest.mark.parametrize("unborn", [False, True])
def test_a_split_that_fails_halfway_leaves_head_and_index_alone(rig: Rig, unborn: bool) -> None:
    if unborn:
        _unborn(rig)
    else:
        _modified(rig)
        rig.stage("docs/a.md", "text\n")
    hook = rig.write(".git/hooks/commit-msg", "#!/bin/sh\ngrep -q docs: $1 && exit 1\nexit 0\n")
    hook.chmod(0o755)
    head, index = rig.git("rev-parse", "--verify", "-q", "HEAD", check=False), rig.git("ls-files", "--stage")
    with pytest.raises(TauError, match="git commit failed"):
        asyncio.run(rig.commit(split=True))
    assert rig.git("rev-parse", "--verify", "-q", "HEAD", check=False) == head
    assert rig.git("ls-files", "--stage") == index
    assert not list((rig.root / ".git").glob("tau-*"))


def test_a_hook_that_changes_a_split_commit_undoes_it(rig: Rig) -> None:
    _unborn(rig)
    hook = rig.write(".git/hooks/pre-commit", "#!/bin/sh\necho formatted > a.py\ngit add a.py\n")
    hook.chmod(0o755)
    with pytest.raises(TauError, match="A hook changed"):
        asyncio.run(rig.commit(split=True))
    assert rig.git("rev-parse", "--verify", "-q", "HEAD", check=False) == ""


def test_a_cancelled_split_moves_head_back(rig: Rig) -> None:
    _modified(rig)
    rig.stage("docs/a.md", "text\n")
    marker = rig.root / "waiting"
    hook = rig.write(
        ".git/hooks/commit-msg", f"#!/bin/sh\ngrep -q docs: $1 && touch '{marker}' && exec sleep 60\nexit 0\n"
    )
    hook.chmod(0o755)
    head = rig.git("rev-parse", "HEAD")

    async def main() -> None:
        task = asyncio.create_task(rig.commit(split=True))
        while not marker.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.005)
        assert rig.git("rev-parse", "HEAD") != head
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert rig.git("rev-parse", "HEAD") == head
    assert rig.git("diff", "--cached", "--name-only").split() == ["a.py", "docs/a.md"]


def test_a_change_of_the_index_meanwhile_is_noticed(rig: Rig) -> None:
    _modified(rig)
    rig.answers = ["feat: change"]
    rig.approves = lambda proposal: rig.stage("other", "x\n") is None
    with pytest.raises(TauError, match="no longer the same"):
        asyncio.run(rig.commit())
    assert rig.git("log", "--format=%s") == "chore: start"


def test_a_refused_proposal_commits_nothing(rig: Rig) -> None:
    _modified(rig)
    rig.approves = lambda proposal: False
    assert asyncio.run(rig.commit()) is None
    assert rig.git("log", "--format=%s") == "chore: start"


def test_all_takes_tracked_files_only_and_a_dry_run_stages_nothing(rig: Rig) -> None:
    rig.stage("a.py", "a\n")
    rig.save()
    rig.write("a.py", "b\n")
    rig.write("untracked", "x\n")
    rig.answers = ["fix: change a", "fix: change a"]
    asyncio.run(rig.commit(all=True, dry_run=True))
    assert rig.git("diff", "--cached", "--name-only") == ""
    asyncio.run(rig.commit(all=True))
    assert rig.git("show", "--name-only", "--format=") == "a.py"
    assert rig.git("status", "--porcelain") == "?? untracked"


def test_push_sends_the_commit(rig: Rig) -> None:
    remote = rig.root.parent / "remote.git"
    git(rig.root.parent, "init", "-q", "--bare", str(remote))
    rig.save()
    rig.git("remote", "add", "origin", str(remote))
    rig.git("push", "-q", "-u", "origin", "main")
    rig.stage("a", "x\n")
    rig.answers = ["feat: add a"]
    result = asyncio.run(rig.commit(push=True))
    assert result is not None and result.pushed
    assert git(remote, "log", "-1", "--format=%s", "main") == "feat: add a"


def test_conflicts_stop_it(rig: Rig) -> None:
    _merge(rig)
    rig.git("reset", "-q", "--merge")
    rig.git("merge", "-q", "side", check=False)
    with pytest.raises(TauError, match="unresolved conflicts"):
        asyncio.run(rig.commit())


def test_the_nearest_changelog_gains_what_it_lacks(rig: Rig) -> None:
    text = "# Changes\n\n## [Unreleased]\n\n### Added\n\n- An old entry.\n\n## 1.0\n\n- First.\n"
    rig.stage("CHANGELOG.md", text)
    rig.stage("lib/CHANGELOG.md", text)
    rig.stage("lib/a.py", "a\n")
    rig.save()
    rig.stage("lib/a.py", "b\n")
    rig.write("lib/CHANGELOG.md", text + "\nunstaged\n")
    rig.answers = ["fix: repair a", '{"Added": ["an old entry"], "Fixed": ["A works again."]}']
    result = asyncio.run(rig.commit())
    assert result is not None and result.changelogs == ("lib/CHANGELOG.md",)
    committed = rig.git("show", "HEAD:lib/CHANGELOG.md")
    assert "### Fixed\n\n- A works again.\n\n## 1.0" in committed and committed.count("old entry") == 1
    assert "unstaged" not in committed and (rig.root / "lib/CHANGELOG.md").read_text().endswith("unstaged\n")
    assert "A works again." in (rig.root / "lib/CHANGELOG.md").read_text()
    assert rig.git("show", "--name-only", "--format=").split() == ["lib/CHANGELOG.md", "lib/a.py"]


def test_a_failing_hook_takes_the_changelog_entry_back(rig: Rig) -> None:
    rig.stage("CHANGELOG.md", "## Unreleased\n")
    rig.stage("a.py", "a\n")
    rig.save()
    rig.stage("a.py", "b\n")
    rig.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n").chmod(0o755)
    rig.answers = ["fix: repair a", '{"Fixed": ["A works again."]}']
    staged = rig.git("write-tree")
    with pytest.raises(TauError):
        asyncio.run(rig.commit())
    assert rig.git("write-tree") == staged
    assert (rig.root / "CHANGELOG.md").read_text() == "## Unreleased\n"


def test_entries_go_below_their_title_and_keep_line_ends() -> None:
    text = "## Unreleased\r\n\r\n### Added\r\n\r\n- One.\r\n\r\n### Fixed\r\n\r\n- Two.\r\n"
    changed = add_entries(text, {"Added": ["Three."], "Fixed": ["two"]})
    assert changed == text.replace("- One.\r\n", "- One.\r\n- Three.\r\n")
    assert add_entries(changed, {"Added": ["Three."]}) == changed


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("feat(cli)!: add --json", ""),
        ("feat: add x\n\nBody", ""),
        ("feat: added x", "imperative"),
        ("feat: add x\nBody", "empty line"),
        ("feat: add x.", "period"),
        ("add x", "type(scope)"),
        ("", "empty"),
        ("feat: a\x1b[31m", "control"),
    ],
)
def test_messages_are_checked(message: str, problem: str) -> None:
    assert problem in CommitStyle().problem(message)
    assert bool(problem) == bool(CommitStyle().problem(message))


def test_outside_a_repository_it_is_wrong_use(rig: Rig) -> None:
    rig.root = rig.root.parent / "plain"
    rig.root.mkdir()
    assert not (rig.root / ".git").exists()
    with pytest.raises(UsageError, match="not in the work tree"):
        asyncio.run(rig.commit())


def test_looking_at_a_repository_starts_no_program_of_its_configuration(rig: Rig) -> None:
    _modified(rig)
    rig.git("config", "core.fsmonitor", f"touch {rig.root}/ran")
    rig.git("config", "diff.external", f"touch {rig.root}/ran")
    rig.answers = ["feat: change"]
    asyncio.run(rig.commit(dry_run=True))
    assert not (rig.root / "ran").exists()
