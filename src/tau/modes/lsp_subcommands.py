"""The verbs of `tau lsp` and `/lsp`: status, restart, check."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from tau.backends.lsp.pool import LanguageServers
from tau.backends.lsp.protocol import LspError
from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.json_rpc import JsonRpcError
from tau.coding.lsp.actions import status_text
from tau.coding.lsp.answers import count_levels, report_notes, row_lines, rows_of
from tau.coding.output import DiagnosticRow

COLD_WAIT_S = 30.0
MAX_FILES = 1_000
VERBS = ("status", "restart", "check")
USAGE = "tau lsp status | restart [NAME] | check FILE... [--json]"


class LspReport(Struct, frozen=True):
    """What a verb did: a text, the same as data, and whether it went well."""

    text: str
    data: Any = None
    ok: bool = True


async def run_verb(servers: LanguageServers, words: Sequence[str]) -> LspReport:
    """Raises UsageError."""
    match [word for word in words if word != "--json"]:
        case [] | ["status"]:
            return LspReport(await status_text(servers), to_builtins(servers.rows()))
        case ["restart", *names]:
            return await _restart(servers, names)
        case ["check", *files] if files:
            return await _check(servers, [typed_path(file) for file in files])
    raise UsageError(f"Usage: {USAGE}")


async def _restart(servers: LanguageServers, names: Sequence[str]) -> LspReport:
    await servers.look_again(force=True)
    usable = {spec.name: spec for spec in servers.found.usable if not spec.prints_json}
    unknown = [name for name in names if name not in usable]
    if unknown:
        raise UsageError(
            f'There is no language server "{unknown[0]}" here; there are: {", ".join(usable) or "none"}.'
        )
    lines, ok = [], True
    for name in names or usable:
        try:
            lines.append(await servers.reload(usable[name]))
        except (LspError, JsonRpcError) as error:
            lines.append(f"Failed to restart {name}: {error}")
            ok = False
    return LspReport("\n".join(lines) or "No language servers configured for this project", lines, ok)


async def _check(servers: LanguageServers, files: Sequence[Path]) -> LspReport:
    """Check files; not well if there are errors, or a server did not answer."""
    if len(files) > MAX_FILES:
        raise UsageError(f"At most {MAX_FILES:,} files can be checked at once.")
    rows: list[DiagnosticRow] = []
    notes: list[str] = []
    for file in files:
        path = servers.cwd / file
        if not path.is_file():
            raise UsageError(f"There is no file {file}.")
        if not servers.for_file(path):
            notes.append(f"{file}: no language server")
            continue
        report = await servers.check(path, wait_s=COLD_WAIT_S, cold_wait_s=COLD_WAIT_S)
        rows += rows_of(path, servers.cwd, report.diagnostics)
        notes += [f"{file}: {note}" for note in report_notes(report, COLD_WAIT_S)]
    lines = [*([f"{count_levels(rows)}:"] if rows else []), *row_lines(rows, len(rows)), *notes]
    ok = not notes and not any(row.level == "error" for row in rows)
    return LspReport("\n".join(lines) or "OK", {"diagnostics": to_builtins(rows), "notes": notes}, ok)
