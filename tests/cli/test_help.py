"""--help and the docs table hold what the table of flags holds."""

from tau.cli.flags import FLAGS, SUBCOMMANDS
from tau.cli.help import WIDTH, help_text, markdown_table


def test_help_names_every_flag_and_subcommand_once() -> None:
    text = help_text()
    for flag in FLAGS:
        assert text.count(f"  {flag.usage} ") == 1, flag.name
    for command in SUBCOMMANDS:
        assert f"tau {command.usage}" in text


def test_help_fits_on_a_screen_and_says_where_keys_are_safer() -> None:
    text = help_text()
    assert max(len(line) for line in text.splitlines()) <= WIDTH
    assert all(line == line.rstrip() for line in text.splitlines())
    api_key = text[text.index("--api-key") :][:250]
    assert "process list" in api_key
    assert "auth.json" in api_key


def test_help_keeps_the_words_of_a_description_apart() -> None:
    words = " ".join(help_text().split())
    assert all(" ".join(flag.help.split()) in words for flag in FLAGS)


def test_the_docs_table_has_one_row_for_each_and_unbroken_cells() -> None:
    rows = markdown_table().splitlines()[2:]
    assert len(rows) == len(FLAGS) + len(SUBCOMMANDS)
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)
