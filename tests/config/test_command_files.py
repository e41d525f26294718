"""Command files are found where users keep them, bounded, and problems are reported."""

import os
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.command_files import CommandFile, command_warnings, find_command_files
from tau.config.discovery.file_cache import MAX_FILE_BYTES
from tau.config.discovery.registry import MAX_ITEMS, CapabilityRegistry
from tau.config.paths import user_paths


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(cwd: Path, warnings: list[str] | None = None) -> dict[str, CommandFile]:
    discovery = CapabilityRegistry(cwd, user_paths())
    files = find_command_files(discovery)
    if warnings is not None:
        warnings += command_warnings(discovery)
    return {file.name: file for file in files}


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "inner").mkdir()
    return tmp_path / "repo"


def test_nothing_is_found_in_empty_folders(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert found(tmp_path, warnings) == {} and warnings == []


def test_user_and_project_commands_are_found(home: Path, project: Path) -> None:
    put(
        home / ".tau/agent/commands/review.md",
        "---\ndescription: Looks at it\nargument-hint: FILE\n---\nLook at $1.",
    )
    put(home / ".tau/agent/prompts/tests.md", "# Write tests\nfor it.")
    put(home / ".claude/commands/git/commit.md", "Commit.")
    put(home / ".tau/agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nHow to.")
    put(project / ".tau/commands/deploy.md", "Deploy it.")
    put(project / ".tau/prompts/plan.md", "Plan it.")
    put(project / ".claude/commands/lint.md", "Lint it.")
    put(project / ".claude/skills/db/SKILL.md", "How to migrate.")
    commands = found(project / "inner")
    assert list(commands) == [
        *("review", "git:commit", "deploy", "lint", "tests", "plan"),
        *("skill:pdf", "skill:db"),
    ]
    review = commands["review"]
    assert (review.description, review.hint, review.origin) == ("Looks at it", "FILE", "user")
    assert review.read() == "Look at $1."
    assert commands["tests"].description == "Write tests"
    assert commands["deploy"].origin == "project" and commands["skill:db"].origin == "project"
    assert commands["skill:pdf"].is_skill and not review.is_skill


def test_user_command_keeps_its_name_and_the_project_one_is_renamed(home: Path, project: Path) -> None:
    put(home / ".tau/agent/commands/review.md", "Mine.")
    put(project / ".tau/commands/review.md", "Theirs.")
    commands = found(project)
    assert commands["review"].read() == "Mine."
    assert commands["project:review"].read() == "Theirs."


def test_nearest_project_folder_wins(project: Path) -> None:
    put(project / ".tau/commands/x.md", "From the root.")
    put(project / "inner/.tau/commands/x.md", "From inside.")
    assert found(project / "inner")["x"].read() == "From inside."


def test_folders_above_the_repository_are_not_part_of_the_project(project: Path) -> None:
    put(project.parent / ".tau/commands/x.md", "Outside.")
    assert found(project) == {}


def test_user_folders_are_not_project_folders(home: Path) -> None:
    put(home / ".claude/commands/x.md", "Mine.")
    put(home / ".tau/agent/commands/y.md", "Mine too.")
    assert {file.origin for file in found(home).values()} == {"user"}
    (home / ".git").mkdir()
    assert {file.origin for file in found(home).values()} == {"user"}


def test_link_out_of_the_project_is_skipped(home: Path, project: Path) -> None:
    secret = put(home / "secret.md", "Do not tell.")
    (project / ".tau/commands").mkdir(parents=True)
    (project / ".tau/commands/x.md").symlink_to(secret)
    warnings: list[str] = []
    assert found(project, warnings) == {}
    assert "outside the project" in warnings[0] and "x.md" in warnings[0]


def test_unusable_files_are_reported_with_their_path(home: Path, tmp_path: Path) -> None:
    folder = home / ".tau/agent/commands"
    put(folder / "large.md", "x" * (MAX_FILE_BYTES + 1))
    put(folder / "empty.md", "---\ndescription: x\n---\n  \n")
    put(folder / "open.md", "---\ndescription: x\n")
    put(folder / "bad name.md", "text")
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(folder / "pipe.md")
    put(folder / "good.md", "text")
    warnings: list[str] = []
    assert list(found(tmp_path, warnings)) == ["good"]
    for name, why in (
        ("large.md", "larger than"),
        ("empty.md", "is empty"),
        ("open.md", "no closing line"),
        ("bad name.md", "not a valid name"),
        ("binary.md", "not UTF-8"),
        ("pipe.md", "Not a regular file"),
    ):
        assert any(name in warning and why in warning for warning in warnings), name


def test_number_of_files_is_limited(home: Path, tmp_path: Path) -> None:
    for number in range(MAX_ITEMS + 3):
        put(home / f".tau/agent/commands/c{number:04}.md", "text")
    warnings: list[str] = []
    assert len(found(tmp_path, warnings)) == MAX_ITEMS
    assert len(warnings) == 1 and f"{MAX_ITEMS:,}" in warnings[0]


def test_hidden_and_deep_files_are_skipped(home: Path, tmp_path: Path) -> None:
    put(home / ".tau/agent/commands/.hidden.md", "text")
    put(home / ".tau/agent/commands/a/b/c/deep.md", "text")
    put(home / ".tau/agent/commands/a/b/c/d/deeper.md", "text")
    put(home / ".tau/agent/commands/notes.txt", "text")
    assert list(found(tmp_path)) == ["a:b:c:deep"]


def test_deleted_file_says_so(home: Path, tmp_path: Path) -> None:
    path = put(home / ".tau/agent/commands/x.md", "text")
    (file,) = found(tmp_path).values()
    path.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        file.read()
