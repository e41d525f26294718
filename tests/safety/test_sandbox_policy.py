"""What a policy becomes: mounts, Landlock rules, a filter of system calls, a macOS profile, words."""

import os
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from tau.backends.sandbox import seccomp
from tau.backends.sandbox.access import plan_access
from tau.backends.sandbox.explanation import explain, explain_path
from tau.backends.sandbox.git_guard import GitGuard
from tau.backends.sandbox.mounts import find_mount, plan_mounts
from tau.backends.sandbox.policy import SandboxPolicy, SandboxRules, make_policy
from tau.backends.sandbox.seatbelt import seatbelt_profile
from tau.backends.sandbox.session import _ignores_case
from tau.coding.sandbox import runs_outside
from tests.safety.sandbox_rig import Place


def policy_of(place: Place, tmp_path: Path, **rules: object) -> SandboxPolicy:
    temporary = tmp_path / "private"
    temporary.mkdir(exist_ok=True)
    os.environ["HOME"] = str(place.home)
    os.environ.pop("XDG_CACHE_HOME", None)
    return make_policy(
        (place.project,),
        SandboxRules(**rules),  # type: ignore[arg-type]
        temporary=temporary,
        caches=place.caches,
        private=(place.credentials,),
    )


def test_inner_paths_win_over_outer_ones(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.project / "secret").mkdir()
    (place.project / "secret/open").mkdir()
    policy = policy_of(
        place, tmp_path, hide=(str(place.project / "secret"),), write=(str(place.project / "secret/open"),)
    )
    mounts = plan_mounts(policy)
    kinds = {
        name: found.kind
        for name in ("a", "secret/x", "secret/open/x")
        if (found := find_mount(place.project / name, mounts)) is not None
    }
    assert kinds == {"a": "write", "secret/x": "hide", "secret/open/x": "write"}
    targets = [mount.target for mount in mounts]
    assert targets == sorted(targets, key=lambda path: (len(path.parts), str(path)))


def test_only_what_exists_is_mounted(tmp_path: Path) -> None:
    place = Place(tmp_path)
    policy = policy_of(place, tmp_path, hide=("~/no-such-folder",), write=("~/neither",))
    assert all(mount.source.exists() for mount in plan_mounts(policy) if mount.kind != "mask")
    assert place.home / "no-such-folder" not in policy.hidden
    assert place.home / ".gnupg" not in policy.hidden


def test_credentials_that_variables_name_are_hidden_outside_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    for path in (place.home / "service.json", place.project / "service.json"):
        path.write_text("{}")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(place.home / "service.json"))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(place.project / "service.json"))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(place.project.parent))
    hidden = policy_of(place, tmp_path).hidden
    assert place.home / "service.json" in hidden
    assert not {place.project / "service.json", place.project.parent, place.project} & set(hidden)


def test_credentials_of_the_account_are_hidden_with_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    account = tmp_path / "account"
    (account / ".aws").mkdir(parents=True)
    row = SimpleNamespace(pw_dir=str(account))
    monkeypatch.setattr("tau.backends.sandbox.policy.pwd.getpwuid", lambda uid: row)
    hidden = policy_of(place, tmp_path).hidden
    assert account / ".aws" in hidden and place.home / ".ssh" in hidden


def test_folders_of_tau_made_for_caches_are_private(tmp_path: Path) -> None:
    place = Place(tmp_path)
    home = tmp_path / "tau"
    make_policy((place.project,), SandboxRules(), temporary=tmp_path, caches=home / "cache" / "sandbox" / "x")
    assert [oct(path.stat().st_mode & 0o777) for path in (home, home / "cache" / "sandbox" / "x")] == [
        "0o700"
    ] * 2


def test_landlock_grants_nothing_above_a_hidden_path(tmp_path: Path) -> None:
    place = Place(tmp_path)
    policy = policy_of(place, tmp_path)
    rules = plan_access(policy, plan_mounts(policy))
    readable = [rule.path for rule in rules if rule.rights != "list"]
    for hidden in (place.home / ".ssh", place.credentials, Path("/run")):
        assert not [path for path in readable if path == hidden or path in hidden.parents]
    assert place.project in [rule.path for rule in rules if rule.rights == "write"]


def test_profile_for_macos(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.project)
    policy = policy_of(place, tmp_path)
    text = seatbelt_profile(policy, GitGuard(policy.roots).find())
    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    allowed = lines.index(f'(allow file-write* (subpath "{place.project}"))')
    guarded = lines.index(f'(deny file-write* (subpath "{place.project}/.git/config"))')
    assert allowed < guarded
    assert f'(deny file-read* file-write* (subpath "{place.home}/.ssh"))' in lines
    assert "(allow network*)" not in lines
    assert text.count("(") == text.count(")")
    assert "(allow network*)" in seatbelt_profile(policy_of(place, tmp_path, network="on"))


def run_filter(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Interpret the program as the kernel would."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    lines = list(struct.iter_unpack("=HBBI", program))
    at, value = 0, 0
    while True:
        code, yes, no, operand = lines[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                value &= operand
            case 0x06:
                return int(operand)
            case 0x15:
                at += yes if value == operand else no
            case 0x35:
                at += yes if value >= operand else no
            case 0x45:
                at += yes if value & operand else no


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_supervised_filter_hands_over_connections_and_allows_only_tcp(machine: str) -> None:
    program = seccomp.build_filter(machine, families=("unix", "netlink"), connects=False, supervised=True)
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    names = ("socket", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg", "ioctl")
    numbers = {
        "x86_64": (41, 42, 49, 50, 44, 46, 307, 16),
        "aarch64": (198, 203, 200, 201, 206, 211, 269, 29),
    }
    call = dict(zip(names, numbers[machine], strict=True))

    def judge(name: str, *arguments: int) -> int:
        return run_filter(program, architecture, call[name], *arguments)

    allow, hand_over, fastopen = 0x7FFF0000, 0x7FC00000, 0x20000000
    assert {judge(name) for name in ("connect", "bind", "listen")} == {hand_over}
    assert judge("ioctl", 0, 0x5441) == hand_over and judge("ioctl", 0, 0x5401) == allow
    for family in (2, 10):
        tcp = [(1, 0), (1, 6), (1 | 0o2000000 | 0o4000, 0)]
        assert {judge("socket", family, kind, protocol) for kind, protocol in tcp} == {allow}
        others = [(2, 0), (1, 262), (1, 132), (3, 1), (5, 0)]
        assert allow not in {judge("socket", family, kind, protocol) for kind, protocol in others}
    assert judge("socket", 1, 1) == judge("socket", 16, 3) == allow
    assert allow not in {judge("socket", 1, 2), judge("socket", 17, 3), judge("socket", 40, 1)}
    for name, place in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        assert judge(name) == allow
        assert judge(name, *(0,) * place, fastopen | 0x4000) != allow


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_denies_what_it_lists(machine: str) -> None:
    """Interpret the program as the kernel would."""
    program = seccomp.build_filter(machine)
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]

    def judge(number: int, *arguments: int, arch: int = architecture) -> int:
        return run_filter(program, arch, number, *arguments)

    allow, eperm, enosys, no_family = 0x7FFF0000, 0x50001, 0x50026, 0x50061
    calls = {"x86_64": (41, 56, 16, 0, 101), "aarch64": (198, 220, 29, 63, 117)}[machine]
    socket, clone, ioctl, read, ptrace = calls
    assert {judge(number) for number in seccomp.denied_calls(machine).values()} == {eperm}
    assert len(seccomp.denied_calls(machine)) > 30
    assert judge(read) == judge(ptrace) == allow
    assert judge(435) == enosys
    assert judge(clone, 0x11) == allow and judge(clone, 0x10000000 | 0x11) == eperm
    assert judge(ioctl, 0, 0x5401) == allow and judge(ioctl, 0, 0x5412) == eperm
    assert [judge(socket, family) for family in (1, 2, 10, 16)] == [allow] * 4
    assert {judge(socket, family) for family in (0, 17, 38, 40)} == {no_family}
    assert judge(read, arch=0x40000003) == 0x80000000
    assert len(program) // 8 < 256


def test_explanation_says_why(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.project)
    os.environ["HOME"] = str(place.home)
    os.environ.pop("XDG_CACHE_HOME", None)
    found = explain(place.options())
    said = {
        name: (one.access, one.reason)
        for name in (
            "project/a.txt",
            ".ssh/id_ed25519",
            "outside/file",
            ".tau/auth.json",
            "project/.git/config",
        )
        for one in [explain_path(place.home / name, found)]
    }
    assert {name: access for name, (access, _) in said.items()} == {
        "project/a.txt": "writable",
        ".ssh/id_ed25519": "hidden",
        "outside/file": "read-only",
        ".tau/auth.json": "hidden",
        "project/.git/config": "read-only",
    }
    assert "the workspace" in said["project/a.txt"][1]
    assert "credentials of tau" in said[".tau/auth.json"][1]
    assert not (place.caches / "nothing").exists()


@pytest.mark.parametrize(
    ("command", "outside"),
    [
        ("docker ps -a", True),
        ("docker", True),
        ("docker ps; docker images", True),
        ("docker ps; rm -rf x", False),
        ("docker ps $(evil)", False),
        ("dockerx ps", False),
        ("gh pr list", True),
        ("gh pr create", False),
        ("if docker ps; then evil; fi", False),
    ],
)
def test_commands_that_the_user_runs_outside(command: str, outside: bool) -> None:
    assert runs_outside(command, ("docker *", "gh pr list")) is outside


def test_a_workspace_that_ignores_case_is_recognized(tmp_path: Path) -> None:
    """No such file system can be mounted here: a second name looks the same."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    assert not _ignores_case(folder)
    (folder / ".GIT").symlink_to(".git")
    assert _ignores_case(folder)
