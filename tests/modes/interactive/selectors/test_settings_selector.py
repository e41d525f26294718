"""The settings on screen: all of them, in tabs, by type, written at once."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.setting_table import describe_settings, settings_by_key
from tau.config.settings import Settings
from tau.modes.interactive.selectors.setting_changes import is_live, read_settings, takes_effect, with_value
from tau.modes.interactive.selectors.setting_rows import (
    OTHER,
    facts,
    kind_of,
    label_of,
    parse_value,
    row_of,
    setting_rows,
    step_of,
    tabs,
)
from tau.modes.interactive.selectors.settings_selector import choose_settings
from tests.modes.interactive.rig import Rig, run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened, settled


def written(rig: Rig) -> Any:
    path = rig.current.paths.settings
    return json.loads(path.read_text()) if path.exists() else {}


def test_every_setting_is_in_one_tab() -> None:
    keys = [key for keys_of_tab in tabs().values() for key in keys_of_tab]
    assert sorted(keys) == sorted(settings_by_key())
    assert OTHER not in tabs()


@pytest.mark.parametrize("declared", describe_settings(), ids=lambda one: one.key)
def test_every_setting_has_a_row_whose_value_can_be_written_back(declared: Any) -> None:
    row = row_of(declared, declared.default)
    assert row.key == declared.key and row.label
    value = parse_value(declared, row.value)
    if row.kind != "submenu":
        assert convert(value, declared.annotation) == (declared.default if value != [] else [])


def test_kinds_follow_the_types() -> None:
    kinds = {key: kind_of(one.annotation.__origin__)[0] for key, one in settings_by_key().items()}
    assert kinds["display.hideThinking"] == "toggle"
    assert kinds["theme.symbols"] == "choice"
    assert kinds["display.tabWidth"] == "number"
    assert kinds["shellPath"] == kinds["enabledModels"] == "text"
    assert kinds["modelRoles"] == "submenu"
    with pytest.raises(TypeError):
        kind_of(bytes)


def test_number_has_bounds_and_a_sensible_step() -> None:
    row = row_of(settings_by_key()["display.tabWidth"], 4)
    assert (row.minimum, row.maximum, row.step) == (1, 16, 1)
    assert (step_of(16_384), step_of(0.95), step_of(-1)) == (1000, 0.05, 1)


def test_lists_use_commas_and_empty_means_unset() -> None:
    known = settings_by_key()
    assert row_of(known["enabledModels"], ["a", "b"]).value == "a, b"
    assert parse_value(known["enabledModels"], " a ,b,, ") == ["a", "b"]
    assert row_of(known["shellPath"], None).value == "" and parse_value(known["shellPath"], "") is None
    assert parse_value(known["theme.dark"], "") == ""


def test_names_become_words() -> None:
    assert label_of("hideThinking") == "Hide thinking"
    assert label_of("bash.autoBackground") == "Bash, auto background"


def test_facts_show_layer_default_effect_and_scope(tmp_path: Path) -> None:
    paths = user_paths()
    paths.settings.parent.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text('{"tools": {"approvalMode": "ask"}}')
    project = tmp_path / ".tau"
    project.mkdir()
    (project / "settings.json").write_text('{"display.tabWidth": 8}')
    loaded = load_settings(paths, tmp_path, flags={"theme.symbols": "ascii"})
    known = settings_by_key()
    reported = facts(known["tools.approvalMode"], loaded)
    assert reported.startswith("From your settings.json; default workspace")
    assert "in the next session" in reported and "projects can only tighten it" in reported
    assert facts(known["display.tabWidth"], loaded).startswith(f"From {project / 'settings.json'}; default 4")
    assert facts(known["theme.symbols"], loaded).startswith("From this run")
    assert facts(known["theme.dark"], loaded) == "Not changed."


def test_when_a_change_takes_effect() -> None:
    assert takes_effect("theme.dark") == "" and is_live("statusLine.preset")
    assert takes_effect("retry.enabled") == "in the next session"
    assert takes_effect("display.screenReader") == "after restarting tau"


def test_with_value_changes_one_setting() -> None:
    changed = with_value(Settings(), "bash.autoBackground.enabled", True)
    assert changed.bash.auto_background.enabled and changed.bash.timeout_seconds == 300


def test_rows_offer_themes_by_name() -> None:
    loaded = load_settings(user_paths(), Path("/"))
    rows = setting_rows(loaded, {"theme.dark": ["dusk", "ocean"]})
    assert (rows["theme.dark"].kind, list(rows["theme.dark"].choices)) == ("choice", ["dusk", "ocean"])


def test_toggle_is_written_and_visible_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, "hello") as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("show token")
                await rig.show("In all groups:")
                await rig.press("enter")
                await rig.show("From your settings.json; default off.")
                assert written(rig) == {"display": {"showTokenUsage": True}}
                assert rig.current.settings.display.show_token_usage
                await rig.press("escape")
            assert rig.current.settings.titles.enabled is False, "what a flag has set stays"

    run(test)


def test_choice_is_previewed_while_moving_and_reverted_by_escape(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("symbols")
                await settled(rig)
                await rig.press("enter")
                await rig.show("nerd")
                await rig.press("down", "down", "down")
                await rig.show("> ascii")
                assert rig.front.theme.symbols.pointer == ">"
                await rig.press("escape")
                await rig.show("❯")
                assert rig.current.settings.theme.symbols == "auto" and not written(rig)
                await rig.press("enter", "down", "down", "down", "enter")
                await rig.show("> Symbols")
                await rig.press("escape")
            assert written(rig) == {"theme": {"symbols": "ascii"}}
            assert rig.front.theme.symbols.pointer == ">"

    run(test)


def test_theme_is_previewed_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            before = rig.front.theme["accent"].open
            async with opened(rig, choose_settings, "❯ Dark"):
                await rig.press("enter")
                await rig.show("ocean")
                for _ in range(20):
                    await rig.press("down")
                    if "❯ ocean" in await settled(rig):
                        break
                assert rig.front.theme["accent"].open != before
                await rig.press("escape")
                await settled(rig)
                assert rig.front.theme["accent"].open == before
                await rig.press("escape")

    run(test)


def test_number_is_checked_before_it_is_written(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("display.tabwidth")
                await rig.show("Tab width")
                await rig.press("enter")
                await rig.show("Enter apply")
                await rig.press("ctrl+u")
                await rig.type("99")
                await rig.press("enter")
                await rig.show("The maximum is 16.")
                await rig.press("backspace", "backspace")
                await rig.type("8")
                await rig.press("enter")
                await rig.show("changes take effect after restarting")
                await rig.press("escape")
            assert written(rig) == {"display": {"tabWidth": 8}}

    run(test)


def test_list_with_unknown_names_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("left segments")
                await rig.show("Left segments")
                await rig.press("enter")
                await rig.show("Enter apply")
                await rig.type("model, nonsense")
                await rig.press("enter")
                await rig.show("statusLine.leftSegments must be")
                assert not written(rig)
                await rig.press("enter")
                await rig.show("Enter apply")
                await rig.type("model, cost")
                await rig.press("enter")
                await rig.show("model, cost")
                await rig.press("escape")
            assert written(rig) == {"statusLine": {"leftSegments": ["model", "cost"]}}

    run(test)


def test_key_restores_the_default(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            rig.current.paths.settings.parent.mkdir(parents=True, exist_ok=True)
            rig.current.paths.settings.write_text('{"retry": {"maxRetries": 3}, "other": 1}')
            rig.current.settings = load_settings(rig.current.paths, tmp_path, flags=None).settings
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("retry.maxretries")
                await rig.show("From your settings.json; default 10")
                await rig.press("delete")
                await rig.show("Reset to default.")
                await rig.press("escape")
            assert written(rig) == {"other": 1}

    run(test)


def test_project_value_wins_and_is_shown(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / ".tau").mkdir()
        (tmp_path / ".tau" / "settings.json").write_text('{"todo.enabled": false}')
        async with open_conversation(tmp_path, columns=300) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("todo enabled")
                await rig.show("todo list")
                await rig.press("enter")
                await rig.show("Saved to your settings, but")
                await rig.press("escape")
            assert written(rig) == {"todo": {"enabled": True}}
            assert load_settings(user_paths(), tmp_path).settings.todo.enabled is False

    run(test)


def test_objects_are_shown_with_the_file_to_edit(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("model roles")
                await rig.show("Model roles")
                await rig.press("enter")
                await rig.show("tau config set modelRoles")
                assert "Esc close" in rig.screen()
                await rig.press("escape")
                await rig.show("Filter: model roles")
                await rig.press("escape")
            assert not written(rig)

    run(test)


def test_tabs_cycle_and_a_search_covers_all_of_them(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_settings, "Color blind"):
                await rig.press("shift+tab")
                await rig.show("Default limit")
                await rig.press("tab")
                await rig.show("Color blind")
                await rig.type("steering")
                assert "Steering mode" in await rig.show("In all groups:")
                await rig.press("ctrl+u")
                await rig.show("Color blind")
                await rig.press("escape")
            assert not written(rig)

    run(test)


def test_unwritable_file_is_reported(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, columns=120) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("color blind")
                await rig.show("Color blind")
                rig.current.paths.settings.parent.mkdir(parents=True, exist_ok=True)
                rig.current.paths.settings.write_text("{broken")
                await rig.press("enter")
                await rig.show("Invalid JSON")
                await rig.press("escape")
            assert rig.current.settings.theme.color_blind is False
            assert rig.current.paths.settings.read_text() == "{broken"

    run(test)


def test_values_of_this_run_override_the_files(tmp_path: Path) -> None:
    file = tmp_path / "extra.json"
    file.write_text('{"retry": {"maxRetries": 4}}')

    async def test() -> None:
        async with open_conversation(tmp_path, columns=160, config_files=(file,)) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("retry.maxretries")
                await rig.show("extra.json")
                await rig.press("delete")
                await rig.show("extra.json overrides it here")
                await rig.press("escape")
            read = read_settings(rig.context)
            assert read.settings.retry.max_retries == 4 and read.origin("retry.maxRetries").path == file
            assert read.origin("titles.enabled").layer == "flag" and not read.settings.titles.enabled

    run(test)


def test_status_line_is_shown_while_it_is_configured(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_settings, "── Settings"):
                await rig.type("statusline.preset")
                await rig.show("thinking high")
                await rig.press("enter")
                await rig.show("minimal")
                await rig.press("down")
                await rig.gone("thinking high")
                await rig.press("escape")
                await rig.show("thinking high")
                await rig.press("escape")
            assert not written(rig)

    run(test)
