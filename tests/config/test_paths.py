"""Where user and project files are found."""

import os
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.discovery.registry import CapabilityRegistry
from tau.config.instruction_files import find_context_files
from tau.config.paths import Paths, project_dir, project_folders, repo_root, user_paths

NOBODY = 54321  # an unknown user


def test_user_folder_can_be_moved() -> None:
    assert user_paths({}).home == Path.home() / ".tau" / "agent"
    assert user_paths({"TAU_HOME": "~/elsewhere"}).home == Path.home() / "elsewhere"
    assert user_paths({"TAU_HOME": " "}).home == Path.home() / ".tau" / "agent"
    assert user_paths({"TAU_HOME": "relative"}).home == Path.cwd() / "relative"


def test_repository_is_the_nearest_folder_with_git(tmp_path: Path) -> None:
    inner = tmp_path / "repo" / "tree" / "src"
    inner.mkdir(parents=True)
    assert repo_root(inner) is None
    (tmp_path / "repo" / ".git").mkdir()
    assert repo_root(inner) == tmp_path / "repo"
    (tmp_path / "repo" / "tree" / ".git").write_text("gitdir: elsewhere")  # a linked work tree
    assert repo_root(inner) == tmp_path / "repo" / "tree"
    assert list(project_folders(inner)) == [inner, inner.parent]


def test_nearest_project_folder_wins_but_none_above_the_repository(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "home")
    cwd = tmp_path / "repo" / "a" / "b"
    cwd.mkdir(parents=True)
    (tmp_path / ".tau").mkdir()
    (tmp_path / "repo" / ".git").mkdir()
    assert project_dir(cwd, paths) is None
    (tmp_path / "repo" / ".tau").mkdir()
    assert project_dir(cwd, paths) == tmp_path / "repo" / ".tau"
    (tmp_path / "repo" / "a" / ".tau").mkdir()
    assert project_dir(cwd, paths) == tmp_path / "repo" / "a" / ".tau"


def test_outside_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".tau").mkdir()
    paths = Paths(tmp_path / "home")
    assert project_dir(tmp_path / "a", paths) is None
    assert project_dir(tmp_path, paths) == tmp_path / ".tau"


def test_user_folder_is_never_a_project_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()  # people keep their dot files in a repository
    (tmp_path / ".tau" / "agent").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    assert project_dir(tmp_path / "work", user_paths({})) is None
    assert project_dir(tmp_path, user_paths({})) is None
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert project_dir(link, user_paths({})) is None
    assert project_dir(tmp_path, Paths(tmp_path / "moved")) is None
    (tmp_path / "work" / ".tau").mkdir()
    assert project_dir(tmp_path / "work", Paths(tmp_path / "work" / ".tau")) is None


def test_user_without_a_home_gets_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    with pytest.raises(ConfigError, match="TAU_HOME"):
        user_paths({})
    with pytest.raises(ConfigError, match="TAU_HOME"):
        user_paths({"TAU_HOME": "~nosuchuser/x"})
    assert user_paths({"TAU_HOME": "/somewhere"}).home == Path("/somewhere")


def test_inaccessible_folder_belongs_to_no_project(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    user = os.geteuid()
    os.seteuid(user or NOBODY)  # nothing is closed to root
    try:
        assert repo_root(closed) is None
        assert project_dir(closed, Paths(tmp_path / "home")) is None
        assert find_context_files(CapabilityRegistry(closed, Paths(tmp_path / "home"))) == []
    finally:
        os.seteuid(user)
