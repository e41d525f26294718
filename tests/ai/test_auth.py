"""What a configured value means: a literal, a variable, a command."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tau.ai import auth
from tau.ai.auth import is_variable, resolve_headers, resolve_value
from tau.base.errors import ConfigError
from tau.base.run import LocalRunner, inherited


def resolve(value: str, environ: dict[str, str] | None = None, *, fresh: bool = False) -> str | None:
    return asyncio.run(resolve_value(value, environ or {}, LocalRunner(shell="/bin/sh"), fresh=fresh))


def test_literal_is_used_as_is() -> None:
    assert resolve("sk-abc") == "sk-abc"
    assert resolve("  sk-abc\n") == "sk-abc"
    assert resolve("Abc", {"Abc": "no"}) == "Abc"
    assert resolve(" ") is None


def test_variable_name_resolves_to_its_value_and_never_itself() -> None:
    assert resolve("MY_KEY", {"MY_KEY": " secret\n"}) == "secret"
    assert resolve("MY_KEY") is None
    assert resolve("MY_KEY", {"MY_KEY": ""}) is None


def test_value_of_a_variable_is_not_resolved_again() -> None:
    assert resolve("MY_KEY", {"MY_KEY": "!echo no"}) == "!echo no"
    assert resolve("MY_KEY", {"MY_KEY": "OTHER", "OTHER": "x"}) == "OTHER"


def test_command_prints_the_key_and_its_stderr_is_ignored() -> None:
    assert resolve("!echo '  secret  '; echo warning >&2") == "secret"


def test_command_runs_once_until_a_fresh_value_is_requested(tmp_path: Path) -> None:
    count = tmp_path / "count"
    value = f"!echo x >> {count}; wc -l < {count}"
    assert [resolve(value), resolve(value), resolve(value, fresh=True), resolve(value)] == [
        "1",
        "1",
        "2",
        "2",
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo secret; echo 'not logged in' >&2; echo more >&2; exit 3", "failed: not logged in"),
        ("echo secret; exit 3", "failed: exit code 3"),
        ("kill -9 $$", "failed: signal 9"),
        ("true", "printed nothing"),
        ("echo secret; echo secret", "more than one line"),
        ("head -c 100000 /dev/zero | tr '\\0' s", "too much for a key"),
        ("", 'just "!"'),
    ],
)
def test_command_without_a_key_is_an_error_that_never_shows_the_output(command: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("!" + command)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value).replace(command, "")


def test_endless_complaint_of_a_command_is_cut() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("!head -c 5000 /dev/zero | tr '\\0' z >&2; exit 3")
    assert str(caught.value).endswith(f"failed: {'z' * 2_000}.")


def test_command_for_a_key_gets_the_tokens_that_other_children_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "hvs.0123456789abcdef")
    assert resolve("!printenv VAULT_TOKEN") == "hvs.0123456789abcdef"
    assert "VAULT_TOKEN" not in inherited(os.environ)


def test_failure_is_not_cached(tmp_path: Path) -> None:
    value = f"!cat {tmp_path / 'key'}"
    with pytest.raises(ConfigError, match="failed"):
        resolve(value)
    (tmp_path / "key").write_text("now")
    assert resolve(value) == "now"


def test_hanging_command_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "COMMAND_TIMEOUT_S", 0.2)
    with pytest.raises(ConfigError, match=r"no key within 0\.2 s"):
        resolve("!sleep 600")


def test_missing_shell_is_a_user_error() -> None:
    with pytest.raises(ConfigError, match="cannot be run"):
        asyncio.run(resolve_value("!echo from-no-shell", {}, LocalRunner(shell="/no/such/shell")))


def test_headers_are_resolved_and_empty_ones_dropped() -> None:
    headers = {"a": "literal", "b": "SET_ONE", "c": "UNSET_ONE", "d": "!echo printed"}
    resolved = asyncio.run(resolve_headers(headers, {"SET_ONE": "v"}, LocalRunner(shell="/bin/sh")))
    assert resolved == {"a": "literal", "b": "v", "d": "printed"}


def test_key_output_is_limited_to_sixty_four_kibibytes() -> None:
    blanks = "head -c {} /dev/zero | tr '\\0' ' '"
    assert resolve(f"!{blanks.format(65_530)}; printf secret") == "secret"
    with pytest.raises(ConfigError, match="printed too much for a key"):
        resolve(f"!{blanks.format(65_531)}; printf secret")


def test_command_has_ten_seconds_and_runs_in_the_home_folder() -> None:
    asked: dict[str, Any] = {}

    class Watched(LocalRunner):
        async def start(self, command: Any, **options: Any) -> Any:
            asked.update(options)
            return await super().start(command, **options)

    assert asyncio.run(resolve_value("!echo ten", {}, Watched(shell="/bin/sh"))) == "ten"
    assert asked["limits"].timeout == 10
    assert asked["cwd"] == Path.home()


def test_only_an_uppercase_name_is_a_variable() -> None:
    for name, found in (("A1", True), ("A_B", True), ("A", False), ("1A", False), ("Ab", False)):
        assert is_variable(name) == found
