"""Remembers how strict a project's settings were, and keeps them so until the user accepts a looser file.

A project's settings file is in the workspace, where an agent, a merge or another program may change it. What
it forbade is kept outside, in the user's `project_rules.json`.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, ValidationError, convert, json

from tau.base import log
from tau.base.errors import ConfigError
from tau.base.sizes import KIB
from tau.base.text import clean_line, shortened
from tau.config.descriptions import show_value
from tau.config.json_file import change_json, read_json
from tau.config.layers import LoadedSettings
from tau.config.paths import PROJECT_FOLDER, Paths, project_dir, project_folders
from tau.config.setting_scopes import TIGHTEN, tightens
from tau.config.setting_table import setting_values

RULE_LISTS = ("tools.ask", "tools.deny")
SETTLED = "settled"  # the project's settings when the user chose to keep the stricter ones
MAX_PROJECTS = 500
MAX_BYTES = 256 * KIB  # of one project; nobody writes so many rules
MAX_SHOWN_CHARS = 300


def dropped_rules(cwd: Path, paths: Paths, loaded: LoadedSettings) -> tuple[dict[str, object], list[str]]:
    """What this project's settings said at the user's last session here and say no more: it still holds.
    A sentence for each, unless the user decided to keep it.
    """
    try:
        before = _remembered(cwd, paths)
    except (ConfigError, ValidationError) as error:
        log.error("The remembered rules of projects cannot be used.", error)
        unknown = f"{paths.project_rules} is not readable, so tau does not notice"
        return {}, [f"{unknown} if this project's rules become looser."]
    dropped = dict(_dropped(before, loaded)) if before else {}
    is_settled = before.get(SETTLED) == _rules(loaded)
    return dropped, [] if is_settled else list(dropped_notices(dropped, cwd, paths))


def dropped_notices(dropped: Mapping[str, Any], cwd: Path, paths: Paths) -> Iterator[str]:
    """A sentence for each dropped rule or setting."""
    file = Path(_place(cwd, paths)) / PROJECT_FOLDER / "settings.json"
    for key, value in dropped.items():
        if key in RULE_LISTS:
            rules = ", ".join(f'"{rule}"' for rule in value)
            change = f"dropped {shortened(clean_line(rules), MAX_SHOWN_CHARS)} from {key}"
        else:
            change = f"no longer sets {key} to {show_value(value)}"
        accept = f"to accept the change of {file}, use /trust or `tau trust add`"
        yield f"Since your last session, this project {change}. That still holds; {accept}."


def remember_rules(cwd: Path, paths: Paths, loaded: LoadedSettings) -> None:
    """Remember the rules of this project, and the dropped ones that still hold."""
    _remember(cwd, paths, _joined(_rules(loaded), loaded.dropped))


def settle_rules(cwd: Path, paths: Paths, loaded: LoadedSettings, *, accept: bool) -> None:
    """Accept what the project dropped, or keep it and do not ask again until the settings change."""
    rules = _rules(loaded)
    _remember(cwd, paths, rules if accept else {**_joined(rules, loaded.dropped), SETTLED: rules})


def _rules(loaded: LoadedSettings) -> dict[str, Any]:
    return {key: value for key, value in loaded.project.items() if key in RULE_LISTS or key in TIGHTEN}


def _joined(rules: Mapping[str, Any], dropped: Mapping[str, Any]) -> dict[str, Any]:
    lists = {key: [*rules.get(key, ()), *dropped[key]] for key in RULE_LISTS if key in dropped}
    return {**rules, **dropped, **lists}


def _dropped(before: Mapping[str, Any], loaded: LoadedSettings) -> Iterator[tuple[str, Any]]:
    """What the project said before and no longer has an effect."""
    effective = setting_values(loaded.settings)
    for key, old in before.items():
        if key in RULE_LISTS:
            if gone := [rule for rule in old if rule not in effective[key]]:
                yield key, gone
        elif key in TIGHTEN:
            # A flag of this run is the user's own decision.
            values = (loaded.project.get(key), effective[key])
            if not any(tightens(key, value, old) for value in values):
                yield key, old


def _remembered(cwd: Path, paths: Paths) -> dict[str, object]:
    """What is known of the nearest folder. Raises ConfigError or ValidationError."""
    known = convert(read_json(paths.project_rules).content, dict[str, dict[str, Any]])
    folder = next((each for each in map(os.path.realpath, project_folders(cwd)) if each in known), "")
    rules = known.get(folder, {})
    if folder != _place(cwd, paths):  # whose own files ./ means from now on
        for key in rules.keys() & set(RULE_LISTS):
            rules[key] = [rule.replace(": ./", f": {folder}/", 1) for rule in rules[key]]
    return rules


def _place(cwd: Path, paths: Paths) -> str:
    own = project_dir(cwd, paths)
    return os.path.realpath([*project_folders(cwd)][-1] if own is None else own.parent)


def _remember(cwd: Path, paths: Paths, rules: Mapping[str, object]) -> None:
    place, encoded = _place(cwd, paths), json.encode(rules)
    if len(encoded) > MAX_BYTES:
        return

    def store(members: dict[str, Raw]) -> None:
        members.pop(place, None)
        for oldest in list(members)[: max(0, len(members) - MAX_PROJECTS + 1)]:
            del members[oldest]
        members[place] = Raw(encoded)

    try:
        before = _remembered(cwd, paths)
        if SETTLED not in rules:
            before.pop(SETTLED, None)
        if before != rules:
            change_json(paths.project_rules, store, mode=0o600)
    except (ConfigError, ValidationError) as error:
        log.error("The rules of this project cannot be remembered.", error)
