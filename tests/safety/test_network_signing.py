"""Commits are signed in the sandbox once the user allowed the agent's socket; keys stay hidden."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.safety.contained_rig import ScriptedUi, contained_shell


def sh(text: str, cwd: Path) -> str:
    done = subprocess.run(["bash", "-c", text], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for program in ("bwrap", "git", "gpg", "ssh-agent"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    work = Path(os.path.realpath(tmp_path)) / "work"
    work.mkdir()
    sh("git init -q -b main && git config user.name a && git config user.email a@b.example", work)
    return work


@pytest.fixture
def ssh_agent(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An agent with a key, and a repository that signs with it."""
    folder = Path(os.environ["HOME"]) / ".ssh"
    folder.mkdir(mode=0o700)
    socket = folder / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    sh(f"until [ -S {socket} ]; do sleep 0.01; done", work)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    sh(f"ssh-keygen -q -t ed25519 -N '' -f {folder}/key && ssh-add -q {folder}/key", work)
    sh(f"git config gpg.format ssh && git config user.signingKey {folder}/key.pub", work)
    yield folder
    agent.terminate()
    agent.wait()


def test_a_public_key_that_is_a_link_does_not_show_the_private_one(work: Path, ssh_agent: Path) -> None:
    public = work / "key.pub"
    public.symlink_to(ssh_agent / "key")
    sh(f"git config user.signingKey {public}", work)

    async def main() -> None:
        ui = ScriptedUi(1)
        async with contained_shell(work, ui) as rig:
            await rig.run("git commit -q -S --allow-empty -m one")
            assert "No such file" in await rig.run(f"cat {ssh_agent}/key 2>&1")
        assert len(ui.asked) == 1

    asyncio.run(main())


def test_ssh_signing_asks_once_for_the_agent(work: Path, ssh_agent: Path) -> None:
    sh("git config commit.gpgSign true", work)

    async def main() -> None:
        ui = ScriptedUi(1)
        async with contained_shell(work, ui) as rig:
            for message in ("one", "two"):
                output = await rig.output(f"git commit -q --allow-empty -m {message}")
                assert not output.is_error, output
            assert "No such file" in await rig.run(f"cat {ssh_agent}/key 2>&1")
        assert len(ui.asked) == 1
        assert "signs with your ssh-agent" in ui.asked[0][0]

    asyncio.run(main())
    assert sh("git cat-file commit HEAD", work).count("BEGIN SSH SIGNATURE") == 1


def test_a_refused_agent_is_noted_and_unsigned_commits_ask_nothing(work: Path, ssh_agent: Path) -> None:
    async def main() -> None:
        ui = ScriptedUi(0)
        async with contained_shell(work, ui) as rig:
            assert not (await rig.output("git commit -q --allow-empty -m plain")).is_error
            assert ui.asked == []
            output = await rig.output("git commit -qS --allow-empty -m signed")
            assert output.is_error
            assert f"[Sandbox: blocked socket to {ssh_agent}/agent]" in str(output.content)
            assert not (await rig.output("git commit -q --no-gpg-sign --allow-empty -m plain")).is_error
        assert len(ui.asked) == 1

    asyncio.run(main())


def test_gpg_signing_asks_once_for_the_agent(work: Path) -> None:
    home = Path(os.environ["HOME"]) / ".gnupg"
    home.mkdir(mode=0o700)
    sh("gpg --batch --passphrase '' --quick-generate-key 'a <a@b.example>' ed25519 sign 0 2>&1", work)
    try:

        async def main() -> None:
            ui = ScriptedUi(1)
            async with contained_shell(work, ui) as rig:
                output = await rig.output("git commit -q -S --allow-empty -m signed 2>&1")
                assert not output.is_error, output
                assert "No such file" in await rig.run("ls ~/.gnupg/private-keys-v1.d 2>&1")
            assert "signs with your gpg-agent" in ui.asked[0][0]

        asyncio.run(main())
        assert "BEGIN PGP SIGNATURE" in sh("git cat-file commit HEAD", work)
    finally:
        sh("gpgconf --kill all", work)
