"""Which instruction files are found, in which order, and what is left out."""

import os
from pathlib import Path

import pytest

from tau.config.discovery.registry import CapabilityRegistry, DiscoveryOptions
from tau.config.instruction_files import MAX_FILE_BYTES, MAX_TOTAL_BYTES, ContextFile, find_context_files
from tau.config.paths import Paths


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths = Paths(folder / "home")
        self.paths.home.mkdir(parents=True)
        self.repo = folder / "repo"
        self.cwd = self.repo / "a" / "b"
        self.cwd.mkdir(parents=True)
        (self.repo / ".git").mkdir()
        self.warnings: list[str] = []

    def find(self, cwd: Path | None = None, *, trusted: bool = False) -> list[ContextFile]:
        options = DiscoveryOptions(trusted=trusted)
        return find_context_files(
            CapabilityRegistry(cwd or self.cwd, self.paths, options), self.warnings.append
        )

    def texts(self, cwd: Path | None = None, *, trusted: bool = False) -> list[str]:
        return [file.text for file in self.find(cwd, trusted=trusted)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_user_file_then_every_folder_from_the_repository_down(world: World) -> None:
    (world.folder / "AGENTS.md").write_text("above the repository")
    (world.paths.home / "AGENTS.md").write_text("user\n")
    (world.repo / "AGENTS.md").write_text("root")
    (world.repo / "a" / "CLAUDE.md").write_text("middle")
    (world.cwd / "AGENTS.md").write_text("here")
    assert world.texts() == ["user", "root", "middle", "here"]
    assert world.find()[2] == ContextFile(world.repo / "a" / "CLAUDE.md", "middle", trusted=False)
    assert world.warnings == []


def test_without_a_repository_only_the_working_folder_counts(world: World) -> None:
    (world.repo / ".git").rmdir()
    (world.repo / "AGENTS.md").write_text("root")
    (world.cwd / "CLAUDE.md").write_text("here")
    assert world.texts() == ["here"]


def test_nothing_is_found_in_empty_folders(world: World) -> None:
    (world.cwd / "AGENTS.md").write_text(" \n")
    assert world.find() == []


def test_same_file_is_included_once(world: World) -> None:
    (world.repo / "AGENTS.md").write_text("root")
    (world.repo / "a" / "AGENTS.md").symlink_to("../AGENTS.md")
    os.link(world.repo / "AGENTS.md", world.cwd / "CLAUDE.md")
    assert world.texts() == ["root"]
    (world.paths.home / "AGENTS.md").write_text("user")
    assert world.texts(world.paths.home) == ["user"]


def test_link_out_of_the_project_is_not_followed(world: World) -> None:
    secret = world.folder / "secret"
    secret.write_text("private")
    (world.cwd / "AGENTS.md").symlink_to(secret)
    assert world.find() == []
    assert len(world.warnings) == 1
    assert "outside the project" in world.warnings[0]


def test_user_file_may_be_a_link(world: World) -> None:
    (world.folder / "dotfile").write_text("mine")
    (world.paths.home / "AGENTS.md").symlink_to(world.folder / "dotfile")
    assert world.texts() == ["mine"]


def test_unreadable_file_is_skipped_with_a_warning(world: World) -> None:
    (world.repo / "AGENTS.md").mkdir()
    (world.repo / "a" / "AGENTS.md").write_bytes(b"latin \xe9")
    os.mkfifo(world.paths.home / "AGENTS.md")
    (world.cwd / "AGENTS.md").write_bytes(b"\xef\xbb\xbfhere")
    assert world.texts() == ["here"]
    assert sorted(warning.rpartition(": ")[2] for warning in world.warnings) == [
        "not UTF-8 text.",
        "not a regular file.",
        "not a regular file.",
    ]


def test_long_file_is_cut_with_a_note(world: World) -> None:
    (world.cwd / "AGENTS.md").write_text("ä" * MAX_FILE_BYTES)
    (text,) = world.texts()
    assert text.startswith("ä" * (MAX_FILE_BYTES // 2))
    assert text.endswith("[AGENTS.md truncated: 64 KiB of 128 KiB shown]")
    assert len(world.warnings) == 1


def test_character_at_the_cut_is_dropped_whole(world: World) -> None:
    (world.cwd / "AGENTS.md").write_text("x" + "ä" * MAX_FILE_BYTES)
    (text,) = world.texts()
    assert "�" not in text


def test_total_size_is_bounded_and_the_nearest_win(world: World) -> None:
    folders = [world.repo, world.repo / "a", world.cwd]
    deep = world.cwd
    for name in "cdef":
        deep = deep / name
        deep.mkdir()
        folders.append(deep)
    for folder in folders:
        (folder / "AGENTS.md").write_text(folder.name * MAX_FILE_BYTES)
    found = world.find(deep)
    assert [file.path.parent for file in found] == folders[-len(found) :]
    assert found[-1].text.startswith("f" * MAX_FILE_BYTES)
    assert sum(len(file.text) for file in found) < MAX_TOTAL_BYTES + 1000
    assert len(world.warnings) >= len(folders) - len(found)


@pytest.mark.parametrize("content", (bytes(range(256)) * 1000, b"\0" * 100), ids=("long", "zeros"))
def test_binary_file_is_skipped_whatever_its_size(world: World, content: bytes) -> None:
    (world.cwd / "AGENTS.md").write_bytes(content)
    assert world.find() == []
    assert "not UTF-8 text" in world.warnings[0]


def test_all_names_in_a_folder_count_and_overrides_come_last(world: World) -> None:
    for name in ("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"):
        (world.cwd / name).write_text(name)
    (world.cwd / ".github").mkdir()
    (world.cwd / ".github/copilot-instructions.md").write_text("copilot")
    assert world.texts() == [
        *("AGENTS.md", "copilot", "GEMINI.md", "CLAUDE.md"),
        *("AGENTS.override.md", "CLAUDE.local.md"),
    ]


def test_equal_content_counts_once(world: World) -> None:
    (world.cwd / "AGENTS.md").write_text("the same\n")
    (world.cwd / "CLAUDE.md").write_text("the same")
    assert world.texts() == ["the same"]


def test_file_that_only_imports_another_adds_nothing(world: World) -> None:
    (world.cwd / "AGENTS.md").write_text("rules")
    (world.cwd / "CLAUDE.md").write_text("@AGENTS.md\n")
    assert world.texts() == ["rules"]


def test_imports_come_before_the_file_and_each_counts_once(world: World) -> None:
    home = Path(os.environ["HOME"])
    (home / "mine.md").write_text("from home")
    (world.repo / "docs").mkdir()
    (world.repo / "docs/a b.md").write_text("spaced")
    (world.repo / "docs/style.md").write_text("style, see @../AGENTS.md")
    (world.paths.home / "AGENTS.md").write_text("See @~/mine.md.")
    (world.repo / "AGENTS.md").write_text(
        "See @docs/style.md, (@docs/a\\ b.md) and @docs/style.md.\n"
        "Mail a@docs/style.md, `@mine.md`, @someone, @types/node.\n```\n@nothing.md\n```\n"
    )
    found = world.find()
    assert [file.path.name for file in found] == ["mine.md", "AGENTS.md", "style.md", "a b.md", "AGENTS.md"]
    assert world.warnings == []


def test_cycles_end_and_depth_is_limited(world: World) -> None:
    for number in range(9):
        (world.repo / f"{number}.md").write_text(f"text {number}, then @{number + 1}.md and @{number}.md")
    (world.repo / "AGENTS.md").write_text("@0.md and more")
    texts = world.texts()
    assert len(texts) == 6 and "text 4" in texts[0]
    assert any("more than 5 levels" in warning for warning in world.warnings)


@pytest.mark.parametrize("trusted", [False, True])
def test_imports_leave_a_project_only_if_it_is_trusted_and_for_documents(world: World, trusted: bool) -> None:
    home = Path(os.environ["HOME"])
    (home / "mine.md").write_text("mine")
    (home / ".ssh").mkdir()
    (home / ".ssh/id_rsa").write_text("SECRET KEY")
    (world.repo / "link.md").symlink_to(home / ".ssh/id_rsa")
    (world.repo / ".env").write_text("SECRET=1")
    (world.repo / "AGENTS.md").write_text("@~/mine.md and @~/.ssh/id_rsa and @link.md and @.env")
    texts = world.texts(trusted=trusted)
    assert ("mine" in texts) is trusted and not any("SECRET" in text for text in texts)
    assert len(world.warnings) == (3 if trusted else 4)


def test_missing_import_is_reported(world: World) -> None:
    (world.repo / "AGENTS.md").write_text("@./gone @lost.md @gone/too")
    world.find()
    assert [warning.rpartition("imports ")[2] for warning in world.warnings] == [
        "./gone, which does not exist.",
        "lost.md, which does not exist.",
    ]


def test_the_users_own_file_is_not_crowded_out(world: World) -> None:
    (world.paths.home / "AGENTS.md").write_text("mine")
    deep = world.repo
    for name in "abcdef":
        deep /= name
        deep.mkdir(exist_ok=True)
        (deep / "AGENTS.md").write_text(name * MAX_FILE_BYTES)
    assert world.texts(deep)[0] == "mine"


def test_file_with_ten_thousand_faults_is_reported_in_twenty_lines(world: World) -> None:
    (world.repo / "AGENTS.md").write_text("@same.md " * 3000 + "".join(f"@lost{n}.md " for n in range(3000)))
    (world.repo / "CLAUDE.md").write_text(f"@{'x' * 60_000}.md")
    world.find()
    assert len(world.warnings) == 21 and len(set(world.warnings)) == 21
    assert "not listed" in world.warnings[-1] and max(map(len, world.warnings)) < 600


def put_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_monorepo_sends_the_files_above_the_working_folder_and_no_others(world: World) -> None:
    put_tree(
        world.repo,
        {
            "AGENTS.md": "# Setup\n\n- `pnpm install`\n- Each package has its own AGENTS.md.\n",
            "packages/AGENTS.md": "Run `pnpm test --filter NAME`.",
            "packages/api/AGENTS.md": "Errors are values.",
            "packages/api/src/routes/AGENTS.md": "One route per file.",
            "packages/web/AGENTS.md": "No default exports.",
            "packages/web/AGENTS.override.md": "This week: no new dependencies.",
            "services/billing/AGENTS.md": "Money is integers.",
        },
    )
    files = world.find(world.repo / "packages/web")
    names = ["AGENTS.md", "packages/AGENTS.md", "packages/web/AGENTS.md", "packages/web/AGENTS.override.md"]
    assert [str(file.path.relative_to(world.repo)) for file in files] == names
    assert files[0].text.endswith("its own AGENTS.md.") and files[-1].text.startswith("This week")
    assert len(world.find(world.repo)) == 1 and world.warnings == []


def test_tree_whose_claude_md_imports_agents_md_sends_each_text_once(world: World) -> None:
    put_tree(
        world.repo,
        {
            "AGENTS.md": "Use uv. See @docs/style.md and mail to team@example.org.",
            "CLAUDE.md": "@AGENTS.md\n",
            "docs/style.md": "Lines have 100 characters.",
            "app/AGENTS.md": "The app is async.",
            "app/CLAUDE.md": "@../AGENTS.md\n@AGENTS.md\n\nOnly for Claude: think first.\n",
            "CLAUDE.local.md": "My port is 8001.",
        },
    )
    texts = world.texts(world.repo / "app")
    joined = "\n".join(texts)
    for once in ("Use uv.", "Lines have 100", "The app is async.", "think first", "My port"):
        assert joined.count(once) == 1
    assert texts[0] == "Lines have 100 characters." and len(texts) == 5 and world.warnings == []
    places = [joined.index(word) for word in ("Use uv.", "My port", "The app is", "think first")]
    assert places == sorted(places)
