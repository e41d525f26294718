"""What `tau doctor` says about language servers."""

import asyncio
from collections.abc import AsyncIterator

from tau.backends.lsp.config import find_servers
from tau.coding.doctor import DoctorCheck, DoctorInput
from tau.config.layers import load_settings
from tau.config.trust import trust_status


async def check_language_servers(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    """A `CheckSource`: what fits the folder, and what is missing. No server is started."""
    if not load_settings(given.paths, given.cwd).settings.lsp.enabled:
        yield DoctorCheck(name="lsp", status="ok", text="off (lsp.enabled is false)")
        return
    trusted = (await asyncio.to_thread(trust_status, given.cwd, given.paths)).trusted
    found = await asyncio.to_thread(find_servers, given.cwd, given.paths, given.environ, trusted=trusted)
    names = ", ".join(spec.name for spec in found.usable)
    yield DoctorCheck(name="lsp", status="ok", text=names or "no language server for this folder")
    served = {kind for spec in found.usable if not spec.is_linter for kind in spec.file_types}
    for spec, why in found.missing:
        if not served & set(spec.file_types) and (spec.install or "tau trust" in why):
            yield DoctorCheck(name="lsp", status="ok", text=f"{spec.name}: {why}")
    for problem in found.problems:
        yield DoctorCheck(name="lsp", status="fail", text=problem, advice="fix the file")
