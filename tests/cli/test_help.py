"""--help and the docs table hold what the table of flags holds."""

from pathlib import Path

import pytest

from tau.cli.flags import FLAGS, subcommands
from tau.cli.help import WIDTH, help_text, markdown_table
from tau.cli.main import run
from tau.cli.subcommand_help import PAGES, help_page, usage_line


def test_help_names_every_flag_and_subcommand_once() -> None:
    text = help_text()
    for flag in FLAGS:
        assert text.count(f"  {flag.usage} ") == 1, flag.name
    for command in subcommands():
        assert f"tau {command.usage}" in text


def test_help_fits_on_a_screen_and_recommends_safer_key_storage() -> None:
    text = help_text()
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert all(line == line.rstrip() for line in text.splitlines())
    api_key = text[text.index("--api-key") :][:250]
    assert "process list" in api_key
    assert "auth.json" in api_key


def test_help_keeps_the_words_of_a_description_apart() -> None:
    words = " ".join(help_text().split())
    assert all(" ".join(flag.help.split()) in words for flag in FLAGS)


@pytest.mark.parametrize("name", [command.name for command in subcommands()])
@pytest.mark.parametrize("words", (["--help"], ["-h"], ["whatever", "--help"]), ids=" ".join)
def test_every_subcommand_has_help(name: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, *words]) == 0
    page = capsys.readouterr().out
    assert page == help_page(name)
    command = next(command for command in subcommands() if command.name == name)
    assert page.startswith(f"usage: tau {name}")
    described = [*command.options, *(command.choices if name != "help" else ())]
    assert [word for word in described if word not in page and word != "--help"] == []
    assert max(len(line) for line in page.splitlines()) <= WIDTH
    assert run(["help", name]) == 0
    assert capsys.readouterr().out == page


def test_help_after_two_dashes_is_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("use --help\n")
    monkeypatch.chdir(tmp_path)
    assert run(["grep", "--", "--help"]) == 0
    assert "use --help" in capfd.readouterr().out


def test_help_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help"]) == 0
    assert capsys.readouterr().out == help_text()
    assert run(["help", "confg"]) == 2
    assert capsys.readouterr().err.startswith('tau: There is no command "confg"; there are config,')


def test_misused_subcommand_points_to_its_help() -> None:
    for name in (path.stem for path in PAGES.iterdir()):
        assert usage_line(name).startswith(f"Usage: tau {name}")
        assert usage_line(name).endswith(f" See tau {name} --help.") and "  " not in usage_line(name)


def test_docs_table_has_one_row_for_each_and_unbroken_cells() -> None:
    rows = markdown_table().splitlines()[2:]
    assert len(rows) == len(FLAGS) + len(subcommands())
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)
