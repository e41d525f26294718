"""Which language a file is written in."""

import pytest

from tau.backends.syntax.fold_rules import FOLDS
from tau.backends.syntax.languages import LANGUAGES, MAX_PARSED_CHARS, detect_language
from tau.backends.syntax.trees import parse
from tests.backends.syntax.samples import SAMPLES


def test_every_known_language_has_a_parser_and_folds() -> None:
    assert len(LANGUAGES) == len(set(LANGUAGES)) == 29
    assert set(FOLDS) == set(LANGUAGES)
    assert all(parse("", language) is not None for language in LANGUAGES)


def test_every_language_has_a_sample() -> None:
    assert {detect_language(sample.name, sample.text) for sample in SAMPLES} == set(LANGUAGES)


def test_every_summary_node_kind_exists_in_the_grammar() -> None:
    for language, folds in FOLDS.items():
        root = parse("x", language)
        assert root is not None
        kinds = (*folds.owners, *folds.bodies, *folds.literals, *folds.nested, *folds.tails, *folds.comments)
        for kind in kinds:
            root.find(kind=kind)  # raises for an unknown kind


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("src/a.py", "", "python"),
        ("A.PY", "", "python"),
        ("dir.py/file", "", None),
        ("C:\\code\\a.tsx", "", "tsx"),
        ("Rakefile", "", "ruby"),
        ("/home/me/.bashrc", "", "bash"),
        (".py", "", None),
        ("Makefile", "all:\n", None),
        ("Dockerfile", "FROM x\n", None),
        ("a.unknown", "", None),
        ("script", "#!/usr/bin/env python3.12\n", "python"),
        ("script", "#!/usr/bin/env -S FOO=1 node --x\n", "javascript"),
        ("script", "#!/bin/sh -e\n", "bash"),
        ("script", "#! /usr/bin/ruby\n", "ruby"),
        ("script", "#!/usr/bin/env\n", None),
        ("script", "#!/usr/bin/perl\n", None),
        ("script", "echo #!/bin/sh", None),
        ("a.h", "struct A { int x; };\nint f(void);\n", "c"),
        ("a.h", "#pragma once\nnamespace a {\n}\n", "cpp"),
        ("a.h", "std::string f();\n", "cpp"),
    ],
)
def test_language_follows_the_name_or_the_first_line(path: str, text: str, language: str | None) -> None:
    assert detect_language(path, text) == language


@pytest.mark.parametrize("language", ["", "nope", "c#", "py\0"])
def test_unknown_language_never_reaches_the_parser(language: str) -> None:
    assert parse("x", language) is None


def test_unparsable_text_is_none() -> None:
    assert parse("a\ud800", "python") is None
    assert parse(" " * (MAX_PARSED_CHARS + 1), "python") is None


def test_text_that_would_take_too_long_is_refused() -> None:
    assert parse("{([\"a'\n" * 40_000, "lua") is None


def test_long_program_is_parsed() -> None:
    assert parse("def f(a):\n    return [a, 'b', {c: 1}]\n\n" * 10_000, "python") is not None
