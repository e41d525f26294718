"""Linters that are no servers: they check one file and print what they found as JSON, as swiftlint does."""

from pathlib import Path

from msgspec import DecodeError, ValidationError, json

from tau.backends.lsp.config import ServerSpec
from tau.backends.lsp.protocol import SEVERITIES, Diagnostic, LspError, Range, TextPosition
from tau.base.run import Limits, Runner, capture
from tau.base.sizes import MIB


async def lint_file(spec: ServerSpec, path: Path, run: Runner, root: Path, wait_s: float) -> list[Diagnostic]:
    """Raises LspError."""
    try:
        async with await run.start(
            [*spec.argv, str(path)], cwd=root, limits=Limits(timeout=wait_s)
        ) as process:
            done = await capture(process, max_bytes=4 * MIB)
    except OSError as error:
        raise LspError(f"{spec.name} cannot be started ({error.strerror})") from None
    if done.exit.timed_out:
        raise LspError(f"no answer from {spec.name} in {wait_s:g} s")
    text = done.output.decode("utf-8", "replace")
    try:
        rows = json.decode(text[text.index("[") :], type=list[dict[str, str | int | None]])
        return [_diagnostic(spec, row) for row in rows]
    except (DecodeError, ValidationError, ValueError, TypeError):
        raise LspError(f"{spec.name} printed no list of problems (exit code {done.exit.code})") from None


def _diagnostic(spec: ServerSpec, row: dict[str, str | int | None]) -> Diagnostic:
    at = TextPosition(int(row.get("line") or 1) - 1, int(row.get("character") or 1) - 1)
    severity = SEVERITIES.index("error" if str(row.get("severity")).lower() == "error" else "warning")
    return Diagnostic(Range(at, at), row.get("reason"), severity, row.get("rule_id"), spec.name)
