"""Settings from several files and flags: what wins, what is ignored, what is an error."""

import json
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import ConfigError, UsageError
from tau.config.layers import DEFAULT, LoadedSettings, SettingOrigin, load_settings
from tau.config.paths import Paths
from tau.config.settings import Settings


class World:
    """A user folder, a project and a working folder inside it."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(folder / "home")
        self.paths.home.mkdir(parents=True)
        self.cwd = folder / "repo" / "src"
        self.cwd.mkdir(parents=True)
        (folder / "repo" / ".git").mkdir()
        (folder / "repo" / ".tau").mkdir()
        self.project = folder / "repo" / ".tau" / "settings.json"
        self.extra = folder / "extra.json"

    def load(self, *files: Path, **flags: Any) -> LoadedSettings:
        return load_settings(self.paths, self.cwd, files=files, flags=flags)

    def user(self, content: Any) -> None:
        write(self.paths.settings, content)


def write(path: Path, content: Any) -> None:
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_defaults_apply_without_files(world: World) -> None:
    assert world.load() == LoadedSettings(Settings(), {}, [])
    assert world.load().origin("retry.enabled") == DEFAULT


def test_each_layer_overrides_the_previous_one(world: World) -> None:
    world.user({"retry": {"maxRetries": 1, "enabled": False}, "bash": {"timeoutSeconds": 1}})
    write(
        world.project,
        {"retry": {"maxRetries": 2}, "bash": {"timeoutSeconds": 2}, "read": {"defaultLimit": 2}},
    )
    write(world.extra, {"retry.maxRetries": 3, "read.defaultLimit": 3})
    second = world.extra.with_name("second.json")
    write(second, {"read": {"defaultLimit": 4}})
    loaded = world.load(world.extra, second, **{"retry.maxRetries": 5, "defaultModel": None})
    settings = loaded.settings
    assert (settings.retry.max_retries, settings.retry.enabled) == (5, False)
    assert (settings.bash.timeout_seconds, settings.read.default_limit) == (2, 4)
    assert loaded.origins == {
        "retry.maxRetries": SettingOrigin("flag"),
        "retry.enabled": SettingOrigin("user", world.paths.settings),
        "bash.timeoutSeconds": SettingOrigin("project", world.project),
        "read.defaultLimit": SettingOrigin("file", second),
    }
    assert str(loaded.origin("bash.timeoutSeconds")) == f"project: {world.project}"


def test_nested_and_dotted_keys_are_equivalent_and_lists_replace(world: World) -> None:
    world.user({"retry.enabled": False, "stream": {"idleTimeoutMs": 7}, "enabledModels": ["a", "b"]})
    write(world.extra, {"enabledModels": ["c"]})
    write(world.project, {"retry": {"baseDelayMs": 9}, "stream.connectTimeoutMs": 8})
    settings = world.load(world.extra).settings
    assert (settings.retry.enabled, settings.retry.base_delay_ms) == (False, 9)
    assert (settings.stream.idle_timeout_ms, settings.stream.connect_timeout_ms) == (7, 8)
    assert settings.enabled_models == ["c"]


def test_project_cannot_loosen_anything_and_a_warning_says_so(world: World) -> None:
    world.user({"tools": {"approvalMode": "ask"}})
    write(
        world.project,
        {
            "read.defaultLimit": 5,
            "tools": {"approvalMode": "yolo"},
            "shellPath": "./evil",
            "local": {"embedded": 7},
        },
    )
    loaded = world.load()
    assert loaded.settings.tools.approval_mode == "ask"
    assert (loaded.settings.shell_path, loaded.settings.local.embedded) == (None, True)
    assert loaded.settings.read.default_limit == 5
    assert [warning.rpartition(": ")[0] for warning in loaded.warnings] == [
        f"{world.project}:4: Ignored tools.approvalMode",
        f"{world.project}:6: Ignored shellPath",
        f"{world.project}:8: Ignored local.embedded",
    ]


def test_user_and_command_line_file_may_set_what_a_project_cannot(world: World) -> None:
    world.user({"shellPath": "/bin/zsh"})
    write(world.extra, {"tools.approvalMode": "yolo"})
    loaded = world.load(world.extra)
    assert (loaded.settings.shell_path, loaded.settings.tools.approval_mode) == ("/bin/zsh", "yolo")
    assert loaded.warnings == []


def test_unknown_keys_are_ignored_with_a_suggestion(world: World) -> None:
    world.user(
        '{\n  "$schema": "x",\n  "retry": {"enable": true},\n  "defaultModl": "x",\n  "zzz": {"a": 1}\n}'
    )
    loaded = world.load()
    assert loaded.settings == Settings()
    assert loaded.warnings == [
        f'{world.paths.settings}:3: Ignored unknown setting "retry.enable". Did you mean retry.enabled?',
        f'{world.paths.settings}:4: Ignored unknown setting "defaultModl". Did you mean defaultModel?',
        f'{world.paths.settings}:5: Ignored unknown setting "zzz".',
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            '{\n  "retry": {\n    "maxRetries": "ten"\n  }\n}',
            3,
            'retry.maxRetries must be a whole number from 0 to 100, not "ten"',
        ),
        ('{\n\n  "retry.maxRetries": 1000}', 3, "from 0 to 100, not 1000"),
        ('{"steeringMode":\n "some"}', 1, "one of one-at-a-time, all"),
        ('{"a": ["retry", "x", {}],\n "enabledModels": [1]}', 2, "a list of text, not [1]"),
        ('{"retry":\n true}', 1, "retry is a group"),
        ('{"read": {"defaultLimit": null}}', 1, "not null"),
    ],
)
def test_wrong_value_is_an_error_with_key_line_and_allowed_values(
    world: World, text: str, line: int, message: str
) -> None:
    world.user(text)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (world.paths.settings, line)
    assert str(caught.value).startswith(f"{world.paths.settings}:{line}: ")
    assert world.paths.settings.read_text() == text


def test_overridden_wrong_value_does_no_harm(world: World) -> None:
    world.user({"read": {"defaultLimit": "many"}})
    write(world.project, {"read": {"defaultLimit": 5}})
    assert world.load().settings.read.default_limit == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "a": 1, }', 2),
        ('{\n  // why\n  "a": 1\n}', 2),
        ('{\n  "a": 1', 2),
        ('{"a": 1}\n}', 2),
        ('{\n  "a": NaN\n}', 2),
        ("[1]", 1),
        ('"text"', 1),
    ],
)
def test_broken_file_is_an_error_with_path_and_line(world: World, text: str, line: int) -> None:
    write(world.project, text)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert (caught.value.path, caught.value.line) == (world.project, line)
    assert world.project.read_text() == text


def test_error_says_that_the_file_is_plain_json(world: World) -> None:
    world.user("{ // comment\n}")
    with pytest.raises(ConfigError, match="without comments or trailing commas"):
        world.load()


def test_non_utf8_text_is_an_error_with_its_line(world: World) -> None:
    world.paths.settings.write_bytes(b'{\n"defaultModel": "\xff"}')
    with pytest.raises(ConfigError, match="UTF-8") as caught:
        world.load()
    assert caught.value.line == 2


def test_unreadable_file_is_an_error(world: World) -> None:
    world.paths.settings.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        world.load()


def test_deep_nesting_and_oversized_files_are_errors(world: World) -> None:
    world.user('{"a":' + "[" * 100_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        world.load()
    world.user(" " * (4 * 1_048_576 + 1))
    with pytest.raises(ConfigError, match="larger than 4 MiB"):
        world.load()


def test_empty_file_and_byte_order_mark_are_accepted(world: World) -> None:
    world.user("")
    assert world.load().settings == Settings()
    world.paths.settings.write_bytes(b'\xef\xbb\xbf{"defaultModel": "x"}')
    assert world.load().settings.default_model == "x"


def test_wrong_flags_are_usage_errors(world: World) -> None:
    with pytest.raises(UsageError, match="one of ask, workspace, plan, yolo"):
        world.load(**{"tools.approvalMode": "never"})
    with pytest.raises(UsageError, match=r"Did you mean retry\.enabled"):
        world.load(**{"retry.enabld": True})
    with pytest.raises(UsageError, match=r"Settings file .* not found"):
        world.load(world.extra)


def test_flags_may_be_nested(world: World) -> None:
    assert world.load(retry={"enabled": False}).settings.retry.enabled is False


def test_project_adds_rules_that_ask_or_deny_and_never_replaces_the_users(world: World) -> None:
    world.user({"tools": {"allow": ["run: a"], "ask": ["run: b"], "deny": ["run: c", "run: d"]}})
    write(
        world.project,
        {"tools.allow": ["run: *"], "tools.ask": [], "tools": {"deny": ["run: d", "tool: ssh"]}},
    )
    loaded = world.load(**{"tools.ask": ["run: e"]})
    tools = loaded.settings.tools
    assert (tools.allow, tools.ask, tools.deny) == (
        ["run: a"],
        ["run: b", "run: e"],
        ["run: c", "run: d", "tool: ssh"],
    )
    assert any("Ignored tools.allow" in warning for warning in loaded.warnings)


def test_project_cannot_remove_rules_by_a_wrong_type(world: World) -> None:
    world.user({"tools.deny": ["run: c"]})
    write(world.project, {"tools.deny": None})
    with pytest.raises(ConfigError, match=r"tools\.deny must be a list of text"):
        world.load()
