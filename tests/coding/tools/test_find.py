"""find: real trees, newest first, grouped."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tau.agent.output import ToolOutput
from tau.base.errors import ToolError
from tau.coding.tools import find as find_tool
from tau.coding.tools.find import Find, FindParams, grouped
from tests.coding.context import CallContext, call, call_now, text_of
from tests.coding.search.search_trees import Pages, make


def find(ctx: CallContext, paths: Any, **more: Any) -> ToolOutput:
    return call_now(Find(), ctx, paths=paths, **more)


def files(ctx: CallContext, paths: Any, **more: Any) -> list[str]:
    found: list[str] = find(ctx, paths, **more).details.files
    return sorted(found)


def aged(root: Path, *names: str) -> None:
    """The first name is the newest."""
    for age, name in enumerate(names):
        os.utime(root / name, (2_000_000_000 - age, 2_000_000_000 - age))


def test_newest_paths_come_first_grouped_by_directory(ctx: CallContext) -> None:
    make(ctx.cwd, {"top.py": "", "src/a.py": "", "src/b.py": "", "src/deep/c.py": ""})
    aged(ctx.cwd, "src/b.py", "src/deep/c.py", "top.py", "src/a.py", "src/deep", "src")
    output = find(ctx, ["."])
    assert output.details.files == ["src/b.py", "src/deep/c.py", "top.py", "src/a.py", "src/deep/", "src/"]
    assert text_of(output) == "top.py\nsrc/\n# src/\nb.py\na.py\ndeep/\n# src/deep/\nc.py"
    assert output.details.file_count == 6
    assert output.details.scope_path == str(ctx.cwd)
    assert output.details.truncated is False


def test_globs_work_as_the_prompt_says(ctx: CallContext) -> None:
    make(ctx.cwd, dict.fromkeys(["a.py", "src/b.py", "src/deep/c.py", "src/d.ts", "src/py/x"], ""))
    assert files(ctx, ["*.py"]) == ["a.py", "src/b.py", "src/deep/c.py"]
    assert files(ctx, "*.py") == ["a.py", "src/b.py", "src/deep/c.py"]
    assert files(ctx, ["src/*.py"]) == ["src/b.py"]
    assert files(ctx, ["src/**/*.py"]) == ["src/b.py", "src/deep/c.py"]
    assert files(ctx, ["src/*"]) == ["src/b.py", "src/d.ts", "src/deep/", "src/py/"]
    assert files(ctx, ["src/{deep,py}/*"]) == ["src/deep/c.py", "src/py/x"]
    assert files(ctx, ["**/py"]) == ["src/py/"]
    assert files(ctx, ["src/d.ts"]) == ["src/d.ts"]
    assert files(ctx, ["src/*.py", "src/b.py", "src/deep"]) == ["src/b.py", "src/deep/c.py"]
    assert files(ctx, ["src/*.ts,a.py"]) == ["a.py", "src/d.ts"]


def test_empty_folders_and_links_are_found_too(ctx: CallContext) -> None:
    (ctx.cwd / "empty").mkdir()
    (ctx.cwd / "gone").symlink_to("nowhere")
    (ctx.cwd / "loop").symlink_to(".")
    assert files(ctx, ["."]) == ["empty/", "gone", "loop"]
    assert files(ctx, ["gone"]) == ["gone"]


def test_hidden_and_ignored_files(ctx: CallContext) -> None:
    make(ctx.cwd, {".gitignore": "*.log\n", "a.log": "", ".env": "", ".git/x": "", "b": ""})
    assert files(ctx, ["."]) == [".env", ".gitignore", "b"]
    assert files(ctx, ["."], hidden=False) == ["b"]
    assert files(ctx, ["*.log"]) == []
    assert files(ctx, ["*.log"], gitignore=False) == ["a.log"]
    assert files(ctx, ["a.log"]) == ["a.log"]


def test_no_match_is_not_an_error(ctx: CallContext) -> None:
    output = find(ctx, ["*.xyz"])
    assert text_of(output) == "No files found matching pattern"
    assert not output.is_error and output.details.files == []


@pytest.mark.parametrize(("limit", "count"), [(3, 3), (2.9, 2), (0.5, 1), (1000, 200)])
def test_newest_are_kept_up_to_the_limit(ctx: CallContext, limit: float, count: int) -> None:
    names = [f"f{number:03}" for number in range(250)]
    make(ctx.cwd, dict.fromkeys(names, ""))
    aged(ctx.cwd, *names)
    output = find(ctx, ["."], limit=limit)
    assert output.details.files == names[:count]
    assert output.details.truncated and output.details.result_limit_reached == count
    assert output.details.meta.limits.result_limit.total == 250
    assert f"Showing the newest {count} of 250 matches" in text_of(output)


@pytest.mark.parametrize("limit", [0, -1, "nan", "inf"])
def test_invalid_limit_is_refused(ctx: CallContext, limit: Any) -> None:
    with pytest.raises(ToolError, match="Limit must be a positive number"):
        find(ctx, ["."], limit=limit)


def test_missing_paths(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "", "src/b": ""})
    output = find(ctx, ["src", "gone", "nor/*.py"])
    assert output.details.files == ["src/b"]
    assert output.details.missing_paths == ["gone", "nor/*.py"]
    assert text_of(output) == "# src/\nb\n[Skipped missing paths: gone, nor/*.py]"
    empty = find(ctx, ["src/*.xyz", "gone"])
    assert text_of(empty) == "No files found matching pattern\n[Skipped missing paths: gone]"
    for paths in (["gone"], ["gone", "nor"], ["gone/*.py"]):
        with pytest.raises(ToolError, match="Path not found: gone"):
            find(ctx, paths)
    with pytest.raises(ToolError, match="Path is not a directory: a"):
        find(ctx, ["a/*.py"])


def test_root_directory_is_refused(ctx: CallContext, tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to("/")
    for paths in (["/"], ["/*"], ["/**/*.py"], [str(tmp_path / "root")]):
        with pytest.raises(ToolError, match="'/' is not allowed"):
            find(ctx, paths)


@pytest.mark.parametrize("paths", [[""], [], ["a", " "]])
def test_empty_paths_are_refused(ctx: CallContext, paths: list[str]) -> None:
    with pytest.raises(ToolError, match="`paths` must contain non-empty"):
        find(ctx, paths)


def test_partial_result_is_returned_on_timeout(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ctx.cwd, {f"d{number}/f": "" for number in range(20)})
    now = iter(range(0, 10_000, 1))
    monkeypatch.setattr(find_tool.time, "monotonic", lambda: next(now) / 10)
    output = find(ctx, ["**/f"], timeout=0.1)
    assert 0 < output.details.file_count < 20
    assert output.details.truncated and output.details.timed_out
    assert f"find timed out after 0.5s; returning {output.details.file_count} partial matches" in text_of(
        output
    )


def test_progress_is_shown_while_searching(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ctx.cwd, {f"d{number}/f": "" for number in range(20)})
    monkeypatch.setattr(find_tool, "UPDATE_INTERVAL_S", 0)
    find(ctx, ["**/f"])
    assert text_of(ctx.updates[0]).count("\n") < text_of(ctx.updates[-1]).count("\n") == 19


def test_unreadable_folders_are_named(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ctx.cwd, {"a": "", "secret/b": ""})
    scan = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert text_of(find(ctx, ["*"])).endswith("[Skipped unreadable folders: secret]")


def test_internal_urls_resolve_to_their_files(ctx: CallContext) -> None:
    make(ctx.cwd, {"real": ""})
    ctx.urls.register(Pages(ctx.cwd / "real"))
    assert files(ctx, ["pages://file"]) == ["real"]
    for url, words in (
        ("pages://one", "is not a file; use read"),
        ("pages://*", "not supported for internal"),
        ("http://x", "find takes"),
    ):
        with pytest.raises(ToolError, match=words):
            find(ctx, [url])


def test_paths_outside_are_absolute(ctx: CallContext, tmp_path: Path) -> None:
    make(tmp_path, {"other/x/a": "", "other/b": ""})
    output = find(ctx, [str(tmp_path / "other")])
    assert sorted(output.details.files) == sorted(
        [f"{tmp_path}/other/b", f"{tmp_path}/other/x/", f"{tmp_path}/other/x/a"]
    )
    assert f"# {tmp_path}/other/x/\na" in text_of(output)


def test_grouping_keeps_the_order_and_puts_loose_paths_first() -> None:
    assert grouped(["b/x", "a", "b/y/", "c/z"]) == "a\n# b/\nx\ny/\n# c/\nz"
    assert grouped([]) == ""


def test_find_can_be_aborted(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ctx.cwd, {f"d{number}/f": "" for number in range(200)})
    monkeypatch.setattr("tau.coding.search.walk.PAUSE_S", 0)

    async def main() -> None:
        task = asyncio.create_task(call(Find(), ctx, paths=["."]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_effects_are_the_searched_paths(ctx: CallContext) -> None:
    make(ctx.cwd, {"src/a": ""})
    assert Find().effects(FindParams(["src/*.py", "tau://x"]), ctx.cwd).reads == (ctx.cwd / "src",)


@pytest.mark.parametrize("path", ["/", "//", "///", "/../", "/*"])
def test_two_slashes_walked_the_whole_disk(ctx: CallContext, path: str) -> None:
    with pytest.raises(ToolError, match="root directory"):
        find(ctx, [path])


def test_nobody_is_asked_to_approve_a_search_that_is_refused_anyway(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="root directory"):
        Find().effects(FindParams(["src", "/"]), ctx.cwd)
