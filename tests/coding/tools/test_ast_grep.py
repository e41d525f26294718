"""ast_grep: structural matches by file, paged, over files, folders and globs."""

import os
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.base.errors import ToolError
from tau.coding.files import source_files
from tau.coding.tools.ast_grep import AstGrep, AstGrepParams
from tau.config.settings import Settings
from tau.config.tool_settings import EditSettings
from tests.coding.context import CallContext, call_now, text_of

PLAIN = Settings(edit=EditSettings(mode="replace"))  # without tags


def write(ctx: CallContext, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = ctx.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def ast_grep(ctx: CallContext, pat: str, paths: str | list[str] = ".", **more: int) -> ToolOutput:
    return call_now(AstGrep(PLAIN), ctx, pat=pat, paths=paths, **more)


def test_matches_are_grouped_by_file_with_their_lines(ctx: CallContext) -> None:
    write(
        ctx, {"b.py": "x = 1\nfoo(x)\n", "a/a.js": "foo( 1 );\nbar();\nfoo(\n  2,\n);\n", "c.txt": "foo(1)\n"}
    )
    output = ast_grep(ctx, "foo($A)")
    assert text_of(output) == "# a/a.js\n*1|foo( 1 );\n*3|foo(\n 4|  2,\n 5|);\n\n# b.py\n*2|foo(x)"
    assert output.details.files == ["a/a.js", "b.py"]
    assert (output.details.match_count, output.details.file_count, output.details.files_searched) == (3, 2, 2)


def test_single_file_gives_only_its_rows(ctx: CallContext) -> None:
    write(ctx, {"a.py": "é = '𝄞'\r\nfoo(é)\r\n"})
    assert text_of(ast_grep(ctx, "foo($A)", "a.py")) == "*2|foo(é)"


def test_rows_carry_the_tag_for_edit(ctx: CallContext) -> None:
    write(ctx, {"a.py": "x = 1\nfoo(x)\n"})
    header, row = text_of(call_now(AstGrep(), ctx, pat="foo($A)", paths="a.py")).split("\n")
    assert header == f"¶a.py#{ctx.snapshots.record(ctx.cwd / 'a.py', 'x = 1' + chr(10) + 'foo(x)' + chr(10))}"
    assert row == "*2:foo(x)"


def test_only_the_start_of_a_long_match_is_shown(ctx: CallContext) -> None:
    write(ctx, {"a.py": "def f():\n" + "    x\n" * 50})
    text = text_of(ast_grep(ctx, "def $F(): $$$B", "a.py"))
    assert text.startswith("*1|def f():\n 2|    x\n") and text.count("\n") == 7


def test_large_source_file_held_the_event_loop(ctx: CallContext) -> None:
    """A fixture of all tests measures how long; it does not judge the first call, which imports modules."""
    source = "class C:\n    def m(self):\n        return 1\n\n"
    write(ctx, {"small.py": source, "large.py": source * 12_000})
    ast_grep(ctx, "def $F($$$A): $$$B", "small.py")
    output = ast_grep(ctx, "def $F($$$A): $$$B", "large.py")
    assert output.details.match_count == 200
    assert text_of(output).endswith("[Only the first 200 matches of large.py]")


def test_no_match_and_missing_paths_are_reported(ctx: CallContext) -> None:
    write(ctx, {"a.py": "x = 1\n"})
    assert text_of(ast_grep(ctx, "foo($A)")) == "No matches found"
    output = ast_grep(ctx, "foo($A)", ["a.py", "nope.py"])
    assert text_of(output) == "No matches found\n[Skipped missing paths: nope.py]"
    assert output.details.missing_paths == ["nope.py"]
    with pytest.raises(ToolError, match="Path not found"):
        ast_grep(ctx, "foo($A)", "nope.py")


def test_globs_choose_files_and_ignored_ones_are_left_out(ctx: CallContext) -> None:
    write(ctx, dict.fromkeys(("a.py", "b.ts", "src/c.py", "out/d.py"), "foo(1)\n"))
    write(ctx, {".gitignore": "out/\n", ".git/HEAD": "ref: refs/heads/main\n"})
    assert ast_grep(ctx, "foo($A)", "**/*.py").details.files == ["a.py", "src/c.py"]
    assert ast_grep(ctx, "foo($A)", ["src", "b.ts"]).details.files == ["b.ts", "src/c.py"]


def test_pages_of_files(ctx: CallContext) -> None:
    write(ctx, {f"f{n:02}.py": "foo(1)\n" for n in range(25)})
    first = ast_grep(ctx, "foo($A)")
    assert first.details.file_count == 20 and first.details.file_limit_reached == 20
    assert "[Files 1-20 of 25 matching. Use skip=20 for the next page]" in text_of(first)
    second = ast_grep(ctx, "foo($A)", skip=20)
    assert second.details.files == [f"f{n:02}.py" for n in range(20, 25)]
    assert "25 files match" in text_of(ast_grep(ctx, "foo($A)", skip=40))


def test_many_matches_of_one_file_are_capped(ctx: CallContext) -> None:
    write(ctx, {"a.py": "foo(1)\n" * 300, "b.py": "foo(2)\n"})
    both = ast_grep(ctx, "foo($A)")
    assert both.details.match_count == 21 and "[Only the first 20 matches of a.py]" in text_of(both)
    assert ast_grep(ctx, "foo($A)", "a.py").details.match_count == 200


def test_invalid_pattern_is_an_error(ctx: CallContext) -> None:
    write(ctx, {"a.py": "x = 1\n"})
    for pattern, message in (("foo(", "not valid python"), (" ", "is empty"), ("$A", "matches everything")):
        with pytest.raises(ToolError, match=message):
            ast_grep(ctx, pattern)


def test_pattern_may_be_valid_in_one_language_only(ctx: CallContext) -> None:
    write(ctx, {"a.py": "def foo(): pass\n", "b.js": "function foo() { x() }\n", "c.css": "foo {}\n"})
    assert ast_grep(ctx, "function foo() { $$$B }").details.files == ["b.js"]


def test_unparsable_named_file_is_reported(ctx: CallContext) -> None:
    write(ctx, {"a.txt": "foo(1)\n", "b.py": "foo('\0')\n", "ok.py": "foo(1)\n"})
    (ctx.cwd / "c.py").write_bytes(b"foo('\xff')\n")
    os.mkfifo(ctx.cwd / "d.py")
    (ctx.cwd / "e.py").write_bytes(b"#" * (5 * 1024 * 1024))
    expected = {
        "a.txt": "language of a.txt is unknown",
        "b.py": "binary",
        "c.py": "Not valid UTF-8",
        "d.py": "not a file",
        "e.py": "5 MiB",
    }
    for name, message in expected.items():
        with pytest.raises(ToolError, match=message):
            ast_grep(ctx, "foo($A)", name)
    assert ast_grep(ctx, "foo($A)").details.files == ["ok.py"]


def test_file_reached_two_ways_is_searched_once(ctx: CallContext) -> None:
    write(ctx, {"a.py": "foo(1)\n"})
    (ctx.cwd / "link.py").symlink_to("a.py")
    assert ast_grep(ctx, "foo($A)", ["a.py", "link.py", "."]).details.match_count == 1


def test_number_of_files_is_limited(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_FILES", 3)
    write(ctx, {f"f{n}.py": "foo(1)\n" for n in range(6)})
    output = ast_grep(ctx, "foo($A)")
    assert output.details.file_count == 3 and "files were searched; narrow `paths`" in text_of(output)


def test_partial_result_is_returned_on_timeout(ctx: CallContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "SECONDS", -1.0)
    write(ctx, {f"f{n}.py": "foo(1)\n" for n in range(6)})
    output = ast_grep(ctx, "foo($A)")
    assert output.details.timed_out is True and output.details.file_count == 1


def test_urls_are_refused_and_effects_are_reads(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="is not a file; name files"):
        ast_grep(ctx, "foo($A)", "artifact://1")
    effects = AstGrep().effects(AstGrepParams("foo($A)", ["a.py", "src/*.py"]), Path("/w"))
    assert effects == Effects(reads=(Path("/w/a.py"), Path("/w/src")))


def test_match_behind_column_512_was_not_shown(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text(f"x = '{'x' * 900}'; needle(1); y = '{'y' * 900}'\n")
    text = text_of(call_now(AstGrep(), ctx, pat="needle($A)", paths="a.py"))
    assert "needle(1)" in text and len(text) < 700
