"""Reads of credential stores are declared, so that a policy can ask."""

import asyncio
import os
from pathlib import Path

import pytest

from tau.coding.files.credential_stores import is_credential_store, stores_below
from tests.safety.effects_rig import Trap, play

STORES = [
    *("~/.ssh", "~/.ssh/id_ed25519", "~/.aws/credentials", "~/.gnupg/private-keys-v1.d/x", "~/.netrc"),
    *("~/.git-credentials", "~/.config/gh/hosts.yml", "~/.docker/config.json", "~/.kube/config", "~/.npmrc"),
    *("~/.local/share/keyrings/login.keyring", "~/.mozilla/firefox/x.default/logins.json"),
    *("~/.config/google-chrome/Default/Login Data", "~/.SSH/id", "~/x/../.ssh/id", "~/.tau/agent/auth.json"),
    *("/root/.ssh/id", "/home/other/.ssh/id", "/Users/x/.aws/credentials", "/etc/shadow"),
    *("/proc/1/environ", "/proc/1/task/1/environ", "/proc/1/mem"),
]
OTHERS = [
    *("~", "~/.bashrc", "~/.sshx", "~/code/.ssh-config", "~/.config", "~/.config/git/config", "~/.docker"),
    *("~/.tau/agent/settings.json", "~/project/.npmrc", "/etc/passwd", "/home", "/proc/1/status"),
]


@pytest.mark.parametrize("text", STORES)
def test_store(trap: Trap, text: str) -> None:
    assert is_credential_store(Path(text.replace("~", str(trap.home))))


@pytest.mark.parametrize("text", OTHERS)
def test_no_store(trap: Trap, text: str) -> None:
    assert not is_credential_store(Path(text.replace("~", str(trap.home))))


def test_file_that_a_variable_names_is_a_store(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    key = trap.home / "keys" / "service.json"
    assert not is_credential_store(key)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    monkeypatch.setenv("KUBECONFIG", f"{trap.home}/a.yaml:{trap.home}/b.yaml")
    monkeypatch.setenv("GNUPGHOME", "/")  # nobody means everything
    assert is_credential_store(key) and is_credential_store(trap.home / "b.yaml")
    assert not is_credential_store(trap.home / "c.yaml")


def test_link_to_a_store_is_one(trap: Trap) -> None:
    (trap.ws / "docs").symlink_to(trap.home / ".ssh")
    assert is_credential_store(trap.ws / "docs" / "id")
    assert is_credential_store(trap.ws / "docs")


def test_environment_of_this_process_is_a_store() -> None:
    assert is_credential_store(Path("/proc/self/environ"))
    assert is_credential_store(Path(f"/proc/{os.getpid()}/environ"))


def test_stores_below_a_folder_are_found(trap: Trap) -> None:
    (trap.home / ".aws").mkdir()
    (trap.home / ".tau" / "agent" / "auth.json").write_text("{}")
    found = {trap.short(path) for path in stores_below(trap.base)}
    assert found == {"home/.ssh", "home/.aws", "home/.tau/agent/auth.json"}
    assert stores_below(trap.ws) == () == stores_below(trap.home / ".ssh")


def test_listing_a_home_does_not_look_into_its_stores(trap: Trap) -> None:
    outcome = asyncio.run(play(trap, "read", {"path": "~"}))
    assert ".ssh/" in outcome.text and "- id" not in outcome.text
    assert "agent/" in outcome.text


def test_missing_file_is_not_found_in_a_store(trap: Trap) -> None:
    """A file that is missing is looked for below the working folder, which may be a home."""
    trap.ws = trap.home
    outcome = asyncio.run(play(trap, "read", {"path": "id"}))
    assert "There is no file id" in outcome.text
