"""Which calls are allowed in which mode."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.effects import Effects
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import PolicyVerdict, Workspace, decide, judge_connection
from tau.coding.approval.rules import RuleList
from tau.config.settings import ApprovalMode

MODES: tuple[ApprovalMode, ...] = ("ask", "workspace", "plan", "yolo")


def judge(
    effects: Effects,
    workspace: Workspace,
    mode: ApprovalMode = "workspace",
    *,
    allow: Sequence[str] = (),
    ask: Sequence[str] = (),
    deny: Sequence[str] = (),
    contained: bool = False,
    sandbox_off: bool = True,
    demo: bool = False,
    shell: bool = True,
    tool: str = "bash",
) -> PolicyVerdict:
    root = workspace.roots[0]
    permissions = Permissions(
        mode=mode,
        allow=RuleList.of("allow", allow, root),
        ask=RuleList.of("ask", ask, root),
        deny=RuleList.of("deny", deny, root),
        sandbox_off=sandbox_off,
    )
    return decide(effects, permissions, workspace, demo=demo, contained=contained, shell=shell, tool=tool)


def verdicts_of(effects: Effects, workspace: Workspace, **more: Any) -> list[str]:
    return [judge(effects, workspace, mode, **more).verdict for mode in MODES]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path.resolve()
    for name in ("work/src", "work/.git/hooks", "outside", "temp", "home/.tau/agent"):
        (base / name).mkdir(parents=True)
    (base / "work" / "to_outside").symlink_to(base / "outside")
    (base / "work" / "to_file").symlink_to(base / "outside" / "file.txt")
    (base / "work" / "dangling").symlink_to(base / "outside" / "not_yet.txt")
    (base / "work" / "chain").symlink_to("dangling")
    (base / "work" / "to_src").symlink_to("src")
    (base / "work" / "to_hooks").symlink_to(".git/hooks")
    (base / "work" / "to_config").symlink_to(base / "home" / ".tau" / "agent" / "auth.json")
    (base / "outside" / "file.txt").touch()
    (base / "outside" / "to_work").symlink_to(base / "work")
    return base


@pytest.fixture
def workspace(base: Path) -> Workspace:
    return Workspace.of((base / "work", base / "temp"), (base / "home" / ".tau" / "agent",))


# path below the base, verdicts in the modes ask, workspace, plan, yolo
WRITES = [
    ("work/a.py", "ask allow deny allow"),
    ("work/src/new/deep/a.py", "ask allow deny allow"),
    ("work/to_src/a.py", "ask allow deny allow"),
    ("work/src/../a.py", "ask allow deny allow"),
    ("work/.gitignore", "ask allow deny allow"),
    ("work/.github/x.yml", "ask allow deny allow"),
    ("temp/scratch.txt", "ask allow deny allow"),
    ("outside/to_work/a.py", "ask allow deny allow"),
    ("outside/a.py", "ask ask deny allow"),
    ("work/../outside/a.py", "ask ask deny allow"),
    ("work-two/a.py", "ask ask deny allow"),
    ("work/to_outside/a.py", "ask ask deny allow"),
    ("work/to_outside/new/a.py", "ask ask deny allow"),
    ("work/to_file", "ask ask deny allow"),
    ("work/dangling", "ask ask deny allow"),
    ("work/chain", "ask ask deny allow"),
    ("work/to_outside/../../outside/a.py", "ask ask deny allow"),
    ("work/.git/config", "ask ask deny allow"),
    ("work/.git/hooks/pre-commit", "ask ask deny allow"),
    ("work/.GIT/hooks/pre-commit", "ask ask deny allow"),
    ("work/to_hooks/pre-commit", "ask ask deny allow"),
    ("work/sub/.git", "ask ask deny allow"),
    ("home/.tau/agent/auth.json", "ask ask deny allow"),
    ("home/.tau/agent/settings.json", "ask ask deny allow"),
    ("work/to_config", "ask ask deny allow"),
]


@pytest.mark.parametrize(("path", "verdicts"), WRITES, ids=[path for path, _ in WRITES])
def test_writes(base: Path, workspace: Workspace, path: str, verdicts: str) -> None:
    effects = Effects(writes=(base / path,))
    assert verdicts_of(effects, workspace) == verdicts.split()


def test_own_files_are_protected_in_any_case(base: Path) -> None:
    workspace = Workspace.of((base / "home",), (base / "home" / "own",))
    effects = Effects(writes=(base / "home" / "OWN" / "notes.txt",))
    assert verdicts_of(effects, workspace) == ["ask", "ask", "deny", "allow"]


@pytest.mark.parametrize("mode", MODES)
def test_reads_are_allowed_everywhere(base: Path, workspace: Workspace, mode: ApprovalMode) -> None:
    effects = Effects(reads=(base / "outside" / "file.txt", Path("/etc/passwd")))
    assert judge(effects, workspace, mode, demo=True).verdict == "allow"


@pytest.mark.parametrize(
    ("demo", "verdicts"), [(False, ["ask", "allow", "deny", "allow"]), (True, ["ask", "ask", "deny", "ask"])]
)
def test_commands_run_but_those_of_the_demo_model_always_ask(
    workspace: Workspace, demo: bool, verdicts: list[str]
) -> None:
    effects = Effects(runs=("ls",))
    assert verdicts_of(effects, workspace, demo=demo) == verdicts


def test_rules_beat_the_answer_about_a_command_of_the_demo_model(workspace: Workspace) -> None:
    effects = Effects(runs=("sudo ls",))
    for mode in MODES:
        assert judge(effects, workspace, mode, demo=True, deny=["run: sudo"]).verdict == "deny"
        found = judge(effects, workspace, mode, demo=True, allow=["run: sudo ls", "tool: bash"])
        assert found.verdict == ("deny" if mode == "plan" else "ask"), mode


def test_connections_ask_only_where_everything_asks(workspace: Workspace) -> None:
    effects = Effects(network=("example.com",))
    assert verdicts_of(effects, workspace) == ["ask", "allow", "allow", "allow"]


def test_our_own_files_ask_also_inside_a_workspace_root(base: Path) -> None:
    workspace = Workspace.of((base,), (base / "home" / ".tau" / "agent",))
    effects = Effects(writes=(base / "home" / ".TAU" / "agent" / "auth.json",))
    assert judge(effects, workspace).verdict == "ask"


def test_a_root_reached_through_a_link_is_the_same_root(base: Path) -> None:
    workspace = Workspace.of((base / "outside" / "to_work",))
    effects = Effects(writes=(base / "work" / "a.py",))
    assert judge(effects, workspace).verdict == "allow"


def test_the_reason_says_where_a_link_leads(base: Path, workspace: Workspace) -> None:
    decision = judge(Effects(writes=(base / "work" / "dangling",)), workspace)
    assert str(base / "outside" / "not_yet.txt") in decision.reason


def test_every_effect_of_a_call_gets_its_own_question(base: Path, workspace: Workspace) -> None:
    effects = Effects(
        writes=(base / "outside" / "a", base / "work" / "b"), runs=("ls",), network=("example.com",)
    )
    assert len(judge(effects, workspace, "ask").questions) == 4
    assert len(judge(effects, workspace).questions) == 1


# command, verdicts in the mode workspace: in a sandbox, without one that works, with the sandbox turned off
COMMANDS = [
    ("ls -l", "allow ask allow"),
    ("touch made && make", "allow ask allow"),
    ("rm -rf {outside}", "ask ask ask"),
    ("rm -rf ../outside", "ask ask ask"),
    ("mv a {outside}/b", "ask ask ask"),
    ("echo x > {outside}/file.txt", "ask ask ask"),
    ("echo 'unclosed", "ask ask ask"),
    ("rm -rf build", "allow ask allow"),
    ("echo x > {temp}/log", "allow ask ask"),
]


@pytest.mark.parametrize(("command", "verdicts"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_commands_that_are_contained_need_not_ask(base: Path, command: str, verdicts: str) -> None:
    workspace = Workspace.of((base / "work",), temporary=(base / "temp",))
    effects = Effects(runs=(command.format(outside=base / "outside", temp=base / "temp"),))
    assert [
        judge(effects, workspace, contained=True, sandbox_off=False).verdict,
        judge(effects, workspace, contained=False, sandbox_off=False).verdict,
        judge(effects, workspace, contained=False, sandbox_off=True).verdict,
    ] == verdicts.split()


def test_command_that_leads_outside_says_where(base: Path, workspace: Workspace) -> None:
    (item,) = judge(Effects(runs=(f"rm -r {base / 'outside'}",)), workspace, contained=True).questions
    assert item.notes == (f"It may delete {base / 'outside'}, outside the workspace.",)
    assert not item.patterned  # no pattern is offered for it


def test_cells_are_judged_by_containment_alone(workspace: Workspace) -> None:
    effects = Effects(runs=("Python: print('unclosed",))
    for contained, verdict in ((True, "allow"), (False, "ask")):
        found = judge(effects, workspace, contained=contained, sandbox_off=False, shell=False, tool="eval")
        assert found.verdict == verdict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", ["echo ok \x1b];touch P;\x07 ; echo fine", "rm\x08 x", "ls\r", "a\x9b2J"])
def test_commands_with_control_characters_are_refused(
    workspace: Workspace, mode: ApprovalMode, command: str
) -> None:
    assert judge(Effects(runs=(command,)), workspace, mode).verdict == "deny"


@pytest.mark.parametrize(
    "path",
    [
        *("~/.ssh/id_ed25519", "~/.ssh", "~/.aws/credentials", "~/.gnupg/secring.gpg", "~/.netrc"),
        *("~/.local/share/keyrings/login.keyring", "~/.mozilla/firefox/x/logins.json", "~/.SSH/config"),
        *("~/.config/google-chrome/Default/Cookies", "~/.git-credentials", "/etc/shadow"),
    ],
)
def test_reading_credentials_asks_in_every_mode_but_yolo(workspace: Workspace, path: str) -> None:
    effects = Effects(reads=(Path(path).expanduser(),))
    assert verdicts_of(effects, workspace) == ["ask", "ask", "ask", "allow"]
    assert verdicts_of(effects, workspace, allow=[f"read: {path}"])[:3] == ["allow"] * 3


def test_reading_taus_own_keys_asks_also_through_a_link(base: Path, workspace: Workspace) -> None:
    for path in (base / "home" / ".tau" / "agent" / "auth.json", base / "work" / "to_config"):
        assert judge(Effects(reads=(path,)), workspace).verdict == "ask"
    assert judge(Effects(reads=(base / "work" / "auth.json",)), workspace).verdict == "allow"


# effects, rules, verdicts in the modes ask, workspace, plan, yolo
RULES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"runs": ("make test",)}, {"allow": ["run: make test"]}, "allow allow deny allow"),
    ({"runs": ("make test",)}, {"ask": ["run: make *"]}, "ask ask deny ask"),
    (
        {"runs": ("make test",)},
        {"allow": ["run: make test"], "ask": ["run: make"]},
        "ask ask deny ask",
    ),
    (
        {"runs": ("make test",)},
        {"allow": ["run: make test"], "ask": ["run: make test"], "deny": ["run: make"]},
        "deny deny deny deny",
    ),
    ({"runs": ("make",)}, {"deny": ["run: make test"]}, "ask allow deny allow"),
    ({"runs": ("git push origin",)}, {"deny": ["run: git push"]}, "deny deny deny deny"),
    ({"runs": ("/usr/bin/git push",)}, {"deny": ["run: git push"]}, "deny deny deny deny"),
    ({"runs": ("true && git push",)}, {"deny": ["run: git push *"]}, "deny deny deny deny"),
    ({"runs": ("echo $(git push)",)}, {"deny": ["run: git push *"]}, "deny deny deny deny"),
    ({"runs": ("env A=b git push",)}, {"deny": ["run: git push *"]}, "deny deny deny deny"),
    ({"runs": ("git -C x push",)}, {"deny": ["run: git push"]}, "ask ask deny ask"),
    ({"runs": ("git $SUB",)}, {"deny": ["run: git push"]}, "ask ask deny ask"),
    ({"runs": ("$X push",)}, {"deny": ["run: git push"]}, "ask ask deny ask"),
    ({"runs": ("git 'push",)}, {"deny": ["run: git push"]}, "ask ask deny ask"),
    ({"runs": ("git pull",)}, {"deny": ["run: git push"]}, "ask allow deny allow"),
    ({"writes": ("src/a.py",)}, {"deny": ["write: ./src/**"]}, "deny deny deny deny"),
    ({"writes": ("src/a.py",)}, {"ask": ["write: ./src/*"]}, "ask ask deny ask"),
    ({"writes": ("SRC/a.py",)}, {"deny": ["write: ./src/**"]}, "deny deny deny deny"),
    ({"writes": ("to_src/a.py",)}, {"deny": ["write: ./src/**"]}, "deny deny deny deny"),
    ({"writes": ("to_src/a.py",)}, {"deny": ["write: ./to_src/**"]}, "deny deny deny deny"),
    ({"writes": ("a.py",)}, {"deny": ["write: ./src/**"]}, "ask allow deny allow"),
    ({"writes": (".git/config",)}, {"allow": ["write: ./**", "tool: bash"]}, "ask ask deny allow"),
    ({"reads": ("src",)}, {"deny": ["read: ./src/**"]}, "deny deny deny deny"),
    ({"reads": ("src/a",)}, {"ask": ["read: ./src/**"]}, "ask ask ask ask"),
    ({"reads": ("b",)}, {"deny": ["read: ./src/**"]}, "allow allow allow allow"),
    ({"network": ("example.com",)}, {"allow": ["connect: example.com"]}, "allow allow allow allow"),
    ({"network": ("a.example.com.",)}, {"deny": ["connect: *.Example.com"]}, "deny deny deny deny"),
    ({"network": ("*",)}, {"deny": ["connect: example.com"]}, "ask ask ask ask"),
    ({"network": ("*",)}, {"deny": ["connect: *"]}, "deny deny deny deny"),
    ({"runs": ("ls",)}, {"allow": ["tool: bash"]}, "allow allow deny allow"),
    ({"runs": ("ls",)}, {"deny": ["tool: b*"]}, "deny deny deny deny"),
    ({}, {"ask": ["tool: bash"]}, "ask ask ask ask"),
    ({}, {"deny": ["tool: other"]}, "allow allow allow allow"),
]


@pytest.mark.parametrize(("effects", "rules", "verdicts"), RULES, ids=[f"{a} {b}" for a, b, _ in RULES])
def test_rules(
    base: Path, workspace: Workspace, effects: dict[str, Any], rules: dict[str, Any], verdicts: str
) -> None:
    paths = {
        name: tuple(base / "work" / path for path in effects.get(name, ())) for name in ("reads", "writes")
    }
    declared = Effects(**{**effects, **paths})
    assert verdicts_of(declared, workspace, **rules) == verdicts.split()


def test_variables_of_a_call_void_patterns_and_answers(workspace: Workspace) -> None:
    effects = Effects(runs=("git diff",), env=(("GIT_EXTERNAL_DIFF", "./evil"),))
    (item,) = judge(effects, workspace, "ask", allow=["run: git diff", "tool: bash"]).questions
    assert item.key is None and not item.patterned


def test_patterns_do_not_follow_a_command_out_of_the_workspace(base: Path, workspace: Workspace) -> None:
    outside = Effects(runs=("make test",), run_cwd=base / "outside")
    inside = Effects(runs=("make test",), run_cwd=base / "work" / "src")
    assert judge(outside, workspace, "ask", allow=["run: make test"]).verdict == "ask"
    assert judge(inside, workspace, "ask", allow=["run: make test"]).verdict == "allow"


RANK = {"allow": 0, "ask": 1, "deny": 2}
PATTERNS = st.sampled_from(
    [
        *("run: git *", "run: git push", "run: *", "run: rm", "tool: *", "tool: bash", "tool: write"),
        *("write: ./**", "write: ./src/*", "write: /**", "read: ./**", "read: ~/.ssh/**"),
        *("connect: *", "connect: example.com", "nonsense", "run: 'x", "write: x"),
    ]
)
EFFECTS = st.builds(
    lambda runs, writes, reads, network: Effects(
        runs=tuple(runs),
        writes=tuple(Path("/work") / path for path in writes),
        reads=tuple(Path("/work") / path for path in reads),
        network=tuple(network),
    ),
    st.lists(st.sampled_from(["git push", "rm -rf /x", "ls", "echo $(x)", "cd /; rm x"]), max_size=2),
    st.lists(st.sampled_from(["src/a", "b", "/etc/x", ".git/config"]), max_size=2),
    st.lists(st.sampled_from(["src/a", "~/.ssh/id"]), max_size=1),
    st.lists(st.sampled_from(["example.com", "*", "other.org"]), max_size=1),
)
LISTS = st.lists(PATTERNS, max_size=3)


@given(EFFECTS, st.sampled_from(MODES), LISTS, LISTS, LISTS, LISTS, LISTS, st.booleans())
def test_no_rule_of_a_project_loosens_anything(
    effects: Effects,
    mode: ApprovalMode,
    allow: list[str],
    ask: list[str],
    deny: list[str],
    project_ask: list[str],
    project_deny: list[str],
    contained: bool,
) -> None:
    workspace = Workspace.of((Path("/work"),))
    before = judge(effects, workspace, mode, allow=allow, ask=ask, deny=deny, contained=contained)
    after = judge(
        effects,
        workspace,
        mode,
        allow=allow,
        ask=[*ask, *project_ask],
        deny=[*deny, *project_deny],
        contained=contained,
    )
    assert RANK[after.verdict] >= RANK[before.verdict]


@given(EFFECTS, st.sampled_from(MODES), st.sampled_from(MODES), LISTS, LISTS, st.booleans())
def test_permissions_of_a_subagent_never_widen(
    effects: Effects,
    mode: ApprovalMode,
    wanted: ApprovalMode,
    allow: list[str],
    deny: list[str],
    contained: bool,
) -> None:
    workspace = Workspace.of((Path("/work"),))
    own = Permissions(mode=mode, allow=RuleList.of("allow", allow), deny=RuleList.of("deny", deny))
    child = own.narrowed(wanted)
    grandchild = child.narrowed("yolo")
    verdicts = [
        RANK[decide(effects, one, workspace, demo=False, contained=contained, tool="bash").verdict]
        for one in (own, child, grandchild)
    ]
    assert verdicts == sorted(verdicts)


def test_a_subagent_can_be_stricter(workspace: Workspace) -> None:
    own = Permissions(mode="yolo")
    child = own.narrowed(deny=RuleList.of("deny", ["run: ls"]))
    for permissions, verdict in ((own, "allow"), (child, "deny"), (own.narrowed("ask"), "ask")):
        found = decide(Effects(runs=("ls",)), permissions, workspace, demo=False, contained=True)
        assert found.verdict == verdict


@pytest.mark.parametrize(
    ("mode", "allow", "ask", "deny", "verdict"),
    [
        ("workspace", [], [], [], None),
        ("workspace", ["connect: a.example"], [], [], True),
        ("workspace", ["connect: b.example"], [], [], None),
        ("workspace", ["connect: a.example"], ["connect: a.example"], [], None),
        ("yolo", [], [], [], True),
        ("yolo", [], ["connect: a.example"], [], None),
        ("yolo", ["connect: a.example"], [], ["connect: a.example"], False),
    ],
)
def test_rules_answer_for_the_hosts_that_commands_connect_to(
    mode: ApprovalMode, allow: list[str], ask: list[str], deny: list[str], verdict: bool | None
) -> None:
    permissions = Permissions(
        mode=mode,
        allow=RuleList.of("allow", allow),
        ask=RuleList.of("ask", ask),
        deny=RuleList.of("deny", deny),
    )
    assert judge_connection(permissions, "a.example") is verdict
    inner = Permissions(mode="yolo", outer=permissions)
    assert judge_connection(inner, "a.example") is verdict


def test_answer_for_a_file_in_the_home_folder_covers_no_other(
    workspace: Workspace, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(base / "home"))
    asked = judge(Effects(writes=(base / "home" / "notes.txt",)), workspace)
    [item] = asked.questions
    assert item.key is not None
    permissions = Permissions(mode="workspace", answers=frozenset((item.key,)))
    for name, verdict in {"notes.txt": "allow", ".bashrc": "ask"}.items():
        effects = Effects(writes=(base / "home" / name,))
        judged = decide(effects, permissions, workspace, demo=False, contained=True)
        assert judged.verdict == verdict


def test_name_with_a_line_break_cannot_pose_as_another_line_of_the_question(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    name = tmp_path / "a.txt.\nIt would run in the sandbox"
    effects = Effects(writes=(name,), runs=(f"rm '{name}'",))
    permissions = Permissions(mode="workspace")
    workspace = Workspace.of((tmp_path / "work",))
    verdict = decide(effects, permissions, workspace, demo=False, contained=True)
    written = next(item for item in verdict.questions if item.kind == "write")
    notes = [note for item in verdict.questions for note in item.notes]
    assert "\n" not in written.reason and "a.txt.<U+000A>It" in written.reason
    assert notes and not any("\n" in note for note in notes)


def test_a_rule_for_a_server_is_not_one_for_a_server_with_a_dot_in_its_name(workspace: Workspace) -> None:
    evil, own = Effects(mcp=("s.evil", "x")), Effects(mcp=("s", "evil.x"))
    assert judge(own, workspace, allow=["mcp: s.*"]).verdict == "allow"
    assert judge(evil, workspace, allow=["mcp: s.*"]).verdict == "ask"
    assert judge(evil, workspace, allow=["mcp: s.evil.*"]).verdict == "allow"
    assert judge(evil, workspace, "yolo", deny=["mcp: s.*"]).verdict == "deny"
    keys = [judge(effects, workspace).questions[0].key for effects in (evil, own)]
    assert keys[0] != keys[1]


def test_a_rule_for_one_server_does_not_allow_asking_all(workspace: Workspace) -> None:
    effects = Effects(mcp=("*", "resources"))
    assert judge(effects, workspace, allow=["mcp: s.*"]).verdict == "ask"
    assert judge(effects, workspace, allow=["mcp: *"]).verdict == "allow"
    assert judge(effects, workspace, "yolo", deny=["mcp: s.*"]).verdict == "ask"


def test_asking_and_denying_ignore_case_and_ports(workspace: Workspace) -> None:
    assert judge(Effects(), workspace, "yolo", deny=["tool: Bash"]).verdict == "deny"
    assert judge(Effects(mcp=("s", "x")), workspace, "yolo", deny=["mcp: S.X"]).verdict == "deny"
    assert judge(Effects(), workspace, "ask", allow=["tool: Bash"]).verdict == "allow"  # it does nothing
    assert judge(Effects(runs=("x",)), workspace, "ask", allow=["tool: Bash"]).verdict == "ask"
    host = Effects(network=("Evil.example:443",))
    assert judge(host, workspace, "yolo", deny=["connect: evil.example"]).verdict == "deny"
