"""Git transfers run outside the sandbox, after one question, and run nothing that the repository names."""

import asyncio
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tau.coding.shell.git_transfer_commands import (
    find_problem,
    merge_text,
    read_transfer,
    shown_url,
    transfer_argv,
    transfer_env,
)
from tests.safety.contained_rig import ContainedRig, ScriptedUi, contained_shell
from tests.support.free_ports import free_port
from tests.support.idle import until
from tests.support.limits import HANG_S

IDENTITY = {
    f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}

OUTSIDE = """
git fetch
git fetch origin
git fetch --prune origin main
git -C sub fetch
cd sub && git fetch
git pull
git pull --rebase origin main
git push
git push -u origin feature
git push origin HEAD:refs/heads/x
git push --force-with-lease
git push origin :old
""".strip().splitlines()
INSIDE = """
git fetch --all
git status
git fetch && make
git fetch; rm -rf x
git fetch | cat
git fetch > log
git fetch --upload-pack=/tmp/x origin
git fetch --upload-pack /tmp/x origin
git push --receive-pack=x origin
git push --exec=x
git -c core.sshCommand=x fetch
git --exec-path=/tmp fetch
git --git-dir=/tmp/x fetch
GIT_SSH_COMMAND=x git fetch
env git fetch
git fetch ext::sh
git fetch /tmp/repo
git fetch ../repo
git fetch https://evil.example/x
git fetch git@evil.example:x
git fetch -o x origin
git fetch --recurse-submodules
git fetch --multiple a b
git fetch --stdin
git fetch origin -- --upload-pack=x
git push origin --upload-pack=x
git fetch $REMOTE
git fetch `id`
git pull --gpg-sign=x
git pull -X ours
git pull --strategy=x
git remote update
git submodule update
git fetch origin '+refs/*:refs/*'
git push --signed
sudo git fetch
""".strip().splitlines()


@pytest.mark.parametrize("text", OUTSIDE)
def test_plain_transfers_are_recognized(text: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    transfer = read_transfer(text, tmp_path)
    assert transfer is not None
    argv = transfer_argv(transfer, "origin")
    assert "core.hooksPath=/dev/null" in argv
    assert ("--no-verify" in argv) == (transfer.verb == "push")


@pytest.mark.parametrize("text", INSIDE)
def test_anything_else_stays_inside(text: str, tmp_path: Path) -> None:
    assert read_transfer(text, tmp_path) is None


PROGRAMS = """
core.sshCommand core.gitProxy core.hooksPath core.fsmonitor core.askPass core.alternateRefsCommand
core.pager core.editor core.worktree credential.helper credential.https://x.helper
remote.origin.uploadpack remote.origin.receivepack remote.origin.vcs remote.origin.proxy
remote.origin.promisor url.x.insteadOf url.x.pushInsteadOf include.path includeIf.gitdir:x.path
http.proxy http.sslVerify filter.x.clean filter.x.process diff.x.command diff.x.textconv alias.fetch
protocol.ext.allow extensions.partialClone extensions.worktreeConfig gpg.program gpg.ssh.program
submodule.x.update ssh.variant fetch.fsckObjects remote.origin.pushurl uploadpack.packObjectsHook
core.attributesFile
"""


@pytest.mark.parametrize("name", PROGRAMS.split())
def test_a_repository_that_names_a_program_keeps_its_transfers_inside(name: str) -> None:
    assert find_problem(f"core.bare\0{name}\0", "https://good.example/x") == f"the repository sets {name}"


@pytest.mark.parametrize(
    "url",
    [
        "/srv/x.git",
        "../x",
        "file:///srv/x",
        "ext::sh -c x",
        "-oProxyCommand=x",
        "ssh://-oProxyCommand=x/y",
        "",
    ],
)
def test_a_remote_that_is_not_on_the_network_keeps_its_transfers_inside(url: str) -> None:
    assert find_problem("core.bare\0", url) == "its remote is not on the network"


def test_ordinary_repositories_and_remotes_are_accepted() -> None:
    names = "core.repositoryformatversion core.filemode core.bare remote.origin.url remote.origin.fetch "
    names += "branch.main.remote branch.main.merge branch.a/b.rebase user.email pull.rebase submodule.x.url"
    for url in ("https://good.example/x.git", "git@good.example:a/b.git", "ssh://git@good.example:22/x"):
        assert find_problem("\0".join(names.split()), url) == ""


def test_a_remote_with_two_addresses_keeps_its_transfers_inside() -> None:
    urls = "https://good.example/x\nhttps://evil.example/x"
    assert find_problem("core.bare\0", urls) == "its remote has more than one address"


def test_a_question_hides_passwords_and_branch_names_are_quoted(tmp_path: Path) -> None:
    assert shown_url("https://me:secret@good.example/x") == "https://me@good.example/x"
    assert shown_url("git@good.example:a/b") == "git@good.example:a/b"
    transfer = read_transfer("git pull --rebase", tmp_path)
    assert transfer is not None
    text = merge_text(transfer, "refs/remotes/origin/a;touch$IFS'x'")
    assert shlex.split(text)[-1] == "refs/remotes/origin/a;touch$IFS'x'"


def test_no_variable_can_change_what_a_transfer_runs() -> None:
    env = transfer_env()
    assert env["GIT_ALLOW_PROTOCOL"] == "https:ssh:git:http"
    assert env["GIT_CONFIG_COUNT"] == "0"


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=os.environ | IDENTITY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for program in ("bwrap", "git"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    place = Path(os.path.realpath(tmp_path))
    remote, work = place / "served" / "remote.git", place / "work"
    remote.mkdir(parents=True)
    git(remote, "init", "-q", "--bare", "-b", "main")
    git(place, "init", "-q", "-b", "main", str(work))
    git(work, "commit", "-q", "--allow-empty", "-m", "first")
    git(work, "push", "-q", str(remote), "main")
    return place


@asynccontextmanager
async def session(place: Path, ui: ScriptedUi | None) -> AsyncIterator[ContainedRig]:
    """The repository's remote is served by a Git daemon on loopback."""
    port = free_port()
    words = ["git", "daemon", "--export-all", "--enable=receive-pack", f"--base-path={place / 'served'}"]
    daemon = await asyncio.create_subprocess_exec(
        *words, "--listen=127.0.0.1", f"--port={port}", "--reuseaddr", stderr=asyncio.subprocess.DEVNULL
    )
    work = place / "work"
    git(work, "remote", "add", "origin", f"git://127.0.0.1:{port}/remote.git")
    git(work, "config", "branch.main.remote", "origin")
    git(work, "config", "branch.main.merge", "refs/heads/main")

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        await until(answers, HANG_S, lambda: "the daemon does not listen")
        async with contained_shell(work, ui) as rig:
            await rig.run("; ".join(f"export {name}={value}" for name, value in IDENTITY.items()))
            yield rig
    finally:
        daemon.terminate()
        await daemon.wait()


def add_commit(place: Path, name: str) -> None:
    """A commit on the remote that the work tree does not have yet."""
    other = place / "other"
    if not other.exists():
        git(place, "clone", "-q", str(place / "served" / "remote.git"), str(other))
    (other / name).write_text("x")
    git(other, "add", name)
    git(other, "commit", "-q", "-m", name)
    git(other, "push", "-q", "origin", "HEAD:main")


def test_fetch_pull_and_push_work_after_one_question(place: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(1)
        async with session(place, ui) as rig:
            add_commit(place, "one")
            output = await rig.output("git fetch")
            assert not output.is_error
            add_commit(place, "two")
            text = await rig.run("git pull --ff-only")
            assert (place / "work" / "two").exists(), text
            text = await rig.run("git commit -q --allow-empty -m mine && git log -1 --format=%s")
            assert text == "mine\n"
            output = await rig.output("git push origin main")
            assert not output.is_error, output
            assert git(place / "served" / "remote.git", "log", "-1", "--format=%s", "main") == "mine"
        assert len(ui.asked) == 1
        title, options = ui.asked[0]
        assert title.startswith("git fetch needs the network and your keys: origin, git://127.0.0.1:")
        assert options[0] == "No"

    asyncio.run(main())


def test_a_refused_transfer_is_noted_and_fails_inside(place: Path) -> None:
    async def main() -> None:
        async with session(place, ScriptedUi(0)) as rig:
            add_commit(place, "one")
            output = await rig.output("git fetch")
            assert output.is_error
            assert "[Sandbox: blocked git fetch with origin]" in str(output.content)

    asyncio.run(main())


def test_a_transfer_among_other_commands_fails_with_advice(place: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(1)
        async with session(place, ui) as rig:
            output = await rig.output("git commit -q --allow-empty -m mine && git push origin main")
            assert output.is_error and "only as a plain, separate command]" in str(output.content)
            for text in ("false", "git log nothing", "echo push; git commit"):
                assert "separate command" not in str((await rig.output(text)).content)
            assert not (await rig.output("git push origin main")).is_error
        assert len(ui.asked) == 1

    asyncio.run(main())


def test_hooks_do_not_run_outside(place: Path) -> None:
    async def main() -> None:
        ran = place / "ran"
        for name in ("pre-push", "post-merge", "reference-transaction", "post-checkout", "pre-auto-gc"):
            hook = place / "work" / ".git" / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
            hook.chmod(0o755)
        async with session(place, ScriptedUi(1)) as rig:
            add_commit(place, "one")
            for command in ("git fetch", "git pull", "git push"):
                output = await rig.output(command)
                assert not output.is_error, output
        assert not ran.exists()  # inside, hooks ran but could not write there

    asyncio.run(main())


def test_links_in_a_repository_do_not_lead_a_transfer_to_other_files(place: Path) -> None:
    async def main() -> None:
        precious = Path(os.environ["HOME"]) / "precious"
        precious.write_text("precious")
        async with session(place, ScriptedUi(1)) as rig:
            add_commit(place, "one")
            await rig.run(f"rm -f .git/FETCH_HEAD; ln -s {precious} .git/FETCH_HEAD")
            output = await rig.output("git fetch origin main")
            assert output.is_error
            assert "Read-only file system" in str(output.content)
        assert precious.read_text() == "precious"

    asyncio.run(main())


def test_a_repository_that_was_made_inside_keeps_its_transfers_inside(place: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(0)
        async with session(place, ui) as rig:
            await rig.run("git init -q new && git -C new remote add origin https://good.example/x.git")
            text = await rig.run("git -C new fetch")
            assert "this transfer stayed inside, because the sandbox does not protect" in text
        assert [title for title, _ in ui.asked] == [
            "A command in the sandbox wants to connect to good.example:443."
        ]

    asyncio.run(main())


def test_a_command_cannot_answer_for_a_repository_below_the_temporary_folder(place: Path) -> None:
    """Inside, the folders above such a workspace are the command's own: it can put others there."""

    async def main() -> None:
        ui, work = ScriptedUi(), place / "work"
        assert work.is_relative_to("/tmp")
        git(work, "config", "core.sshCommand", f"touch {place / 'ran'};")
        async with session(place, ui) as rig:
            outer = Path(*work.parts[:3])
            text = await rig.run(
                f"mv {outer} /tmp/away && git init -q {work} && cd {work} && "
                "git remote add origin https://good.example/x.git && git remote get-url origin"
            )
            assert text == "https://good.example/x.git\n"  # which no file outside says
            text = await rig.run(f"git -C {work} fetch origin")
            assert "this transfer stayed inside, because the repository sets core.sshcommand" in text
        assert "keys" not in str(ui.asked)
        assert not (place / "ran").exists()

    asyncio.run(main())


def test_outside_runs_stay_off_with_the_network(place: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi()
        git(place / "work", "remote", "add", "origin", "https://good.example/x.git")
        async with contained_shell(place / "work", ui, network="off") as rig:
            assert "[Sandbox: blocked connection to good.example:443]" in await rig.run("git fetch origin")
        assert ui.asked == []

    asyncio.run(main())
