"""Hosts from files: what is accepted, what is reported, and how little a project's file may do."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tau.backends.ssh.connections import check_key
from tau.backends.ssh.hosts import HostTable, _sources, add_host, load_hosts, managed_file, remove_host
from tau.base.errors import ConfigError, ToolError, UsageError
from tau.config.paths import user_paths


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".tau").mkdir()
    (tmp_path / "repo" / "deep").mkdir()
    return tmp_path / "repo"


def users_file() -> Path:
    return user_paths().home / "ssh.json"


def write(path: Path, hosts: Any, **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hosts": hosts, **more}, indent=1))


def load(cwd: Path, *, trusted: bool = False, **environ: str) -> HostTable:
    return load_hosts(user_paths(), cwd, {**os.environ, **environ}, trusted=trusted)


def test_host_with_all_its_fields(project: Path) -> None:
    write(
        users_file(),
        {
            "prod": {
                "host": "10.0.0.5",
                "username": "deploy",
                "port": "2222",
                "keyPath": "~/keys/prod",
                "description": "The  shop\n\u001b[31m",
                "compat": "false",
            },
            "plain": {"host": "box.example", "user": "me", "key": "k", "desc": "d", "compat": True},
        },
    )
    found = load(project)
    assert found.warnings == []
    prod, plain = found.hosts["prod"], found.hosts["plain"]
    assert (prod.address, prod.user, prod.port) == ("10.0.0.5", "deploy", 2222)
    assert prod.key == Path(os.environ["HOME"]) / "keys" / "prod"
    assert (prod.description, prod.compat, prod.own) == ("The shop", False, True)
    assert prod.target == "deploy@10.0.0.5:2222"
    assert (plain.user, plain.key, plain.description) == ("me", users_file().parent / "k", "d")
    assert (plain.port, plain.compat, plain.target) == (None, True, "me@box.example")


def test_no_files_no_hosts(project: Path) -> None:
    assert load(project) == HostTable({}, [])


def test_hosts_of_all_files_are_merged_from_a_subfolder(project: Path) -> None:
    write(project / ".tau" / "ssh.json", {"a": {"host": "a1"}})
    write(users_file(), {"b": {"host": "b1"}})
    write(project / "ssh.json", {"a": {"host": "a2"}, "c": {"host": "c1"}})
    write(project / ".ssh.json", {"c": {"host": "c2"}, "d": {"host": "d1"}})
    found = load(project / "deep")
    assert {host.name: host.address for host in found.hosts.values()} == {
        "a": "a1",
        "b": "b1",
        "c": "c1",
        "d": "d1",
    }
    assert {host.name for host in found.hosts.values() if host.own} == {"b"}
    assert {source.path for source in _sources(user_paths(), project, False)} == {
        users_file(),
        *(project / name for name in (".tau/ssh.json", "ssh.json", ".ssh.json")),
    }


def test_project_cannot_shadow_a_user_host_unless_trusted(project: Path) -> None:
    write(project / ".tau" / "ssh.json", {"prod": {"host": "evil.example"}})
    write(users_file(), {"prod": {"host": "good.example"}})
    found = load(project)
    assert found.hosts["prod"].address == "good.example"
    assert len(found.warnings) == 1 and "already defines it" in found.warnings[0]
    assert load(project, trusted=True).hosts["prod"].address == "evil.example"


def test_file_content_never_becomes_an_ssh_option(project: Path) -> None:
    write(
        project / "ssh.json",
        {
            "a": {"host": "-oProxyCommand=touch /tmp/x"},
            "b": {"host": "h", "username": "-oProxyCommand=x"},
            "c": {"host": "h; touch /tmp/x"},
            "d": {"host": "h", "username": "$(x)"},
            "-e": {"host": "h"},
            "../f": {"host": "h"},
            "g": {"host": "h", "proxyCommand": "touch /tmp/x", "options": ["-oA=b"]},
        },
    )
    found = load(project)
    assert list(found.hosts) == ["g"]
    assert len(found.warnings) == 7
    assert "proxyCommand, options is ignored" in found.warnings[-1]
    assert all(warning.startswith(f"{project}/ssh.json:") for warning in found.warnings)


def test_variables_are_expanded_but_a_project_gets_no_secrets(project: Path) -> None:
    entry = {"host": "${PLACE}.example", "username": "$USER"}
    write(users_file(), {"own": entry})
    write(project / "ssh.json", {"theirs": entry, "fine": {"host": "h", "username": "$USER"}})
    found = load(project, PLACE="here", USER="me")
    assert (found.hosts["own"].address, found.hosts["own"].user) == ("here.example", "me")
    assert found.hosts["fine"].user == "me"
    assert "theirs" not in found.hosts
    assert "may only use USER, LOGNAME, HOME" in found.warnings[0]
    assert load(project, PLACE="a b", USER="me").hosts.keys() == {"fine"}
    write(users_file(), {"own": {"host": "$NOWHERE_SET"}})
    assert "host uses $NOWHERE_SET, which is not set." in load(project, USER="me").warnings[0]


def test_project_key_must_be_in_the_project_or_the_ssh_folder(project: Path, tmp_path: Path) -> None:
    (project / "link").symlink_to(tmp_path)
    write(
        project / "ssh.json",
        {
            "inside": {"host": "h", "key": "keys/a"},
            "usual": {"host": "h", "key": "~/.ssh/id_ed25519"},
            "outside": {"host": "h", "key": "/etc/ssh/ssh_host_ed25519_key"},
            "up": {"host": "h", "key": "../a"},
            "linked": {"host": "h", "key": "link/a"},
        },
    )
    found = load(project)
    assert found.hosts.keys() == {"inside", "usual"}
    assert found.hosts["inside"].key == project / "keys" / "a"
    assert all("outside the project and ~/.ssh" in warning for warning in found.warnings)
    assert load(project, trusted=True).hosts.keys() == {"inside", "usual", "outside", "up", "linked"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (5, "it must be an object"),
        ({}, "host, the name or address of the machine, is missing."),
        ({"host": 5}, "host must be text, not 5."),
        ({"host": "h", "port": 0}, "port must be a whole number from 1 to 65535, not 0."),
        ({"host": "h", "port": "x"}, 'port must be a whole number from 1 to 65535, not "x".'),
        ({"host": "h", "port": True}, "port must be a whole number"),
        ({"host": "h", "compat": "maybe"}, "compat must be true or false"),
        ({"host": "h", "key": "a\nb"}, "key has characters"),
    ],
)
def test_wrong_entry_is_reported_with_its_location_and_the_others_stay(
    project: Path, entry: Any, message: str
) -> None:
    write(users_file(), {"good": {"host": "h"}, "bad": entry})
    found = load(project)
    assert list(found.hosts) == ["good"]
    (warning,) = found.warnings
    assert warning.startswith(f"{users_file()}:6: ") and message in warning and "\n" not in warning


def test_broken_file_is_reported_and_the_others_count(project: Path) -> None:
    (project / "ssh.json").write_text("{")
    (project / ".ssh.json").write_text('{"hosts": [], "zzz": 1}')
    write(users_file(), {"good": {"host": "h"}})
    found = load(project)
    assert list(found.hosts) == ["good"]
    assert len(found.warnings) == 3


def test_hosts_and_warnings_are_bounded(project: Path) -> None:
    write(project / "ssh.json", {f"h{number}": {"host": "h"} for number in range(150)})
    found = load(project)
    assert len(found.hosts) == 100
    assert len(found.warnings) == 21
    assert found.warnings[-1] == "The ssh.json files have 30 more errors."


def test_adding_and_removing_leaves_the_rest_of_a_file_alone(project: Path) -> None:
    path = managed_file("project", user_paths(), project / "deep")
    assert path == project / ".tau" / "ssh.json"
    write(path, {"old": {"host": "h", "note": 1.50}}, other=[1])
    add_host(path, "new", {"host": "n", "port": 22})
    with pytest.raises(UsageError, match="already"):
        add_host(path, "new", {"host": "n"})
    content = json.loads(path.read_text())
    assert content == {
        "hosts": {"old": {"host": "h", "note": 1.5}, "new": {"host": "n", "port": 22}},
        "other": [1],
    }
    assert remove_host(path, "new") and not remove_host(path, "new")
    assert list(json.loads(path.read_text())["hosts"]) == ["old"]
    assert not remove_host(project / "nothing.json", "x")
    path.write_text('{"hosts": 5}')
    with pytest.raises(ConfigError, match="must be an object"):
        add_host(path, "x", {"host": "n"})


def test_unreadable_values_are_not_written(project: Path) -> None:
    for name, fields in (("a b", {"host": "h"}), ("a", {"host": "-x"}), ("a", {"host": "h", "port": 99999})):
        with pytest.raises(UsageError) as caught:
            add_host(users_file(), name, fields)
        assert "is skipped" not in str(caught.value)
    assert not users_file().exists()


def test_key_must_exist_and_be_private(project: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    write(users_file(), {"a": {"host": "h", "key": str(key)}})
    host = load(project).hosts["a"]
    with pytest.raises(ToolError, match="does not exist"):
        check_key(host)
    key.mkdir()
    with pytest.raises(ToolError, match="is not a file"):
        check_key(host)
    key.rmdir()
    key.write_text("secret")
    key.chmod(0o640)
    with pytest.raises(ToolError, match=r"accessible to others \(640\); it must be 600 or stricter"):
        check_key(host)
    key.chmod(0o400)
    check_key(host)
