"""Task files: every bad line is named with its field before anything runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import UsageError
from tau.modes.batch.task import MAX_PROMPT_BYTES, Budget, key_of, load_tasks


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def problems(tmp_path: Path, *rows: Any, template: str | None = None, name: str = "t.jsonl") -> str:
    with pytest.raises(UsageError) as caught:
        load_tasks(write(tmp_path / name, *rows), template)
    return str(caught.value).replace(str(tmp_path), "")


def test_reads_tasks_in_order_with_ids_or_hashes(tmp_path: Path) -> None:
    rows = [{"id": "b", "prompt": "one", "budget": {"turns": 3}}, {"prompt": "two", "after": ["b"]}]
    tasks = load_tasks(write(tmp_path / "t.jsonl", *rows, "")).tasks
    first, second = tasks.values()
    assert list(tasks) == ["b", key_of(second)] and len(key_of(second)) == 16
    assert first.budget == Budget(turns=3)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{not json", "/t.jsonl:1: not JSON: "),
        ("[1]", "/t.jsonl:1: Expected `object`, got `array`"),
        ({"id": "../../x", "prompt": "p"}, '/t.jsonl:1: id: "../../x" must be up to 80'),
        ({"id": "a"}, "/t.jsonl:1: prompt: missing"),
        ({"prompt": "p", "promt": 1}, "unknown field `promt`"),
        ({"prompt": "p", "budget": {"turns": 0}}, "/t.jsonl:1: budget.turns: Expected `int` >= 1."),
        (
            {"prompt": "p", "budget": {"turns": "3"}},
            "/t.jsonl:1: budget.turns: Expected `int | null`, got `str`.",
        ),
        ({"prompt": "p", "attempts": 21}, "/t.jsonl:1: attempts: Expected `int` <= 20."),
        ({"prompt": "p", "repo": "a", "dir": "b"}, "dir: give repo or dir"),
        ({"prompt": "p", "repo": "--upload-pack=x"}, "repo: repository and commit cannot begin with"),
        ({"prompt": "p", "commit": "abc"}, "commit: needs repo"),
        ({"prompt": "p", "env": ["KEY=secret"]}, "env: "),
        ({"prompt": "p", "collect": ["../x"]}, "collect: "),
        ({"prompt": "p", "files": {"../x": ""}}, "files: "),
        ({"prompt": "p", "files": {"x": ""}, "dir": "."}, "files: they cannot be written into dir"),
        ({"prompt": "p", "collect": ["/etc/passwd"]}, "collect: "),
        ({"prompt": "p", "promptFile": "x"}, "promptFile: give prompt or promptFile"),
        ({"promptFile": "missing.md"}, "promptFile: missing.md cannot be read: No such file or directory."),
        ({"prompt": "p", "settings": {"tols": {}}}, '/t.jsonl:1: settings: unknown setting "tols".'),
        (
            {"prompt": "p", "settings": {"edit": {"mode": 1}}},
            "/t.jsonl:1: settings: edit.mode must be one of",
        ),
        ({"prompt": "x" * (MAX_PROMPT_BYTES + 1)}, "prompt: larger than 1 MiB"),
        ({"prompt": "p", "after": ["nobody"]}, 'after: there is no task "nobody"'),
        ({"id": "a", "prompt": "p", "after": ["a"]}, "after: these tasks wait for each other: a."),
    ],
)
def test_names_what_is_wrong_with_a_line(tmp_path: Path, row: Any, said: str) -> None:
    assert said in problems(tmp_path, row)


def test_broken_line_among_many_is_named_and_all_are_listed(tmp_path: Path) -> None:
    rows: list[Any] = [{"id": f"t{n}", "prompt": "p"} for n in range(1000)]
    rows[699] = "{"
    rows[800] = {"id": "t1", "prompt": "p"}
    rows[900] = {"id": "t900", "prompt": "p", "after": ["t901"]}
    rows[901] = {"id": "t901", "prompt": "p", "after": ["t900"]}
    said = problems(tmp_path, *rows)
    assert ":700: not JSON" in said and "t.jsonl:2." in said.split(':801: id: "t1" is also ')[1]
    assert ":901: after: these tasks wait for each other: t900, t901." in said


def test_many_problems_are_cut(tmp_path: Path) -> None:
    assert problems(tmp_path, *["{"] * 50).endswith("... and 30 more")


def test_equal_tasks_without_ids_are_a_mistake(tmp_path: Path) -> None:
    said = problems(tmp_path, {"prompt": "p"}, {"prompt": "p"})
    assert ":2: the same task is" in said and said.endswith("t.jsonl:1.")


def test_fills_a_template_from_csv_and_json_lines(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text('id,repo,version,note\na,/r/a,3,"x, y"\nb,/r/b,4,\n')
    first, second = load_tasks(table, "Port {repo} to {version}: {{{note}}}").tasks.values()
    assert (first.id, first.repo, first.prompt) == ("a", "/r/a", "Port /r/a to 3: {x, y}")
    assert second.prompt == "Port /r/b to 4: {}"
    rows = write(tmp_path / "rows.jsonl", {"n": 1, "attempts": 2})
    (task,) = load_tasks(rows, "Number {n}").tasks.values()
    assert (task.prompt, task.attempts) == ("Number 1", 2)


def test_template_needs_its_columns(tmp_path: Path) -> None:
    assert ":1: version: the template needs it" in problems(
        tmp_path, {"repo": "x"}, template="{repo} {version}"
    )
    assert "The template is invalid" in problems(tmp_path, {"repo": "x"}, template="{repo")
    said = problems(tmp_path, "a,b", "1,2,3", "1", template="{a}", name="t.csv")
    assert said.count("as many values as columns") == 2


def test_file_itself_can_be_unusable(tmp_path: Path) -> None:
    assert "cannot be read" in _load_error(tmp_path / "none.jsonl")
    (tmp_path / "empty").write_text("\n")
    assert "has no tasks" in _load_error(tmp_path / "empty")
    (tmp_path / "latin").write_bytes(b"\xff")
    assert "is not UTF-8 text (byte 0)" in _load_error(tmp_path / "latin")


def _load_error(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_tasks(path)
    return str(caught.value)
