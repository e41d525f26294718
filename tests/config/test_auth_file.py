"""Keys on disk: private, and never lost by a write."""

import json
import stat
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.auth_file import AuthFile


@pytest.fixture
def auth(tmp_path: Path) -> AuthFile:
    return AuthFile(tmp_path / "home" / "auth.json")


def mode(auth: AuthFile) -> int:
    return stat.S_IMODE(auth.path.stat().st_mode)


def test_key_is_stored_read_and_removed(auth: AuthFile) -> None:
    assert auth.get("openai") is None
    auth.set_key("openai", "sk-1")
    auth.set_key("anthropic", "!pass show x")
    auth.set_key("openai", "sk-2")
    assert (auth.get("openai"), auth.get("anthropic")) == ("sk-2", "!pass show x")
    assert json.loads(auth.path.read_text())["openai"] == {"type": "api_key", "key": "sk-2"}
    assert auth.remove("openai")
    assert not auth.remove("openai")
    assert list(json.loads(auth.path.read_text())) == ["anthropic"]
    assert auth.warnings == []


def test_file_and_folder_are_private(auth: AuthFile) -> None:
    auth.set_key("openai", "sk-1")
    assert mode(auth) == 0o600
    assert stat.S_IMODE(auth.path.parent.stat().st_mode) == 0o700


def test_file_with_loose_permissions_is_tightened_with_one_warning(auth: AuthFile) -> None:
    auth.set_key("openai", "sk-1")
    auth.path.chmod(0o644)
    assert auth.get("openai") == "sk-1"
    assert mode(auth) == 0o600
    assert len(auth.warnings) == 1
    assert str(auth.path) in auth.warnings[0]
    auth.path.chmod(0o640)
    auth.set_key("openai", "sk-2")
    assert mode(auth) == 0o600
    assert "sk-" not in "".join(auth.warnings)


def test_unknown_entries_survive_a_write(auth: AuthFile) -> None:
    auth.path.parent.mkdir()
    other = {
        "subscription": {"type": "oauth", "access": "a", "expires": 12345678901234567890123},
        "odd": [1, {"x": None}],
    }
    auth.path.write_text(json.dumps(other))
    auth.set_key("openai", "sk-1")
    auth.remove("nobody")
    stored = json.loads(auth.path.read_text())
    assert {name: stored[name] for name in other} == other
    assert auth.get("subscription") is None


def test_entry_without_a_type_is_a_key(auth: AuthFile) -> None:
    auth.path.parent.mkdir()
    auth.path.write_text('{"openai": {"key": " sk-1 "}, "empty": {"key": ""}}')
    assert (auth.get("openai"), auth.get("empty")) == ("sk-1", None)


@pytest.mark.parametrize("entry", ['"sk-1"', '{"type": "api_key"}', '{"key": 5}', "[]"])
def test_malformed_entry_is_an_error_without_the_key(auth: AuthFile, entry: str) -> None:
    auth.path.parent.mkdir()
    auth.path.write_text('{\n"openai": ' + entry + "}")
    with pytest.raises(ConfigError, match="must look like") as caught:
        auth.get("openai")
    assert caught.value.line == 2
    assert "sk-1" not in str(caught.value)
    assert auth.get("another") is None


def test_broken_file_is_never_overwritten(auth: AuthFile) -> None:
    auth.path.parent.mkdir()
    auth.path.write_text('{"openai": {"type": "api_key", "key": "sk-1"},}')
    for act in (lambda: auth.set_key("x", "y"), lambda: auth.remove("openai"), lambda: auth.get("openai")):
        with pytest.raises(ConfigError) as caught:
            act()
        assert caught.value.line == 1
        assert "sk-1" not in str(caught.value)
    assert auth.path.read_text() == '{"openai": {"type": "api_key", "key": "sk-1"},}'


def test_provider_may_have_several_keys(auth: AuthFile) -> None:
    auth.path.parent.mkdir()
    entries = [{"type": "api_key", "key": "A"}, {"type": "oauth", "x": 1}, {"key": " B "}, {"key": "A"}]
    auth.path.write_text(json.dumps({"openai": entries, "none": [{"type": "oauth"}]}))
    assert auth.get_all("openai") == [one.value for one in auth.settled("openai")] == ["A", "B"]
    assert auth.get("openai") == "A"
    assert (auth.get_all("none"), auth.get("none"), auth.get_all("nobody")) == ([], None, [])


@pytest.mark.parametrize("entries", ['["sk-1"]', '[{"key": "sk-1"}, 5]'])
def test_list_with_other_values_is_an_error(auth: AuthFile, entries: str) -> None:
    auth.path.parent.mkdir()
    auth.path.write_text('{"openai": ' + entries + "}")
    with pytest.raises(ConfigError, match="must look like") as caught:
        auth.get("openai")
    assert "sk-1" not in str(caught.value)


def test_storing_a_key_keeps_the_others_of_a_list(auth: AuthFile) -> None:
    auth.path.parent.mkdir()
    big = '{"type": "oauth", "expires": 12345678901234567890123}'
    auth.path.write_text('{"openai": [{"type": "api_key", "key": "A"}, ' + big + "]}")
    auth.set_key("openai", "B")
    auth.set_key("openai", "B")
    assert auth.get_all("openai") == ["B", "A"]
    assert "12345678901234567890123" in auth.path.read_text()
    assert auth.remove("openai")
    assert auth.get_all("openai") == []
