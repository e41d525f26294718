"""The status line: what each part shows, at every width, and the branch without a process."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tau.ai.faux import Count, Say
from tau.ai.plan_limits import PlanLimit, PlanLimits
from tau.base.clock import now_ms
from tau.modes.interactive.status.git_branch import GitCheckout, branch_of, is_dirty
from tau.modes.interactive.status.status_line import PRESETS, SEGMENTS, StatusFacts, short_path, tokens
from tests.modes.interactive.rig import rigged, run


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-b", "trunk")
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_branch_and_dirty_state(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert branch_of(repository) == "trunk" and not asyncio.run(is_dirty(repository))
    inside = repository / "deep" / "er"
    inside.mkdir(parents=True)
    assert branch_of(inside) == "trunk"
    (repository / "a.txt").write_text("b")
    assert asyncio.run(is_dirty(repository))
    git(repository, "commit", "-am", "second")
    git(repository, "checkout", "--detach")
    assert len(branch_of(repository)) == 8
    linked = tmp_path_factory.mktemp("linked") / "tree"
    git(repository, "worktree", "add", "-b", "side", str(linked))
    assert branch_of(linked) == "side"
    outside = tmp_path_factory.mktemp("outside")
    assert branch_of(outside) == "" and not asyncio.run(is_dirty(outside))


def test_damaged_repository_has_no_branch(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert branch_of(tmp_path) == ""
    (tmp_path / ".git").write_bytes(b"\xff\xfe")
    assert branch_of(tmp_path) == ""


def test_numbers_are_short() -> None:
    assert [tokens(count) for count in (0, 999, 1000, 1500, 99_950, 128_000, 1_000_000, 2_300_000)] == [
        *("0", "999", "1k", "1.5k", "100k", "128k", "1M", "2.3M")
    ]
    assert short_path(Path("/home/a/b"), "/home/a") == "~/b"
    assert short_path(Path("/home/ab"), "/home/a") == "/home/ab"
    assert (
        short_path(Path("/home/a/some/where/very/far/down/the/tree"), "/home/a")
        == "…/where/very/far/down/the/tree"
    )
    assert len(short_path(Path("/" + "x" * 100), "")) == 32


def test_shows_model_branch_and_usage(repository: Path) -> None:
    async def test() -> None:
        async with rigged(repository, [[Say("Yes."), Count(input=5_000, output=10)]], columns=120) as rig:
            (repository / "a.txt").write_text("changed")
            await rig.show("faux")
            await rig.send("hello")
            await rig.show("trunk*")
            shown = await rig.show("% of 200k")
            assert "thinking high" in shown

    run(test)


@pytest.mark.parametrize(
    ("columns", "expected", "left_out"),
    (
        (200, ("faux", "A name that takes a lot of room", "% of 200k", "trunk"), ()),
        (80, ("faux", "% of 200k", "trunk"), ("A name",)),
        (44, ("faux", "% of 200k"), ("A name", "thinking")),
        (26, ("faux", "% of 200k"), ("A name", "thinking", "trunk")),
    ),
)
def test_least_important_parts_are_dropped_first(
    repository: Path, columns: int, expected: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    async def test() -> None:
        async with rigged(repository, [[Say("Yes.")]], columns=columns) as rig:
            await rig.show("faux")
            assert rig.current.session is not None
            rig.current.session.names.rename("A name that takes a lot of room in the line")
            rig.parts.status_line.refresh()
            await rig.idle()
            line = next(row for row in rig.terminal.screen() if row.startswith("─"))
            assert all(text in line for text in expected) and not any(text in line for text in left_out), line

    run(test)


@pytest.mark.parametrize("columns", (20, 40, 80, 200))
@pytest.mark.parametrize("preset", (*PRESETS, "custom"))
def test_every_preset_fits_every_width(tmp_path: Path, columns: int, preset: str) -> None:
    chosen = {"statusLine.preset": preset}
    if preset == "custom":
        chosen |= {"statusLine.leftSegments": list(SEGMENTS), "statusLine.separator": "pipe"}  # type: ignore[dict-item]

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Yes.")]], columns=columns, settings=chosen) as rig:
            await rig.send("hello")
            await rig.show("Yes.")
            await rig.idle()
            borders = [row for row in rig.terminal.screen() if row.startswith("─")]
            assert len(borders) == 2 and all(len(row) <= columns for row in borders)
            assert columns < 40 or "faux" in borders[0]

    run(test)


def test_plan_limit_is_shown_above_75_percent_until_it_resets(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            session = rig.context.require_session()
            known: dict[str, PlanLimits] = {}
            session.models.plan_limits = known

            def shown(percent: float, resets_in_ms: int) -> str:
                limits = (PlanLimit("5 hours", percent, now_ms() + resets_in_ms),)
                known[session.model.provider] = PlanLimits(session.model.provider, "", now_ms(), limits)
                rig.context.status_line.refresh()
                return SEGMENTS["planLimit"](StatusFacts(session, GitCheckout(), 0, "")).text

            assert shown(74.9, 60_000) == ""
            assert shown(82, -1) == ""
            assert shown(82, 60_000) == "5 hours: 82% used"
            await rig.show("5 hours: 82% used")

    run(test)
