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
    """A user's folder, a project and a working folder inside it."""

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


def test_without_files_everything_has_its_default(world: World) -> None:
    assert world.load() == LoadedSettings(Settings(), {}, [])
    assert world.load().origin("retry.enabled") == DEFAULT


def test_each_layer_wins_over_the_one_before(world: World) -> None:
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


def test_nested_and_dotted_spelling_mean_the_same_and_lists_replace(world: World) -> None:
    world.user({"retry.enabled": False, "stream": {"idleTimeoutMs": 7}, "enabledModels": ["a", "b"]})
    write(world.project, {"retry": {"baseDelayMs": 9}, "stream.connectTimeoutMs": 8, "enabledModels": ["c"]})
    settings = world.load().settings
    assert (settings.retry.enabled, settings.retry.base_delay_ms) == (False, 9)
    assert (settings.stream.idle_timeout_ms, settings.stream.connect_timeout_ms) == (7, 8)
    assert settings.enabled_models == ["c"]


def test_a_project_cannot_loosen_anything_and_is_told_so(world: World) -> None:
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
    assert [warning.partition(": only you")[0] for warning in loaded.warnings] == [
        f"{world.project}:4: Ignored tools.approvalMode",
        f"{world.project}:6: Ignored shellPath",
        f"{world.project}:8: Ignored local.embedded",
    ]


def test_the_user_and_a_file_on_the_command_line_may_set_what_a_project_cannot(world: World) -> None:
    world.user({"shellPath": "/bin/zsh"})
    write(world.extra, {"tools.approvalMode": "yolo"})
    loaded = world.load(world.extra)
    assert (loaded.settings.shell_path, loaded.settings.tools.approval_mode) == ("/bin/zsh", "yolo")
    assert loaded.warnings == []


def test_unknown_keys_are_ignored_with_a_near_name(world: World) -> None:
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
    ("text", "line", "said"),
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
def test_a_wrong_value_is_an_error_with_key_line_and_what_is_allowed(
    world: World, text: str, line: int, said: str
) -> None:
    world.user(text)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert said in str(caught.value)
    assert (caught.value.path, caught.value.line) == (world.paths.settings, line)
    assert str(caught.value).startswith(f"{world.paths.settings}:{line}: ")
    assert world.paths.settings.read_text() == text


def test_a_wrong_value_that_another_layer_hides_does_no_harm(world: World) -> None:
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
def test_a_broken_file_is_an_error_with_path_and_line(world: World, text: str, line: int) -> None:
    write(world.project, text)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert (caught.value.path, caught.value.line) == (world.project, line)
    assert world.project.read_text() == text


def test_an_error_says_that_the_file_is_plain_json(world: World) -> None:
    world.user("{ // comment\n}")
    with pytest.raises(ConfigError, match="without comments or trailing commas"):
        world.load()


def test_text_that_is_not_utf8_is_an_error_with_its_line(world: World) -> None:
    world.paths.settings.write_bytes(b'{\n"defaultModel": "\xff"}')
    with pytest.raises(ConfigError, match="UTF-8") as caught:
        world.load()
    assert caught.value.line == 2


def test_a_file_that_cannot_be_read_is_an_error(world: World) -> None:
    world.paths.settings.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        world.load()


def test_endless_nesting_and_endless_files_are_errors(world: World) -> None:
    world.user('{"a":' + "[" * 100_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        world.load()
    world.user(" " * (4 * 1_048_576 + 1))
    with pytest.raises(ConfigError, match="larger than 4 MiB"):
        world.load()


def test_an_empty_file_and_a_byte_order_mark_are_fine(world: World) -> None:
    world.user("")
    assert world.load().settings == Settings()
    world.paths.settings.write_bytes(b'\xef\xbb\xbf{"defaultModel": "x"}')
    assert world.load().settings.default_model == "x"


def test_wrong_flags_are_wrong_use(world: World) -> None:
    with pytest.raises(UsageError, match="one of ask, workspace, yolo"):
        world.load(**{"tools.approvalMode": "never"})
    with pytest.raises(UsageError, match=r"Did you mean retry\.enabled"):
        world.load(**{"retry.enabld": True})
    with pytest.raises(UsageError, match=r"Settings file .* not found"):
        world.load(world.extra)


def test_flags_may_be_nested(world: World) -> None:
    assert world.load(retry={"enabled": False}).settings.retry.enabled is False
