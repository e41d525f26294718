"""search: real files, both engines, and every mistake a model can make."""

import asyncio
import io
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tau.agent.output import ToolOutput
from tau.base.errors import ToolError
from tau.coding.search import rg_command, search_process
from tau.coding.tools import search as search_tool
from tau.coding.tools.search import Search, SearchParams
from tau.config.settings import Settings
from tau.config.tool_settings import EditMode, EditSettings, SearchSettings
from tests.coding.context import CallContext, call, call_now, text_of
from tests.coding.search.search_trees import Pages, make


@pytest.fixture(params=["rg", "python"], autouse=True)
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with ripgrep and without it."""
    if request.param == "python":
        monkeypatch.setattr(rg_command, "locate", lambda: None)
    elif rg_command.locate() is None:
        pytest.skip("ripgrep is not installed")
    return str(request.param)


def settings_with(before: int, after: int, mode: EditMode = "hashline") -> Settings:
    return Settings(
        search=SearchSettings(context_before=before, context_after=after), edit=EditSettings(mode=mode)
    )


def search(ctx: CallContext, pattern: str, paths: Any = ".", **more: Any) -> ToolOutput:
    return call_now(Search(more.pop("settings", None)), ctx, pattern=pattern, paths=paths, **more)


def tag(ctx: CallContext, name: str) -> str:
    found = ctx.snapshots.record(ctx.cwd / name, (ctx.cwd / name).read_text())
    assert found is not None
    return found


def test_numbers_under_a_tag_were_not_those_of_read_in_a_file_with_old_mac_line_ends(
    ctx: CallContext,
) -> None:
    (ctx.cwd / "a.py").write_bytes(b"one\rneedle\rthree\r")
    assert "#" not in text_of(search(ctx, "needle", "a.py"))


def test_matches_have_a_header_that_edit_accepts(ctx: CallContext) -> None:
    make(
        ctx.cwd,
        {"a.py": "one\ntwo\nneedle\nfour\nfive\nsix\nseven\n", "sub/b.py": "needle\n", "c.py": "no\n"},
    )
    output = search(ctx, "needle")
    assert text_of(output) == (
        f"¶a.py#{tag(ctx, 'a.py')}\n 2:two\n*3:needle\n 4:four\n 5:five\n 6:six\n\n"
        f"¶sub/b.py#{tag(ctx, 'sub/b.py')}\n*1:needle"
    )
    details = output.details
    assert (details.match_count, details.file_count, details.files) == (2, 2, ["a.py", "sub/b.py"])
    assert [(one.path, one.count) for one in details.file_matches] == [("a.py", 1), ("sub/b.py", 1)]
    assert details.scope_path == str(ctx.cwd)
    assert not details.truncated and not details.file_limit_reached
    assert "* 3" not in details.display_content and "*3│needle" in details.display_content


def test_context_lines_and_tags_are_configurable(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "1\n2\nneedle\n4\n5\n"})
    output = search(ctx, "needle", "a", settings=settings_with(0, 1, "replace"))
    assert text_of(output) == "*3|needle\n 4|4"


def test_search_is_case_sensitive_by_default(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "Needle\n"})
    assert text_of(search(ctx, "needle")) == "No matches found"
    assert "*1:Needle" in text_of(search(ctx, "needle", i=True))


def test_ignored_files_are_skipped_by_default(ctx: CallContext) -> None:
    make(ctx.cwd, {".gitignore": "out/\n", "out/a": "needle\n", ".hid/b": "needle\n", ".git/c": "needle\n"})
    assert search(ctx, "needle").details.files == [".hid/b"]
    assert search(ctx, "needle", gitignore=False).details.files == [".hid/b", "out/a"]
    assert search(ctx, "needle", "out").details.files == ["out/a"]
    assert search(ctx, "needle", "out/a").details.files == ["out/a"]


def test_globs_choose_files_and_do_not_include_ignored_ones(ctx: CallContext) -> None:
    names = ("a.py", "src/b.py", "src/deep/c.py", "src/d.ts", "src/test/deep/e.py")
    make(ctx.cwd, dict.fromkeys(names, "needle\n") | {".gitignore": "b.py\n"})
    assert search(ctx, "needle", "*.py").details.files == ["a.py", "src/deep/c.py", "src/test/deep/e.py"]
    assert search(ctx, "needle", "src/*.ts").details.files == ["src/d.ts"]
    assert search(ctx, "needle", "src/*/deep").details.files == ["src/test/deep/e.py"]
    assert search(ctx, "needle", "src/*").details.file_count == 3
    assert search(ctx, "needle", "src/**/deep/*.py").details.files == ["src/deep/c.py", "src/test/deep/e.py"]
    assert search(ctx, "needle", "src/**/[cd].{py,ts}").details.files == ["src/d.ts", "src/deep/c.py"]
    assert search(ctx, "needle", ["*.ts", "a.py"]).details.files == ["a.py", "src/d.ts"]
    with pytest.raises(ToolError, match="Invalid glob"):
        search(ctx, "needle", "src/[a")
    with pytest.raises(ToolError, match=r"Path is not a directory: a\.py"):
        search(ctx, "needle", "a.py/*.x")


def test_paging(ctx: CallContext) -> None:
    make(ctx.cwd, {f"f{number:02}": "needle\n" for number in range(45)})
    seen: list[str] = []
    skip: float = 0
    for last in (False, False, True):
        output = search(ctx, "needle", skip=skip)
        seen += output.details.files
        assert (output.details.file_limit_reached == 20) is not last
        assert (f"Use skip={len(seen)} for the next page" in text_of(output)) is not last
        skip = len(seen) + 0.5
    assert seen == [f"f{number:02}" for number in range(45)]
    assert text_of(search(ctx, "needle", skip=60)) == "No matches from skip=60 on: 45 files match."


@pytest.mark.parametrize("skip", [-1, "nan", "inf"])
def test_invalid_skip_is_refused(ctx: CallContext, skip: Any) -> None:
    with pytest.raises(ToolError, match="Skip must be a non-negative number"):
        search(ctx, "a", skip=skip)


def test_single_file_is_not_paged_and_shows_more(ctx: CallContext) -> None:
    make(ctx.cwd, {"hot": "needle\n" * 300, "cool": "needle\n"})
    output = search(ctx, "needle", "hot", skip=5)
    assert (output.details.match_count, output.details.per_file_limit_reached) == (200, 200)
    assert "Only the first 200 matches of hot" in text_of(output)
    output = search(ctx, "needle")
    assert [one.count for one in output.details.file_matches] == [1, 20]
    assert output.details.per_file_limit_reached == 20
    assert "Only the first 20 matches of hot; search one file alone for more" in text_of(output)
    assert search(ctx, "needle", ["hot", "cool"]).details.match_count == 21


def test_output_limit_is_shared_among_the_files(ctx: CallContext) -> None:
    make(ctx.cwd, {f"f{number:02}": ("needle " + "x" * 500 + "\n") * 30 for number in range(10)})
    output = search(ctx, "needle")
    assert len(text_of(output).encode()) < 52 * 1024
    details = output.details
    assert details.file_count == 10 and details.truncated
    cut = details.meta.truncation
    assert details.match_count < 200 and cut.shown_bytes < 51_200 < cut.total_bytes
    assert (
        cut.ranges == [(1, len(details.display_content.splitlines()))] and cut.total_lines > cut.ranges[0][1]
    )
    assert (
        max(one.count for one in details.file_matches) - min(one.count for one in details.file_matches) <= 1
    )
    assert f"Showing {details.match_count} of 200 matches" in text_of(output)


def test_long_lines_are_cut(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "needle" + "x" * 10_000_000 + "\n"})
    output = search(ctx, "needle", "a")
    assert f"\n*1|needle{'x' * 506}…"[1:] in text_of(output).replace("*1:", "*1|")
    assert output.details.lines_truncated


def test_line_ranges_constrain_a_single_file(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "".join(f"needle {n}\n" for n in range(1, 1001)), "b:2-3": "needle\n"})
    output = search(ctx, "needle", "a:5-6,990-991", settings=settings_with(0, 0))
    assert text_of(output).splitlines()[1:] == [f"*{n}:needle {n}" for n in (5, 6, 990, 991)]
    assert text_of(search(ctx, "needle", "a:2000-")) == "No matches found"
    assert search(ctx, "needle", ["a:5-6", "a:9-9"]).details.match_count == 3
    assert search(ctx, "needle", ["a:5-6", "a"]).details.match_count == 200
    assert search(ctx, "needle", "b:2-3").details.files == ["b:2-3"]
    (ctx.cwd / "folder").mkdir()
    for paths, words in (
        ("*.py:1-2", "requires a single file, not a glob"),
        ("folder:1-2", "folder is a directory"),
        ("gone:1-2", "Path not found for line-range selector: gone"),
    ):
        with pytest.raises(ToolError, match=words):
            search(ctx, "needle", paths)


def test_patterns_with_unescaped_braces_and_parentheses_work(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "x = `${platform}`\ninterface{}\nfoo(bar\nab{2}\naab\n"})
    for pattern, line in (("${platform}", 1), ("interface{}", 2), ("foo(", 3), ("a{2}b", 5)):
        assert f"*{line}:" in text_of(search(ctx, pattern, "a"))


def test_only_a_line_break_in_the_pattern_matches_across_lines(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "one\ntwo\nthree\n", "win": "one\r\ntwo\r\nthree\r\n"})
    for name in ("a", "win"):
        output = search(ctx, r"one\ntwo", name)
        assert text_of(output).splitlines()[1:] == ["*1:one", "*2:two", " 3:three"]
        assert "*1:one" in text_of(search(ctx, "one$", name))
    assert text_of(search(ctx, r"one\s+two")) == "No matches found"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "Pattern must not be empty"),
        (" \n", "Pattern must not be empty"),
        ("a\0", "NUL"),
        ("[a", "Invalid regex"),
    ],
)
def test_unusable_pattern_is_refused(ctx: CallContext, pattern: str, words: str) -> None:
    make(ctx.cwd, {"a": "a"})
    with pytest.raises(ToolError, match=words):
        search(ctx, pattern)


def test_missing_paths_are_skipped_unless_all_are(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "needle\n"})
    output = search(ctx, "needle", ["a", "gone", "nor/*.py"])
    assert output.details.missing_paths == ["gone", "nor/*.py"]
    assert text_of(output).endswith("[Skipped missing paths: gone, nor/*.py]")
    assert text_of(search(ctx, "other", ["a", "gone"])) == "No matches found\n[Skipped missing paths: gone]"
    for paths in ("gone", ["gone", "nor"]):
        with pytest.raises(ToolError, match="Path not found: gone"):
            search(ctx, "needle", paths)


def test_binary_files_are_not_searched(ctx: CallContext) -> None:
    make(ctx.cwd, {"a.bin": b"needle\0\n", "b": "needle\n"})
    output = search(ctx, "needle")
    assert output.details.files == ["b"]
    assert text_of(output).endswith("[Skipped binary files: a.bin]")
    assert text_of(search(ctx, "needle", "*.bin")) == "No matches found\n[Skipped binary files: a.bin]"
    assert text_of(search(ctx, "nothing")) == "No matches found"
    assert text_of(search(ctx, "needle", "a.bin")) == "No matches found\n[Skipped binary files: a.bin]"


@pytest.mark.parametrize("paths", [".", "*.log", "app.log"])
def test_log_with_a_nul_byte_had_no_matches_after_it(ctx: CallContext, paths: str) -> None:
    make(ctx.cwd, {"app.log": b"start\n" + b"x\n" * 100_000 + b"\0\nneedle\n"})
    assert "*100003:needle" in text_of(search(ctx, "needle", paths))


def test_binary_files_take_no_place_on_a_page(ctx: CallContext) -> None:
    make(ctx.cwd, {f"a{number}.bin": b"\0needle\n" for number in range(30)} | {"b": "needle\n"})
    output = search(ctx, "needle")
    assert output.details.files == ["b"]
    assert text_of(output).endswith("a11.bin, a12.bin and 25 more]")
    assert "skip=" not in text_of(output)


def test_non_utf8_file_gets_no_tag(ctx: CallContext) -> None:
    make(ctx.cwd, {"latin": b"caf\xe9 needle\n"})
    assert text_of(search(ctx, "needle")) == "# latin\n*1|caf\ufffd needle"


def test_file_above_4_mib_was_skipped_under_no_matches_found(
    ctx: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.coding.search.hits.MAX_WHOLE_BYTES", 5 * 1024 * 1024)
    make(
        ctx.cwd,
        {"big.log": b"x" * 99 + b"\n" + b"line\n" * (1024 * 1024 + 1) + b"needle\n" + b"line\n" * 300_000},
    )
    number = 1024 * 1024 + 3
    rows = [f" {number - 1}|line", f"*{number}|needle"]
    assert text_of(search(ctx, "needle")).splitlines()[:3] == ["# big.log", *rows]
    assert text_of(search(ctx, "needle", "big.log")).splitlines()[:2] == rows


def test_file_too_large_for_the_fallback_was_skipped_under_no_matches_found(
    ctx: CallContext, either: str
) -> None:
    make(ctx.cwd, {"big.log": b"needle\n"})
    with (ctx.cwd / "big.log").open("ab") as file:
        file.truncate(257 * 1024 * 1024)
    if either == "python":
        assert "too large without ripgrep" in text_of(search(ctx, "needle"))


@pytest.mark.parametrize("length", [600, 40_000_000])
def test_match_behind_column_512_was_not_shown(ctx: CallContext, length: int) -> None:
    make(ctx.cwd, {"a": "x" * length + "é needle" + "y" * 600 + "\n"})
    (row,) = [row for row in text_of(search(ctx, "needle", "a")).splitlines() if row.startswith("*1")]
    assert f"xé needle{'y' * 100}" in row and row[3] == "…" and row.endswith("…")
    assert len(row) < 520


def test_atomic_group_was_blamed_on_the_age_of_ripgrep(ctx: CallContext) -> None:
    make(ctx.cwd, {"a": "needle\n"})
    for pattern in ("(?>needle)", "Found argument(?>x)"):
        with pytest.raises(ToolError, match=r"Invalid regex.*not supported"):
            search(ctx, pattern)


def test_devices_and_pipes_are_refused(ctx: CallContext) -> None:
    os.mkfifo(ctx.cwd / "pipe")
    make(ctx.cwd, {"a": "needle\n"})
    for paths in ("pipe", "/dev/zero"):
        with pytest.raises(ToolError, match="device, pipe or socket"):
            search(ctx, "needle", paths)
    assert search(ctx, "needle").details.files == ["a"]


def test_links_are_followed_only_when_named(ctx: CallContext) -> None:
    make(ctx.cwd, {"real/a": "needle\n"})
    (ctx.cwd / "link").symlink_to("real")
    (ctx.cwd / "real" / "loop").symlink_to("..")
    assert search(ctx, "needle").details.files == ["real/a"]
    assert search(ctx, "needle", "link").details.files == ["link/a"]


def test_archive_members_are_searched_in_extracted_copies(ctx: CallContext) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("src/a.py", "one\nneedle\n")
        archive.writestr("x.bin", b"\xff\0needle")
    make(ctx.cwd, {"b.zip": packed.getvalue(), "c": "needle\n"})
    output = search(ctx, "needle", "b.zip:src/a.py")
    assert text_of(output) == " 1|one\n*2|needle"
    assert output.details.files == ["b.zip:src/a.py"]
    assert text_of(search(ctx, "needle", "b.zip:src/a.py:1-1")) == "No matches found"
    output = search(ctx, "needle", ["c", "b.zip:x.bin", "b.zip:gone", "b.zip:src/a.py"])
    assert output.details.files == ["c", "b.zip:src/a.py"]
    assert "Skipped unreadable archive members: b.zip:x.bin" in text_of(output)
    with pytest.raises(ToolError, match=r"Cannot search archive member\(s\): b\.zip:x\.bin"):
        search(ctx, "needle", ["b.zip:x.bin", "b.zip:src"])


def test_internal_urls_are_searched_without_anchors(ctx: CallContext) -> None:
    make(ctx.cwd, {"real": "needle\n"})
    ctx.urls.register(Pages(ctx.cwd / "real"))
    assert text_of(search(ctx, "needle", "pages://one")) == "*1|a needle"
    output = search(ctx, "needle", "pages://")
    assert text_of(output) == "# pages://one\n*1|a needle\n\n# pages://three\n 1|x\n*2|needle"
    assert text_of(search(ctx, "needle", "pages://file")) == f"¶pages://file#{tag(ctx, 'real')}\n*1:needle"
    assert search(ctx, "needle", ["real", "pages://three:2-2"]).details.files == ["real", "pages://three"]
    for url, words in (
        ("pages://*", "not supported for internal URLs"),
        ("what://x", "Unknown scheme what"),
    ):
        with pytest.raises(ToolError, match=words):
            search(ctx, "needle", url)
    with pytest.raises(ToolError, match="search takes files"):
        search(ctx, "needle", "https://example.com/")


def test_more_files_than_one_page_can_be_named(ctx: CallContext) -> None:
    names = [f"f{number:02}" for number in range(30)]
    make(ctx.cwd, {name: "needle\n" if number % 2 else "no\n" for number, name in enumerate(names)})
    assert search(ctx, "needle", names).details.files == names[1::2]
    assert search(ctx, "needle", names[:6], skip=2).details.files == ["f05"]


def test_undecodable_names_are_shown(ctx: CallContext) -> None:
    (ctx.cwd / os.fsdecode(b"b\xffd")).write_text("needle\n")
    assert search(ctx, "needle").details.match_count == 1


def test_partial_result_is_returned_on_timeout(
    ctx: CallContext, either: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make(ctx.cwd, {"a": "needle\n"})
    monkeypatch.setattr(search_tool, "SECONDS", 1.0)
    slow = tmp_path / "rg"
    slow.write_text(
        f"#!{sys.executable}\nimport sys, time\nname = {str(ctx.cwd / 'a')!r}\n"
        "if '--line-number' in sys.argv: sys.exit(sys.stdout.write(name + '\\0' + '1:1:\\n') and 0)\n"
        "sys.stdout.write(name + '\\0' + '/half'); sys.stdout.flush(); time.sleep(600)"
    )
    slow.chmod(0o755)
    monkeypatch.setattr(rg_command, "locate", lambda: str(slow))
    output = search(ctx, "needle")
    assert output.details.files == ["a"]
    assert output.details.timed_out and output.details.truncated
    assert "Stopped after 1 s" in text_of(output)


def test_unreadable_folders_are_named(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ctx.cwd, {"a": "needle\n", "secret/b": "needle\n"})
    answer = search_process.MatchingFiles(files=[str(ctx.cwd / "a")], unreadable=True)

    async def found(*_: Any, **__: Any) -> search_process.MatchingFiles:
        return answer

    scan = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(search_process, "matching_files", found)
    monkeypatch.setattr(os, "scandir", refuse)
    assert text_of(search(ctx, "needle")).endswith("[Skipped unreadable folders: secret]")


def test_file_that_vanishes_meanwhile_is_skipped(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    make(ctx.cwd, {"a": "needle\n"})
    matching_lines = search_process.matching_lines

    async def remove_after(*arguments: Any, **more: Any) -> Any:
        found = await matching_lines(*arguments, **more)
        (ctx.cwd / "a").unlink()
        return found

    monkeypatch.setattr(search_process, "matching_lines", remove_after)
    assert text_of(search(ctx, "needle")) == "No matches found"


def test_aborting_leaves_nothing_behind(
    ctx: CallContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "rg"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setattr(rg_command, "locate", lambda: str(slow))

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await call(Search(), ctx, pattern="a", paths=".")

    asyncio.run(main())  # a fixture checks for leftover processes after every test


def test_effects_are_the_searched_paths(ctx: CallContext) -> None:
    make(ctx.cwd, {"src/a": ""})
    effects = Search().effects(SearchParams("x", ["src/*.py", "a:1-2", "tau://x"]), ctx.cwd)
    assert effects.reads == (ctx.cwd / "src", ctx.cwd / "a")
    assert not (effects.writes or effects.runs or effects.network)


def test_prompt_states_the_limits() -> None:
    assert "20 files per page, 20 matches each (200 for a single file)" in Search().description
