"""Which calls may go on in which mode."""

from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.coding.approval.policy import ApprovalMode, Workspace, decide

MODES: tuple[ApprovalMode, ...] = ("ask", "workspace", "yolo")


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


# path below the base, verdicts in the modes ask, workspace, yolo
WRITES = [
    ("work/a.py", "ask allow allow"),
    ("work/src/new/deep/a.py", "ask allow allow"),
    ("work/to_src/a.py", "ask allow allow"),
    ("work/src/../a.py", "ask allow allow"),
    ("work/.gitignore", "ask allow allow"),
    ("work/.github/x.yml", "ask allow allow"),
    ("temp/scratch.txt", "ask allow allow"),
    ("outside/to_work/a.py", "ask allow allow"),
    ("outside/a.py", "ask ask allow"),
    ("work/../outside/a.py", "ask ask allow"),
    ("work-two/a.py", "ask ask allow"),
    ("work/to_outside/a.py", "ask ask allow"),
    ("work/to_outside/new/a.py", "ask ask allow"),
    ("work/to_file", "ask ask allow"),
    ("work/dangling", "ask ask allow"),
    ("work/chain", "ask ask allow"),
    ("work/to_outside/../../outside/a.py", "ask ask allow"),
    ("work/.git/config", "ask ask allow"),
    ("work/.git/hooks/pre-commit", "ask ask allow"),
    ("work/.GIT/hooks/pre-commit", "ask ask allow"),
    ("work/to_hooks/pre-commit", "ask ask allow"),
    ("work/sub/.git", "ask ask allow"),
    ("home/.tau/agent/auth.json", "ask ask allow"),
    ("home/.tau/agent/settings.json", "ask ask allow"),
    ("work/to_config", "ask ask allow"),
]


@pytest.mark.parametrize(("path", "verdicts"), WRITES, ids=[path for path, _ in WRITES])
def test_writes(base: Path, workspace: Workspace, path: str, verdicts: str) -> None:
    effects = Effects(writes=(base / path,))
    assert [decide(effects, mode, workspace, demo=False).verdict for mode in MODES] == verdicts.split()


@pytest.mark.parametrize("mode", MODES)
def test_reads_are_allowed_everywhere(base: Path, workspace: Workspace, mode: ApprovalMode) -> None:
    effects = Effects(reads=(base / "outside" / "file.txt", Path("/etc/passwd")))
    assert decide(effects, mode, workspace, demo=True).verdict == "allow"


@pytest.mark.parametrize(
    ("demo", "verdicts"), [(False, ["ask", "allow", "allow"]), (True, ["ask", "ask", "ask"])]
)
def test_commands_run_but_those_of_the_demo_model_always_ask(
    workspace: Workspace, demo: bool, verdicts: list[str]
) -> None:
    effects = Effects(runs=("ls",))
    assert [decide(effects, mode, workspace, demo=demo).verdict for mode in MODES] == verdicts


def test_connections_ask_only_where_everything_asks(workspace: Workspace) -> None:
    effects = Effects(network=("example.com",))
    assert [decide(effects, mode, workspace, demo=False).verdict for mode in MODES] == [
        "ask",
        "allow",
        "allow",
    ]


def test_our_own_files_ask_also_inside_a_workspace_root(base: Path) -> None:
    workspace = Workspace.of((base,), (base / "home" / ".tau" / "agent",))
    effects = Effects(writes=(base / "home" / ".TAU" / "agent" / "auth.json",))
    assert decide(effects, "workspace", workspace, demo=False).verdict == "ask"


def test_a_root_reached_through_a_link_is_the_same_root(base: Path) -> None:
    workspace = Workspace.of((base / "outside" / "to_work",))
    effects = Effects(writes=(base / "work" / "a.py",))
    assert decide(effects, "workspace", workspace, demo=False).verdict == "allow"


def test_the_reason_says_where_a_link_leads(base: Path, workspace: Workspace) -> None:
    decision = decide(Effects(writes=(base / "work" / "dangling",)), "workspace", workspace, demo=False)
    assert str(base / "outside" / "not_yet.txt") in decision.reason


def test_every_part_of_a_call_is_a_question_of_its_own(base: Path, workspace: Workspace) -> None:
    effects = Effects(
        writes=(base / "outside" / "a", base / "work" / "b"), runs=("ls",), network=("example.com",)
    )
    assert len(decide(effects, "ask", workspace, demo=False).questions) == 4
    assert len(decide(effects, "workspace", workspace, demo=False).questions) == 1
