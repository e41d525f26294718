"""The working folder and the settings given as flags."""

import stat
from pathlib import Path

from tau.base.errors import UsageError
from tau.base.files import mode_of, typed_path
from tau.cli.parse import ParsedArgs
from tau.config.paths import current_folder


def resolve_working_folder(name: str | None) -> Path:
    folder = typed_path(name) if name else current_folder()
    if not stat.S_ISDIR(mode_of(folder)):
        raise UsageError(f'Folder "{folder}" not found.')
    return folder.resolve()


def is_home(folder: Path) -> bool:
    home = typed_path("~")
    return folder == home or (home.exists() and folder.samefile(home))


def flag_settings(parsed: ParsedArgs) -> dict[str, object]:
    """Settings from flags, which override all files."""
    found: dict[str, object] = {}
    mode = "yolo" if parsed.has("yolo") else parsed.value("approval-mode")
    if mode is not None:
        found["tools.approvalMode"] = mode
    if parsed.has("screen-reader"):
        found["display.screenReader"] = True
    if parsed.has("no-skills"):
        found["skills.enabled"] = False
    if parsed.has("no-rules"):
        found["rules.enabled"] = False
    if (patterns := parsed.value("skills")) is not None:
        found["skills.includeSkills"] = [name for one in patterns.split(",") if (name := one.strip())]
    for flag, setting, kind in (
        ("max-cost", "task.maxTotalCost", float),
        ("max-agents", "task.maxAgents", int),
    ):
        if (typed := parsed.value(flag)) is not None:
            try:
                found[setting] = kind(typed)
            except ValueError:
                raise UsageError(f'--{flag} needs a number, not "{typed}".') from None
    return found


def config_files(parsed: ParsedArgs) -> tuple[Path, ...]:
    return tuple(typed_path(name).absolute() for name in parsed.all("config"))
