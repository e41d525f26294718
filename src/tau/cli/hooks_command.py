"""`tau hooks [list|test|enable|disable]`: which command hooks there are, and what they say to an event."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack

from msgspec import DecodeError, json

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.supplies import Supplies
from tau.config.layers import load_settings
from tau.config.list_settings import add_to_list, remove_from_list
from tau.config.paths import Paths, current_folder, user_paths
from tau.config.trust import trust_status
from tau.ext.hooks.hook_files import EVENTS, HookTable, load_hooks
from tau.ext.hooks.hook_run import HookResult
from tau.ext.hooks.report import STATES, answer_text, status_lines, status_of

testing = late("tau.sdk.hook_test")

ACTIONS = ("list", "test", "enable", "disable")
REFUSED = 1


def run(argv: Sequence[str]) -> int:
    """Run `tau hooks`. Raises TauError."""
    parsed = parse_subcommand("hooks", argv)
    as_json, tool = parsed.has("json"), parsed.value("tool")
    action, *rest = parsed.words or ["list"]
    if tool is not None and action != "test":
        raise UsageError(usage_line("hooks"))
    paths = user_paths(os.environ)
    if action == "list" and not rest:
        return _list(paths, as_json=as_json)
    if action == "test" and 0 < len(rest) < 3 and not as_json:
        return _test(rest, tool or "", paths)
    if action in ("enable", "disable") and len(rest) == 1 and not as_json:
        return _turn(rest[0], paths, on=action == "enable")
    raise UsageError(usage_line("hooks"))


def _table(paths: Paths) -> tuple[HookTable, bool]:
    cwd = current_folder()
    settings = load_settings(paths, cwd).settings
    trusted = trust_status(cwd, paths).trusted
    supplies = Supplies(cwd, paths, settings, trusted=trusted)
    return load_hooks(supplies.discovery, settings.hooks), trusted


def _list(paths: Paths, *, as_json: bool) -> int:
    table, _ = _table(paths)
    rows = [status_of(hook) for hook in table.hooks]
    if as_json:
        return write_json(rows)
    named = {row.why for row in rows}
    others = [text for text in table.problems if not any(why and why in text for why in named)]
    return write_stdout("\n".join([*status_lines(rows), *others, ""]))


def _turn(id: str, paths: Paths, *, on: bool) -> int:
    if on:
        remove_from_list(paths, "hooks.disabled", id)
        return write_stdout(f"{id} runs again.\n")
    table, _ = _table(paths)
    if id not in {hook.id for hook in table.hooks}:
        raise UsageError(f'There is no hook "{id}"; tau hooks list shows their ids.')
    add_to_list(paths, "hooks.disabled", [id])
    return write_stdout(f"{id} is off, in hooks.disabled of your settings.\n")


def _test(words: Sequence[str], tool: str, paths: Paths) -> int:
    """Run the hooks of an event on a sample, as in a session of this folder; 1 if one of them refuses."""
    event, *rest = words
    if event not in EVENTS:
        raise UsageError(f'"{event}" is not an event of hooks; there are {", ".join(EVENTS)}.')
    try:
        given = json.decode(rest[0] if rest else "{}", type=dict)
    except (DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The input must be a JSON object: {error}.") from None
    table, trusted = _table(paths)

    async def main() -> list[HookResult]:
        async with AsyncExitStack() as services:
            return await testing.try_hooks(
                event, tool, given, table, paths, os.environ, services, trusted=trusted
            )

    results = asyncio.run(main())
    lines = [f"{one.hook.id} ({one.hook.place}): {answer_text(one.answer)}, {one.ms} ms" for one in results]
    lines += [
        f"{hook.id} ({hook.place}): {STATES[hook.usage]}"
        for hook in table.hooks
        if hook.event == event and hook.usage in STATES
    ]
    lines = lines or [f"No hook of {event} matches."]
    code = write_stdout("\n".join([*lines, ""]))
    is_refused = any(one.answer.failure or one.answer.decision == "deny" for one in results)
    return REFUSED if is_refused else code
