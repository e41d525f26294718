"""pr_create, pr_checkout and pr_push: the real gh and git, with bare repositories in place of GitHub's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import ToolError
from tau.config.paths import user_paths
from tests.backends.github.conftest import REPOSITORY, Use, git, said
from tests.backends.github.test_threads import ANN
from tests.support.fake_github import FakeGithub

ODD = "fix;touch${IFS}pwned"  # a name that git allows


def pull(number: int, branch: str, oid: str, *, owner: str = "octo", edits: bool = True) -> dict[str, Any]:
    fork = owner != "octo"
    return {
        "__typename": "PullRequest",
        "id": f"P_{number}",
        "number": number,
        "title": f"Change {number}",
        "state": "OPEN",
        "url": f"https://github.com/octo/app/pull/{number}",
        "headRefName": branch,
        "headRefOid": oid,
        "baseRefName": "main",
        "headRepository": {"id": "R_2", "name": "app"},
        "headRepositoryOwner": {"__typename": "User", "id": "U_2", "login": owner},
        "isCrossRepository": fork,
        "maintainerCanModify": edits,
        "author": ANN,
    }


class Remotes:
    """The bare repositories, and the pull requests that GitHub knows."""

    def __init__(self, folder: Path, checkout: Path, github: FakeGithub) -> None:
        self.folder = folder
        self.checkout = checkout
        self.pulls: dict[int, dict[str, Any]] = {}
        for owner in ("octo", "ann"):
            git(folder, "clone", "-q", "--bare", str(checkout), str(folder / owner / "app.git"))
        github.data["repository"] = self._repository

    def _repository(self, arguments: dict[str, Any]) -> dict[str, Any]:
        owner = arguments["owner"]
        url = f"https://github.com/{owner}/app"
        return {
            **REPOSITORY,
            "nameWithOwner": f"{owner}/app",
            "owner": {"__typename": "User", "login": owner, "id": owner},
            "url": url,
            "pullRequest": self._pull,
            "pullRequests": lambda asked: {
                "nodes": [
                    one for one in self.pulls.values() if one["headRefName"] == asked.get("headRefName")
                ],
                "totalCount": 1,
            },
        }

    def _pull(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["number"] not in self.pulls:
            raise ValueError(f"Could not resolve to a PullRequest with the number of {asked['number']}.")
        return self.pulls[asked["number"]]

    def commit(self, owner: str, branch: str, text: str) -> str:
        """Add a commit to a branch of a bare repository."""
        work = self.folder / f"work-{owner}-{len(list(self.folder.iterdir()))}"
        git(self.folder, "clone", "-q", str(self.folder / owner / "app.git"), str(work))
        start = f"origin/{branch}" if branch in git(work, "branch", "-r") else "origin/main"
        git(work, "checkout", "-q", "-B", branch, start)
        (work / "a.txt").write_text(text, encoding="utf-8")
        git(work, "commit", "-q", "-am", text.strip())
        git(work, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        return git(work, "rev-parse", "HEAD")

    def open(self, number: int, branch: str, *, owner: str = "octo", edits: bool = True) -> str:
        oid = self.commit(owner, branch, f"{number}\n")
        self.pulls[number] = pull(number, branch, oid, owner=owner, edits=edits)
        return oid

    def tip(self, owner: str, branch: str) -> str:
        return git(self.folder / owner / "app.git", "rev-parse", f"refs/heads/{branch}")


@pytest.fixture
def remotes(tmp_path: Path, checkout: Path, github: FakeGithub, monkeypatch: pytest.MonkeyPatch) -> Remotes:
    folder = tmp_path / "remotes"
    folder.mkdir()
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[url "file://{folder}/"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = u\n\temail = u@e\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    return Remotes(folder, checkout, github)


def place_of(checkout: Path, number: int) -> Path:
    [found] = (user_paths().home / "wt").glob(f"*/pr-{number}")
    return found


def test_a_pull_request_gets_its_own_work_tree_and_goes_back_where_it_came_from(
    remotes: Remotes, checkout: Path, use: Use
) -> None:
    oid = remotes.open(7, "feature/x")
    output = use("pr_checkout", pr="7")
    place = place_of(checkout, 7)
    assert (place / "a.txt").read_text("utf-8") == "7\n"
    assert f"Worktree: {place}" in said(output) and output.details.head_sha == oid
    assert git(checkout, "config", "branch.pr-7.tauPrHeadRef") == "feature/x"
    assert git(checkout, "config", "branch.pr-7.pushRemote") == "origin"
    assert git(checkout, "config", "branch.pr-7.tauPrIsCrossRepository") == "false"
    assert "(was there already)" in said(use("pr_checkout", pr=["https://github.com/octo/app/pull/7"]))
    (place / "a.txt").write_text("mine\n", encoding="utf-8")
    git(place, "commit", "-q", "-am", "Mine")
    text = said(use("pr_push", branch="pr-7"))
    assert "Remote branch: feature/x" in text and "Pull request: https://github.com/octo/app/pull/7" in text
    assert remotes.tip("octo", "feature/x") == git(place, "rev-parse", "HEAD")


def test_a_fork_becomes_a_remote_and_may_refuse_pushes(remotes: Remotes, checkout: Path, use: Use) -> None:
    remotes.open(8, "theirs", owner="ann")
    remotes.open(9, "closed", owner="ann", edits=False)
    output = use("pr_checkout", pr=["8", "9"])
    assert "# 2 Pull Request Worktrees (2 ready)" in said(output)
    assert git(checkout, "remote", "get-url", "--all", "fork-ann").endswith("/ann/app.git")
    git(place_of(checkout, 8), "commit", "-q", "--allow-empty", "-m", "Mine")
    use("pr_push", branch="pr-8", forceWithLease=True)
    assert remotes.tip("ann", "theirs") == git(place_of(checkout, 8), "rev-parse", "HEAD")
    before = remotes.tip("ann", "closed")
    with pytest.raises(ToolError, match="does not let maintainers change it"):
        use("pr_push", branch="pr-9")
    assert remotes.tip("ann", "closed") == before


def test_one_bad_pull_request_of_several_fails_alone(remotes: Remotes, use: Use) -> None:
    remotes.open(7, "x")
    text = said(use("pr_checkout", pr=["7", "99"]))
    assert "(1 ready, 1 failed)" in text and "# Pull Request 99\n\nNot checked out:" in text


def test_force_never_loses_work_that_is_nowhere_else(remotes: Remotes, checkout: Path, use: Use) -> None:
    remotes.open(7, "x")
    use("pr_checkout", pr="7")
    place = place_of(checkout, 7)
    git(place, "commit", "-q", "--allow-empty", "-m", "Precious")
    new = remotes.commit("octo", "x", "newer\n")
    with pytest.raises(ToolError, match="pass `force` to reset it"):
        use("pr_checkout", pr="7")
    with pytest.raises(ToolError, match=r"would lose work that is nowhere else: commit .* Precious"):
        use("pr_checkout", pr="7", force=True)
    git(place, "reset", "-q", "--hard", "HEAD~")
    (place / "a.txt").write_text("unsaved\n", encoding="utf-8")
    with pytest.raises(ToolError, match=r"would lose work that is nowhere else: file .*a\.txt"):
        use("pr_checkout", pr="7", force=True)
    git(place, "checkout", "-q", "a.txt")
    use("pr_checkout", pr="7", force=True)
    assert git(place, "rev-parse", "HEAD") == new


def test_names_of_branches_reach_no_shell(remotes: Remotes, checkout: Path, use: Use) -> None:
    remotes.open(7, ODD)
    use("pr_checkout", pr="7")
    git(place_of(checkout, 7), "commit", "-q", "--allow-empty", "-m", "Mine")
    use("pr_push", branch="pr-7")
    assert remotes.tip("octo", ODD) == git(place_of(checkout, 7), "rev-parse", "HEAD")
    assert not list(checkout.parent.rglob("pwned"))
    remotes.pulls[8] = pull(8, "--upload-pack=touch pwned", "a" * 40)
    remotes.pulls[9] = pull(9, "a\nb", "a" * 40)
    for number in ("8", "9"):
        with pytest.raises(ToolError, match="`headRefName` cannot be"):
            use("pr_checkout", pr=number)


def test_hooks_of_a_pull_request_do_not_run(remotes: Remotes, checkout: Path, use: Use) -> None:
    git(checkout, "config", "core.hooksPath", ".husky")
    oid = remotes.open(7, "x")
    hooks = checkout / ".husky"
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {checkout.parent}/ran\n", encoding="utf-8")
    (hooks / "post-checkout").chmod(0o755)
    use("pr_checkout", pr="7")
    assert oid and not (checkout.parent / "ran").exists()


def test_older_keys_of_another_agent_still_say_where_to_push(
    remotes: Remotes, checkout: Path, use: Use
) -> None:
    git(checkout, "branch", "pr-3")
    git(checkout, "config", "branch.pr-3.ompPrHeadRef", "theirs")
    git(checkout, "config", "branch.pr-3.remote", "origin")
    use("pr_push", branch="pr-3")
    assert remotes.tip("octo", "theirs") == git(checkout, "rev-parse", "pr-3")
    with pytest.raises(ToolError, match="main is not from pr_checkout"):
        use("pr_push")


def test_a_new_pull_request_is_shown_as_github_has_it(
    github: FakeGithub, remotes: Remotes, use: Use, reply: Callable[..., Any]
) -> None:
    remotes.pulls[7] = pull(7, "other", "a" * 40)
    github.data["createPullRequest"] = lambda asked: {
        "pullRequest": {"id": "P_7", "url": "https://github.com/octo/app/pull/7"}
    }
    text = said(
        use("pr_create", repo="octo/app", title="A; $(rm -rf /)", body="Body `x`", head="x", base="main")
    )
    assert "# Created Pull Request #7: Change 7" in text and "Base: main" in text
    [call] = [call for call in github.calls if "createPullRequest" in str(call.body)]
    sent = call.body["variables"]["input"]
    assert (sent["title"], sent["body"], sent["headRefName"]) == ("A; $(rm -rf /)", "Body `x`", "x")


@pytest.mark.parametrize(
    "pr", ["http://evil.example/octo/app/pull/7", "HTTPS://evil.example/octo/app/pull/7", "ext://x"]
)
def test_an_address_that_only_gh_understands_is_refused(use: Use, remotes: Remotes, pr: str) -> None:
    with pytest.raises(ToolError, match="is not the address of a pull request"):
        use("pr_checkout", pr=pr)
