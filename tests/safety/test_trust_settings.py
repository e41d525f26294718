"""A project may tighten settings, never loosen them; every setting has a considered scope."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Meta

from tau.config import setting_scopes
from tau.config.layers import LoadedSettings, load_settings
from tau.config.paths import user_paths
from tau.config.setting_table import setting_values, settings_by_key
from tau.config.setting_values import value_problem

# For each setting that a project may tighten: the user's value, a stricter one, a looser one.
CASES = {
    "tools.approvalMode": ("workspace", "ask", "yolo"),
    "async.maxJobs": (5, 2, 50),
    "browser.maxTabs": (5, 2, 50),
    "async.exitWaitSeconds": (60, 0, 86_400),
    "retry.maxRetries": (3, 0, 100),
    "github.cache.softTtlSec": (300, 0, 9_000),
    "github.cache.hardTtlSec": (600, 0, 9_000),
    "hooks.onError": ("ask", "block", "allow"),
    "task.maxRecursionDepth": (2, 0, 10),
    "ttsr.interruptMode": ("tool-only", "always", "never"),
}


def load(folder: Path, user: dict[str, Any], project: dict[str, Any]) -> LoadedSettings:
    paths = user_paths()
    paths.home.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text(json.dumps(user))
    (folder / ".tau").mkdir(exist_ok=True)
    (folder / ".tau" / "settings.json").write_text(json.dumps(project))
    return load_settings(paths, folder)


def value_of(loaded: LoadedSettings, key: str) -> Any:
    return setting_values(loaded.settings)[key]


def is_considered(key: str) -> bool:
    """Whether someone has decided what a project may do with this setting."""
    listed = {*setting_scopes.ANY, *setting_scopes.TIGHTEN, *setting_scopes.USER_ONLY}
    return key in listed or key.partition(".")[0] in setting_scopes.USER_GROUPS


def test_someone_has_decided_on_the_scope_of_every_setting() -> None:
    marked = {key for key, setting in settings_by_key().items() if "scope" in (meta_of(key).extra or {})}
    forgotten = [key for key in settings_by_key() if key not in marked and not is_considered(key)]
    assert not forgotten, f"Add {forgotten} to config/setting_scopes.json, or mark them extra=USER."
    listed = {*setting_scopes.ANY, *setting_scopes.TIGHTEN, *setting_scopes.USER_ONLY}
    assert listed <= set(settings_by_key()), "A listed setting no longer exists."
    assert len(listed) == sum(
        len(part) for part in (setting_scopes.ANY, setting_scopes.TIGHTEN, setting_scopes.USER_ONLY)
    ), "A setting is listed twice."


def meta_of(key: str) -> Meta:
    (meta,) = settings_by_key()[key].annotation.__metadata__
    assert isinstance(meta, Meta)
    return meta


def test_a_setting_nobody_thought_about_belongs_to_the_user() -> None:
    assert setting_scopes.scope_of("brand.new") == "user"
    assert not is_considered("brand.new")


@pytest.mark.parametrize("key", sorted(setting_scopes.TIGHTEN))
def test_a_project_can_be_stricter_and_not_looser(key: str, tmp_path: Path) -> None:
    order = setting_scopes.TIGHTEN[key]
    if isinstance(order, tuple) and len(order) == 2:
        strict, loose = order
        assert value_of(load(tmp_path, {key: loose}, {key: strict}), key) == strict
        loaded = load(tmp_path, {key: strict}, {key: loose})
        assert value_of(loaded, key) == strict
    else:
        own, strict, loose = CASES[key]
        assert value_of(load(tmp_path, {key: own}, {key: strict}), key) == strict
        loaded = load(tmp_path, {key: own}, {key: loose})
        assert value_of(loaded, key) == own
    assert len(loaded.warnings) == 1 and "a project can only make it stricter" in loaded.warnings[0]


@pytest.mark.parametrize("key", sorted(setting_scopes.TIGHTEN))
def test_the_order_fits_the_type(key: str) -> None:
    order = setting_scopes.TIGHTEN[key]
    for value in order if isinstance(order, tuple) else (1,):
        assert value_problem(settings_by_key()[key], value) is None


@pytest.mark.parametrize("value", ["yolo ", "YOLO", 1, True, None, [], {"x": 1}, 1.5, "ask\x00"])
def test_odd_values_of_a_project_do_not_loosen(value: Any, tmp_path: Path) -> None:
    wanted = dict.fromkeys(setting_scopes.TIGHTEN, value)
    before = setting_values(load(tmp_path, {}, {}).settings)
    after = setting_values(load(tmp_path, {}, wanted).settings)
    for key in setting_scopes.TIGHTEN:
        assert setting_scopes.tightens(key, after[key], before[key])


def test_a_project_cannot_choose_models_or_switch_off_the_users_instructions(tmp_path: Path) -> None:
    project = {
        "defaultProvider": "evil",
        "defaultModel": "evil/x",
        "modelRoles": {"smol": "evil/x"},
        "retry": {"fallbackChains": {"default": ["evil/x"]}},
        "enabledModels": ["evil/*"],
        "contextFiles": {"enabled": False},
        "statusLine.preset": "minimal",
    }
    loaded = load(tmp_path, {"modelRoles": {"vision": "own/y"}}, project)
    assert loaded.settings.model_roles == {"vision": "own/y"}
    assert loaded.settings.default_provider is None and loaded.settings.retry.fallback_chains == {}
    assert loaded.settings.context_files.enabled and loaded.settings.status_line.preset == "default"
    assert len(loaded.warnings) == 7


def test_flags_and_the_users_own_files_may_loosen_again(tmp_path: Path) -> None:
    paths = user_paths()
    load(tmp_path, {}, {"eval.py": False, "tools.approvalMode": "ask"})
    flags = {"tools.approvalMode": "yolo", "eval.py": True}
    assert load_settings(paths, tmp_path, flags=flags).settings.tools.approval_mode == "yolo"
