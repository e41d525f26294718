"""Ripgrep and its Python fallback give the same results."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.base.run import LocalRunner
from tau.coding.search import rg_command, search_process
from tau.coding.search.query import Query, SearchRequest, SearchScope
from tau.coding.search.regex_repair import across_line_ends, is_multiline, lenient
from tests.coding.search.search_trees import asked_python, asked_rg, make, needs_rg

atoms = st.sampled_from(
    ["a", "b", "B", "é", " ", "_", ".", r"\d", r"\w", r"\s", r"\b", "^", "$", "[ab]", "[^a]", r"\W", "1", "x"]
)
lines = st.text(alphabet="abBé _1x\t(){}$.", max_size=8)
contents = st.lists(lines, max_size=6).flatmap(
    lambda rows: st.sampled_from(
        [end.join([*rows, ""]).removesuffix(last) for end in ("\n", "\r\n") for last in ("", end)]
    )
)


def repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map("({})".format),
        st.tuples(inner.map("(?:{})".format), st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map("".join),
    )


patterns = st.recursive(atoms, repeated, max_leaves=5)
# Across lines ripgrep continues after a match as if a line began there: anchors are not compared.
anchors = ("^", "$", r"\b", r"\W")
parts = st.recursive(atoms.filter(lambda atom: atom not in anchors), repeated, max_leaves=4)


@needs_rg
@settings(max_examples=70)
@given(
    files=st.lists(contents, min_size=1, max_size=4),
    pattern=patterns,
    ignore_case=st.booleans(),
    data=st.data(),
)
def test_both_engines_find_the_same_lines(
    files: list[str],
    pattern: str,
    ignore_case: bool,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if data.draw(st.booleans()):
        pattern = across_line_ends(data.draw(parts) + r"\n" + data.draw(parts))
    root = make(tmp_path_factory.mktemp("both"), {f"f{index}": text for index, text in enumerate(files)})
    query = Query(pattern=lenient(pattern), ignore_case=ignore_case, multiline=is_multiline(pattern))
    listing = SearchRequest(query=query, scope=SearchScope(roots=(str(root),)))
    assert asked_python(listing) == asked_rg(listing)
    roots = tuple(str(root / f"f{index}") for index in range(len(files)))
    rows = SearchRequest(query=query, scope=SearchScope(roots=roots, gitignore=False), max_count=0)
    assert asked_python(rows) == asked_rg(rows)


@needs_rg
def test_both_engines_agree_on_odd_files(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "bom.txt": b"\xef\xbb\xbfneedle at the start\n",
            "utf16.txt": "\ufeffneedle in wide letters\n".encode("utf-16-le"),
            "utf16be.txt": "\ufeffa\nneedle\n".encode("utf-16-be"),
            "latin.txt": b"caf\xe9 needle\n",
            "binary.dat": b"needle\0\n",
            "large.txt": b"x" * (4 * 1024 * 1024) + b"\nneedle\n",
            "empty": b"",
            "no_end": b"needle",
            ".hidden/x": b"needle",
            ".gitignore": b"ignored*\n",
            "ignored.txt": b"needle",
        },
    )
    (tmp_path / "link").symlink_to("no_end")
    (tmp_path / os.fsdecode(b"b\xffd\n")).write_bytes(b"needle\n")
    for pattern in ("needle", "^needle", "needle$"):
        request = SearchRequest(query=Query(pattern=pattern), scope=SearchScope(roots=(str(tmp_path),)))
        assert asked_python(request) == asked_rg(request)
    found = {os.path.relpath(path, tmp_path) for path in asked_rg(request)}
    assert not found & {"ignored.txt", "link", "empty"}
    assert {"large.txt", "binary.dat"} <= found
    for scope in (
        SearchScope(roots=(str(tmp_path),), gitignore=False),
        SearchScope(roots=(str(tmp_path),), names=("*.txt", "no_?nd")),
        SearchScope(roots=(str(tmp_path / "large.txt"), str(tmp_path / "link"))),
    ):
        request = SearchRequest(query=Query(pattern="needle"), scope=scope)
        answer = asked_rg(request)
        assert answer and asked_python(request) == answer


@pytest.fixture(params=["rg", "python"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(rg_command, "locate", lambda: None)
    elif rg_command.locate() is None:
        pytest.skip("ripgrep is not installed")
    return str(request.param)


def test_files_and_lines_are_found_by_a_process(either: str, tmp_path: Path) -> None:
    odd = os.fsdecode(b"b\xffd\nname")
    make(tmp_path, {"a": "x\nneedle\nneedle needle\nneedle\n", odd: "needle\n", "c": "nothing\n"})
    paths = {name: str(tmp_path / name) for name in ("a", odd, "c")}

    async def main() -> None:
        query = Query(pattern="needle")
        found = await search_process.matching_files(
            query, SearchScope(roots=(str(tmp_path),)), LocalRunner(), seconds=30
        )
        assert set(found.files) == {paths["a"], paths[odd]}
        assert not (found.timed_out or found.unreadable or found.capped)
        matched = await search_process.matching_lines(
            query, list(paths.values()), LocalRunner(), max_count=2, seconds=30
        )
        assert matched.lines == {paths["a"]: [2, 3], paths[odd]: [1]}

    asyncio.run(main())


@pytest.mark.parametrize(("pattern", "words"), [("[a", "unclosed character class"), ("(?=a)", "look-around")])
def test_invalid_pattern_gets_a_readable_error(either: str, tmp_path: Path, pattern: str, words: str) -> None:
    async def main() -> None:
        query = Query(pattern=pattern)
        with pytest.raises(ToolError, match=f"Invalid regex: .*{words}"):
            await search_process.matching_files(
                query, SearchScope(roots=(str(tmp_path),)), LocalRunner(), seconds=30
            )
        make(tmp_path, {"a": "a"})
        with pytest.raises(ToolError, match="Invalid regex"):
            await search_process.matching_lines(
                query, [str(tmp_path / "a")], LocalRunner(), max_count=1, seconds=30
            )

    asyncio.run(main())


def test_ripgrep_only_features_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rg_command, "locate", lambda: None)
    query = Query(pattern=r"\p{Greek}")
    with pytest.raises(ToolError, match="needs ripgrep"):
        asyncio.run(
            search_process.matching_files(
                query, SearchScope(roots=(str(tmp_path),)), LocalRunner(), seconds=30
            )
        )


def test_catastrophic_pattern_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rg_command, "locate", lambda: None)
    make(tmp_path, {"a": "needle\n", "z": "a" * 40 + "b\n"})

    async def main() -> None:
        query = Query(pattern="needle|(a|aa)+$")
        found = await search_process.matching_files(
            query, SearchScope(roots=(str(tmp_path),)), LocalRunner(), seconds=1
        )
        assert found.timed_out
        assert {Path(name).name for name in found.files} <= {"a"}

    asyncio.run(main())


def fake_rg(folder: Path, script: str) -> str:
    path = folder / "rg"
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(0o755)
    return str(path)


def test_endless_output_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "import sys\nwhile True: sys.stdout.write('/some/name\\0' * 1000)"
    program = fake_rg(tmp_path, endless)
    monkeypatch.setattr(rg_command, "locate", lambda: program)
    monkeypatch.setattr(search_process, "MAX_NAMES_BYTES", 100_000)

    async def main() -> None:
        query = Query(pattern="a")
        found = await search_process.matching_files(
            query, SearchScope(roots=("/",)), LocalRunner(), seconds=30
        )
        assert found.capped and set(found.files) == {"/some/name"}

    asyncio.run(main())


def test_unreadable_files_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_rg(tmp_path, "import sys\nsys.stdout.write('/a\\0')\nsys.exit(2)")
    monkeypatch.setattr(rg_command, "locate", lambda: program)
    query = Query(pattern="a")
    found = asyncio.run(
        search_process.matching_files(query, SearchScope(roots=("/",)), LocalRunner(), seconds=30)
    )
    assert found.files == ["/a"] and found.unreadable


def test_cancelling_ends_ripgrep_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "pid"
    program = fake_rg(
        tmp_path, f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )
    monkeypatch.setattr(rg_command, "locate", lambda: program)

    async def main() -> None:
        query = Query(pattern="a")
        work = search_process.matching_files(query, SearchScope(roots=("/",)), LocalRunner(), seconds=30)
        task = asyncio.create_task(work)
        while not mark.exists() or not mark.read_text():  # noqa: ASYNC110 - a file says it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_ripgrep_is_found_on_path_or_beside_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_rg(tmp_path, "")
    monkeypatch.setattr(rg_command, "locate", rg_command.locate.__wrapped__)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert rg_command.locate() == program
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert rg_command.locate() == program
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert rg_command.locate() is None


def test_vanished_ripgrep_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    fake_rg(folder, "")
    make(tmp_path, {"a": "needle"})
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", sys.executable)
    rg_command.locate.cache_clear()
    assert rg_command.locate() == f"{folder}/rg"
    (folder / "rg").unlink()
    query = Query(pattern="needle")
    found = asyncio.run(
        search_process.matching_files(query, SearchScope(roots=(str(tmp_path),)), LocalRunner(), seconds=30)
    )
    assert found.files == [str(tmp_path / "a")]
    rg_command.locate.cache_clear()
