"""The table and the schema made from the settings struct."""

from typing import Any

import pytest
from msgspec import convert, to_builtins

from tau.config.setting_table import (
    describe_settings,
    is_setting_group,
    setting_of,
    setting_values,
    settings_by_key,
    settings_schema,
    split_member,
)
from tau.config.setting_values import value_problem
from tau.config.settings import Settings


def test_every_setting_is_described_and_its_default_fits() -> None:
    table = describe_settings()
    assert len(table) > 20
    for setting in table:
        assert setting.description
        assert value_problem(setting, setting.default) is None


def test_settings_that_loosen_or_run_anything_are_user_only() -> None:
    users = {setting.key for setting in describe_settings() if setting.scope == "user"}
    assert users >= {
        *("shellPath", "sessionDir", "tools.allow", "local.discover", "local.embedded", "python.interpreter"),
        *("ssh.mount", "defaultModel", "defaultProvider", "modelRoles", "retry.fallbackChains"),
        *("enabledModels", "contextFiles.enabled"),
        *("tools.passEnv", "keys.plainHttpHosts", "secrets.obfuscate"),
        *(f"sandbox.{name}" for name in ("mode", "engine", "network", "hosts")),
        *(f"sandbox.{name}" for name in ("write", "hide", "sockets", "outside")),
    }


def test_types_are_described_in_words() -> None:
    table = settings_by_key()
    assert table["retry.enabled"].type == "true or false"
    assert table["retry.maxRetries"].type == "a whole number from 0 to 100"
    assert table["defaultModel"].type == "text or null"
    assert table["enabledModels"].type == "a list of text"
    assert table["tools.approvalMode"].type == "one of ask, workspace, plan, yolo"


def test_settings_have_dotted_keys() -> None:
    values = setting_values(convert({"retry": {"maxRetries": 3}, "enabledModels": ["a"]}, Settings))
    assert list(values) == list(settings_by_key())
    assert (values["retry.maxRetries"], values["enabledModels"]) == (3, ["a"])
    assert values["stream.idleTimeoutMs"] == 120_000


def test_one_setting_can_be_looked_up_without_the_others() -> None:
    table = settings_by_key()
    assert {key: setting_of(key) for key in table} == table
    groups = {key.rpartition(".")[0] for key in table} - {""}
    assert all(map(is_setting_group, groups))
    assert not any(map(is_setting_group, (*table, "", "retry.", "retry.enabled.x", "nothing", "nothing.x")))
    assert not any(map(setting_of, (*groups, "", ".", "retry.", "retry.enabled.x", "nothing", "nothing.x")))


def test_member_of_a_map_is_a_setting_of_its_scope() -> None:
    role = setting_of("modelRoles.my.role")
    assert role is not None and role.scope == "user"
    assert (role.key, role.type, role.default) == ("modelRoles.my.role", "text", None)
    assert (mode := setting_of("edit.modelModes.gpt-4.1*")) is not None
    assert mode.type == "one of hashline, replace, apply_patch, patch"
    assert split_member("retry.fallbackChains.a/b") == ("retry.fallbackChains", "a/b")
    assert split_member("retry.enabled") == ("retry.enabled", "")


def test_schema_has_every_setting_with_its_description_and_range() -> None:
    schema = settings_schema()

    def look_up(node: dict[str, Any], key: str) -> dict[str, Any]:
        name, _, rest = key.partition(".")
        found: dict[str, Any] = node["properties"][name]
        if not rest:
            return found
        reference = found.get("$ref") or next(part["$ref"] for part in found["allOf"])
        return look_up(schema["$defs"][reference.rpartition("/")[2]], rest)

    for setting in describe_settings():
        assert look_up(schema, setting.key)["description"] == setting.description
    retries = look_up(schema, "retry.maxRetries")
    assert (retries["minimum"], retries["maximum"], retries["default"]) == (0, 100, 10)


@pytest.mark.parametrize("value", [{"retry": {"maxRetries": 101}}, {"bash": {"timeoutSeconds": 0}}])
def test_ranges_are_checked(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected `int`"):
        convert(value, Settings)


def test_defaults_round_trip() -> None:
    assert convert(to_builtins(Settings()), Settings) == Settings()
