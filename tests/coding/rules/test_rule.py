"""Fields of rule files, in tau's own words and in those of other agents."""

import pytest

from tau.coding.rules.rule import Scope, make_rule


def test_scope_defaults_to_text_and_tools() -> None:
    rule = make_rule("r", "", {"condition": "x"})
    assert [rule.covers(source) for source in ("text", "thinking", "tool")] == [True, False, True]  # type: ignore[arg-type]


def test_rule_about_files_never_matches_prose_and_costs_it_nothing() -> None:
    rule = make_rule("r", "", {"condition": "x", "globs": "*.ts"})
    assert [rule.covers(source) for source in ("text", "thinking", "tool")] == [False, False, True]  # type: ignore[arg-type]
    assert not rule.covers_paths("text", "", ())


@pytest.mark.parametrize(
    ("agents", "names"),
    [
        (None, ["main", "explore", "reviewer"]),
        ("main", ["main"]),
        ("explore, review*", ["explore", "reviewer"]),
        (["*"], ["main", "explore", "reviewer"]),
    ],
)
def test_rule_is_for_the_agents_it_names(agents: object, names: list[str]) -> None:
    rule = make_rule("r", "", {"alwaysApply": True} | ({} if agents is None else {"agents": agents}))
    assert [name for name in ("main", "explore", "reviewer") if rule.is_for(name)] == names
    assert rule.is_for(None)


def test_scope_names_a_tool_and_its_files() -> None:
    rule = make_rule("r", "", {"condition": "x", "scope": "text, tool:edit(*.ts, src/**/*.{js,mjs})"})
    assert rule.scope == (Scope("text"), Scope("tool", "edit", ("*.ts", "src/**/*.{js,mjs}")))
    assert not rule.covers("tool", "write") and rule.covers("tool", "edit")
    hits = [rule.covers_paths("tool", "edit", [path]) for path in ("a/b.ts", "/w/src/x/y.mjs", "y.mjs")]
    assert hits == [True, True, False]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"scope": "prose"}, 'the scope "prose"'),
        ({"scope": "text(*.ts)"}, 'the scope "text(*.ts)"'),
        ({"globs": "a[", "condition": "x"}, "the glob a["),
        ({"interruptMode": "maybe"}, 'interruptMode "maybe"'),
        ({"condition": "x", "scope": "text", "globs": "*.ts"}, "its globs can never match"),
    ],
)
def test_field_that_cannot_work_is_reported(fields: dict[str, str], problem: str) -> None:
    assert any(text.startswith(problem) for text in make_rule("r", "", fields).problems)


@pytest.mark.parametrize(
    ("fields", "bucket", "globs"),
    [
        ({"condition": "x", "alwaysApply": True}, "stream", ()),
        ({"alwaysApply": True}, "always", ()),
        ({"trigger": "always_on"}, "always", ()),
        ({"applyTo": "**"}, "always", ()),
        ({"applyTo": "**/*.ts,**/*.tsx", "description": "d"}, "rulebook", ("**/*.ts", "**/*.tsx")),
        ({"paths": ["src/**"], "description": "d"}, "rulebook", ("src/**",)),
        ({"globs": "*.ts,*.{a,b}", "description": "Use when: x"}, "rulebook", ("*.ts", "*.{a,b}")),
        ({}, "unused", ()),
    ],
)
def test_bucket_of_a_rule(fields: dict[str, object], bucket: str, globs: tuple[str, ...]) -> None:
    rule = make_rule("r", "text", fields)
    assert (rule.bucket, rule.globs) == (bucket, globs)
