"""`tau doctor`: checks this installation, or masks secrets in what it has stored."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import closing

from msgspec import json, to_builtins

from tau.base import secrets
from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.run import LocalRunner
from tau.cli.memory_server import check_memory
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.debug.doctor_check import check_debug_adapters
from tau.coding.doctor import DoctorInput, is_healthy, lines_of, run_checks
from tau.coding.lsp.doctor_check import check_language_servers
from tau.coding.session.storage.redaction import redact_sessions
from tau.coding.session_index.prompt_history import FILE_NAME, PromptHistory
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.secret_mask import make_mask, mask_known_secrets
from tau.ext.hooks.hook_check import check_hooks
from tau.ext.mcp.doctor_check import check_mcp
from tau.modes.output_stream import OutputStream, tell


def run(words: Sequence[str]) -> int:
    """Returns 1 if a check fails, or a file cannot be cleaned."""
    parsed = parse_subcommand("doctor", words)
    if parsed.words or (parsed.has("dry-run") and not parsed.has("redact")):
        raise UsageError(usage_line("doctor"))
    if parsed.has("redact"):
        return _redact(as_json=parsed.has("json"), dry_run=parsed.has("dry-run"))
    return asyncio.run(_check(as_json=parsed.has("json")))


async def _check(*, as_json: bool) -> int:
    paths = user_paths(os.environ)
    mask_known_secrets(os.environ, paths)
    with closing(LocalRunner()) as runner:
        given = DoctorInput(paths=paths, cwd=current_folder(), environ=os.environ, runner=runner)
        checks = await run_checks(
            given, (check_hooks, check_mcp, check_language_servers, check_debug_adapters, check_memory)
        )
    if as_json:
        _print({"ok": is_healthy(checks), "checks": checks})
    else:
        OutputStream().text("".join(f"{line}\n" for line in lines_of(checks)))
    return 0 if is_healthy(checks) else 1


def _redact(*, as_json: bool, dry_run: bool) -> int:
    """Mask secrets in sessions, artifacts, drafts, logs and the prompt history."""
    paths = user_paths(os.environ)
    mask = make_mask(os.environ, paths, tell)
    own = load_settings(paths, current_folder()).settings.session_dir
    folders = [paths.sessions, paths.trash, paths.drafts, paths.logs]
    report = redact_sessions([*folders, *([typed_path(own)] if own else [])], mask, dry_run=dry_run)
    if (paths.home / FILE_NAME).exists():
        with closing(PromptHistory(paths.home / FILE_NAME)) as history:
            history.redact(mask.mask, dry_run=dry_run)
    if not dry_run:
        for suffix in ("", "-wal", "-shm"):  # built again from the sessions
            paths.index.with_name(paths.index.name + suffix).unlink(missing_ok=True)
    if as_json:
        _print({**to_builtins(report), "places": mask.count, "dryRun": dry_run})
        return 1 if report.skipped else 0
    done = "would be masked" if dry_run else "were masked"
    out = OutputStream()
    for path in report.changed:
        out.text(f"{path}\n")
    tell(f"{mask.count:,} secrets in {len(report.changed):,} of {report.files:,} files {done}.")
    for problem in report.skipped:
        tell(f"Skipped {problem}.")
    return 1 if report.skipped else 0


def _print(value: object) -> None:
    OutputStream().write(json.format(secrets.mask_line(json.encode(value)), indent=2) + b"\n")
