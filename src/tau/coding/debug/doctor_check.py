"""What `tau doctor` says about debug adapters."""

import asyncio
from collections.abc import AsyncIterator

from tau.backends.dap.config import find_adapters
from tau.coding.doctor import DoctorCheck, DoctorInput
from tau.config.layers import load_settings
from tau.config.trust import trust_status


async def check_debug_adapters(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    """A `CheckSource`: what fits the folder, and what is missing. No adapter is started."""
    if not load_settings(given.paths, given.cwd).settings.debug.enabled:
        yield DoctorCheck(name="debug", status="ok", text="off (debug.enabled is false)")
        return
    trusted = (await asyncio.to_thread(trust_status, given.cwd, given.paths)).trusted
    found = await asyncio.to_thread(find_adapters, given.cwd, given.paths, given.environ, trusted=trusted)
    names = ", ".join(spec.name for spec in found.usable if spec.fits)
    yield DoctorCheck(name="debug", status="ok", text=names or "no debug adapter for this folder")
    served = {kind for spec in found.usable for kind in spec.file_types}
    for spec, why in found.missing:
        if not served & set(spec.file_types):
            yield DoctorCheck(name="debug", status="ok", text=f"{spec.name}: {why}")
    for problem in found.problems:
        yield DoctorCheck(name="debug", status="fail", text=problem, advice="fix the file")
