"""Front matter is YAML, or read line by line where real files are not YAML."""

from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.discovery.front_matter import MAX_BYTES, list_of, parse_front_matter, text_of

PATH = Path("x.md")


def test_yaml_has_lists_and_folded_texts() -> None:
    text = """---
# a comment
name: "quoted"
description: >
  folded over
  two lines
globs: ["*.py", "src/**"]
alwaysApply: true
metadata: {author: me, version: 1.0}
---

Body with --- in it.
---
"""
    matter = parse_front_matter(text, PATH)
    fields, body, note = matter.fields, matter.body, matter.note
    assert fields["name"] == "quoted" and fields["description"].strip() == "folded over two lines"
    assert fields["globs"] == ["*.py", "src/**"] and fields["alwaysApply"] is True
    assert fields["metadata"] == {"author": "me", "version": 1.0}
    assert (body, note) == ("Body with --- in it.\n---", "")


@pytest.mark.parametrize(
    ("head", "field", "value"),
    [
        ("globs: *.ts,*.tsx\nalwaysApply: false", "globs", "*.ts,*.tsx"),
        ("description: Use when: a thing", "description", "Use when: a thing"),
        ("argument-hint: [a] [b]", "argument-hint", "[a] [b]"),
        ("x: @y\ndescription: >\n  folded over\n  two lines", "description", "folded over two lines"),
        ("x: @y\npaths:\n  - src\n  - 'docs'", "paths", ["src", "docs"]),
        ("x: @y\nhide: true", "hide", True),
        ('x: @y\nname: "quoted"', "name", "quoted"),
    ],
)
def test_invalid_yaml_is_read_line_by_line(head: str, field: str, value: object) -> None:
    matter = parse_front_matter(f"---\n{head}\n---\nBody", PATH)
    assert matter.fields[field] == value
    assert "read line by line" in matter.note and matter.body == "Body"


def test_aliases_that_multiply_are_not_expanded() -> None:
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)
    )
    matter = parse_front_matter(f"---\nname: bomb\n{bomb}---\nBody", PATH)
    assert matter.fields["name"] == "bomb" and "aliases" in matter.note
    assert all(len(str(value)) < 100 for value in matter.fields.values())


def test_few_aliases_are_expanded() -> None:
    assert parse_front_matter("---\na: &x [1]\nb: *x\n---\n", PATH).fields == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("a: !tag foo", {"a": "foo"}),
        ("? [a]\n: b", {"Yaml(['a'])": "b"}),
        ("a: .nan\nb: 9007199254740993\nc: 2024-01-01", {"a": "nan", "b": str(2**53 + 1), "c": "2024-01-01"}),
        ("", {}),
        ("just a text", {}),
        ("a: " + "[" * 3000, {"a": "[" * 3000}),
    ],
)
def test_odd_yaml_becomes_plain_values(head: str, fields: dict[str, object]) -> None:
    assert parse_front_matter(f"---\n{head}\n---\n", PATH).fields == fields


def test_missing_end_and_excess_length_are_errors() -> None:
    with pytest.raises(ConfigError, match=r"x\.md:1: The front matter has no closing line"):
        parse_front_matter("---\nname: x\n", PATH)
    with pytest.raises(ConfigError, match="larger than 16 KiB"):
        parse_front_matter(f"---\nname: {'x' * MAX_BYTES}\n---\n", PATH)


def test_lists_are_written_in_both_ways() -> None:
    assert list_of("*.ts, *.{a,b} ,") == ["*.ts", "*.{a,b}"] == list_of(["*.ts", "*.{a,b}"])
    assert text_of(["FILE"]) == "[FILE]" and text_of(None) == "" and text_of(True) == "true"
