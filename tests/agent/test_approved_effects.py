"""Where a path leads when a call uses it, and how a refusal names it."""

from pathlib import Path

import pytest

from tau.agent.approved_effects import ApprovedEffects
from tau.agent.effects import Effects
from tau.base.errors import ToolError


def real(path: Path) -> Path:
    return ApprovedEffects().read(path)


def link_to_outside(folder: Path) -> Path:
    (folder / "outside").mkdir()
    (folder / "link").symlink_to(folder / "outside")
    return folder / "link"


def test_links_are_resolved_wherever_they_are_in_a_path(tmp_path: Path) -> None:
    link = link_to_outside(tmp_path)
    (tmp_path / "outside/again").symlink_to(tmp_path / "file")
    assert real(link) == tmp_path / "outside"
    assert real(link / "new/file") == tmp_path / "outside/new/file"
    assert real(link / "again") == tmp_path / "file"
    assert real(Path("/")) == real(Path("//")) == Path("/")


def test_two_dots_after_a_link_lead_out_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep/er")
    assert real(tmp_path / "link/../file") == tmp_path / "deep/file"


def test_relative_path_starts_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert real(Path("a/b")) == tmp_path / "a/b"


def test_folder_that_becomes_a_link_leads_where_it_led_before(tmp_path: Path) -> None:
    """An exact open of that path then fails."""
    (tmp_path / "folder").mkdir()
    approved = ApprovedEffects(Effects(reads=(tmp_path / "folder/file",)))
    (tmp_path / "folder").rename(tmp_path / "old")
    (tmp_path / "folder").symlink_to(tmp_path)
    assert approved.read(tmp_path / "folder/file") == tmp_path / "folder/file"


def test_ten_thousand_folders_are_remembered(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder/file"
    approved = ApprovedEffects()
    approved.read(file)
    (tmp_path / "folder").rename(tmp_path / "old")
    (tmp_path / "folder").symlink_to(tmp_path)
    for number in range(10_000 - len(file.parents[:-1])):  # the root is not one of them
        approved.read(Path(f"/none{number}/x"))
    assert approved.read(file) == file
    approved.read(Path("/one more/x"))
    assert approved.read(file) == tmp_path / "file"


def test_path_of_a_thousand_folders_can_be_named() -> None:
    deep = Path("/a" * 2_000)
    assert real(deep) == deep


def test_path_that_no_system_opens_stays_unchanged(tmp_path: Path) -> None:
    link = link_to_outside(tmp_path)
    longest = link / ("x" * (4096 - len(f"{link}/")))
    assert len(str(longest)) == 4096
    assert real(longest) == tmp_path / "outside" / longest.name
    assert real(Path(f"{longest}x")) == Path(f"{longest}x")


def test_refusal_names_300_characters() -> None:
    nothing = ApprovedEffects(Effects())
    with pytest.raises(ToolError) as caught:
        nothing.run("x" * 301)
    assert str(caught.value).endswith(f": {'x' * 299}…")
    with pytest.raises(ToolError) as caught:
        nothing.run("x" * 300)
    assert str(caught.value).endswith(f": {'x' * 300}")
    for use in (nothing.read, nothing.list, nothing.write, nothing.remove):
        with pytest.raises(ToolError) as caught:
            use(Path("/" + "x" * 400))
        assert f"/{'x' * 298}…" in str(caught.value) and "x" * 299 not in str(caught.value)
    nothing.denies = lambda path: True
    with pytest.raises(ToolError, match=r"x{298}… is denied by a rule"):
        nothing.read(Path("/" + "x" * 400))
    with pytest.raises(ToolError, match=r"^Reading x{299}… is denied by a rule"):
        nothing.read_member(Path("/a.zip"), "x" * 400)
