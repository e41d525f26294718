"""Remembers how strict a project's settings were, and says when they have become looser.

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
from tau.base.files import mode_of
from tau.base.text import clean_line, shortened
from tau.config.descriptions import show_value
from tau.config.json_file import change_json, read_json
from tau.config.layers import LoadedSettings
from tau.config.paths import PROJECT_FOLDER, Paths, project_dir, project_folders
from tau.config.setting_scopes import TIGHTEN, tightens
from tau.config.setting_table import setting_values

RULE_LISTS = ("tools.ask", "tools.deny")
MAX_PROJECTS = 500
MAX_SHOWN_CHARS = 300


def check_rules(cwd: Path, paths: Paths, loaded: LoadedSettings, *, remember: bool) -> list[str]:
    """A sentence for each setting of this project that became looser since the user's last session here.

    Unless `remember`, it will be reported again: nobody saw it.
    """
    store = paths.project_rules
    now = {key: value for key, value in loaded.project.items() if key in RULE_LISTS or key in TIGHTEN}
    if not now and not mode_of(store):
        return []
    folders = [os.path.realpath(folder) for folder in project_folders(cwd)]
    own = project_dir(cwd, paths)
    place = folders[-1] if own is None else os.path.realpath(own.parent)
    try:
        known = convert(read_json(store).content, dict[str, dict[str, Any]])
        before = next((known[folder] for folder in folders if folder in known), {})
        file = Path(place) / PROJECT_FOLDER / "settings.json"
        notices = [
            f"Since your last session, this project {change}. If that was not you, restore it in {file}."
            for change in _loosened(before, loaded)
        ]
        if before != now and (remember or not notices):
            change_json(store, lambda members: _store(members, place, now), mode=0o600)
    except (ConfigError, ValidationError) as error:
        log.error("The remembered rules of projects cannot be used.", error)
        return [f"{store} is not readable, so tau does not notice if this project's rules become looser."]
    return notices


def _loosened(before: Mapping[str, Any], loaded: LoadedSettings) -> Iterator[str]:
    """What the project said before and no longer has an effect, as the end of a sentence."""
    effective = setting_values(loaded.settings) if before else {}
    for key, old in before.items():
        if key in RULE_LISTS:
            gone = [f'"{rule}"' for rule in old if rule not in effective[key]]
            if gone:
                yield f"dropped {shortened(clean_line(', '.join(gone)), MAX_SHOWN_CHARS)} from {key}"
        elif key in TIGHTEN:
            # A flag of this run is the user's own decision.
            values = (loaded.project.get(key), effective[key])
            if not any(tightens(key, value, old) for value in values):
                yield f"loosened {key} from {show_value(old)} to {show_value(effective[key])}"


def _store(members: dict[str, Raw], place: str, rules: Mapping[str, Any]) -> None:
    members.pop(place, None)
    for oldest in list(members)[: max(0, len(members) - MAX_PROJECTS + 1)]:
        del members[oldest]
    members[place] = Raw(json.encode(rules))
