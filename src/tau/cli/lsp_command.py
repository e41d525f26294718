"""`tau lsp`: shows and checks language servers, and checks files with them."""

import asyncio
import os
from collections.abc import Sequence

from tau.cli.json_output import write_json
from tau.config.paths import current_folder
from tau.modes.lsp_subcommands import LspReport, run_verb
from tau.modes.output_stream import OutputStream
from tau.sdk.language_servers import language_servers


def run(words: Sequence[str]) -> int:
    """Returns 1 if a check found errors. Raises TauError."""
    done = asyncio.run(_run(words))
    out = OutputStream()
    if "--json" in words:
        write_json(done.data)
    else:
        out.text(f"{done.text}\n")
    return 0 if done.ok else 1


async def _run(words: Sequence[str]) -> LspReport:
    async with language_servers(current_folder(), os.environ) as servers:
        return await run_verb(servers, words)
