"""The line about command hooks in `tau doctor`."""

import asyncio
from collections.abc import AsyncIterator

from tau.coding.doctor import DoctorCheck, DoctorInput
from tau.coding.supplies import Supplies
from tau.config.layers import load_settings
from tau.config.trust import trust_status
from tau.ext.hooks.hook_files import HookTable, load_hooks

ADVICE = "see tau hooks"


async def check_hooks(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    table = await asyncio.to_thread(_load, given)
    for problem in table.problems:
        yield DoctorCheck(name="hooks", status="warn", text=problem, advice=ADVICE)
    waiting = sum(hook.usage == "waiting" for hook in table.hooks)
    if waiting:
        text = f"{waiting} of this repository wait until you trust it"
        yield DoctorCheck(name="hooks", status="ok", text=text, advice="see tau trust")
    if table.active and not table.problems:
        yield DoctorCheck(name="hooks", status="ok", text=f"{len(table.active)} command hooks", advice=ADVICE)


def _load(given: DoctorInput) -> HookTable:
    settings = load_settings(given.paths, given.cwd).settings
    trusted = trust_status(given.cwd, given.paths).trusted
    return load_hooks(Supplies(given.cwd, given.paths, settings, trusted=trusted).discovery, settings.hooks)
