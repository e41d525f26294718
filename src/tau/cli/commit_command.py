"""`tau commit`: commits what is staged, with a message that a model writes."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.cli.signals import Signals
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.cli.working_folder import resolve_working_folder
from tau.coding.commit.committer import CommitOptions, CommitResult, Committer, Proposal
from tau.coding.commit.writer import CommitModel
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.secret_mask import mask_known_secrets
from tau.modes.exit_status import DONE, FAILED
from tau.modes.output_stream import tell

assembler = late("tau.ai.assembler")
sdk = late("tau.sdk")


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("commit", words, common=True)
    if parsed.words:
        raise UsageError(usage_line("commit"))
    can_ask = os.isatty(0) and os.isatty(1) and not parsed.has("json")
    if parsed.has("split") and not (can_ask or parsed.has("yes") or parsed.has("dry-run")):
        raise UsageError("--split asks before it commits, which needs a terminal; pass --yes or --dry-run.")
    return asyncio.run(_run(parsed, can_ask=can_ask))


async def _run(parsed: ParsedArgs, *, can_ask: bool) -> int:
    cwd = resolve_working_folder(parsed.value("cwd"))
    paths = user_paths(os.environ)
    mask_known_secrets(os.environ, paths)
    settings = load_settings(paths, cwd).settings
    options = CommitOptions(
        split=parsed.has("split"),
        all=parsed.has("all"),
        push=parsed.has("push"),
        dry_run=parsed.has("dry-run"),
        changelog=not parsed.has("no-changelog"),
        one_call=parsed.has("legacy"),
        context=parsed.value("context") or "",
    )
    model = parsed.value("model")
    async with AsyncExitStack() as services:
        connected: list[CommitModel] = []

        async def connect() -> CommitModel:
            if not connected:
                wanted = sdk.SessionOptions(
                    cwd=cwd,
                    provider=parsed.value("provider"),
                    model=model,
                    base_url=parsed.value("base-url"),
                    config_files=tuple(typed_path(name) for name in parsed.all("config")),
                )
                connection = await services.enter_async_context(sdk.connect(wanted, os.environ))
                role = "default" if model else connection.roles.first_of("commit", "smol")
                chosen = connection.model if model else connection.roles.role(role)
                complete = partial(assembler.complete, connection.stream)
                connected.append(CommitModel(complete, chosen, connection.roles.level(role) or "off"))
            return connected[0]

        async def approve(proposal: Proposal) -> bool:
            if options.dry_run or parsed.has("json"):
                return True
            write_stdout(proposal.describe() + "\n\n")
            if not can_ask or parsed.has("yes"):
                return True
            count = len(proposal.plan.commits)
            question = f"Make these {count} commits? [Y/n] " if count > 1 else "Commit? [Y/n] "
            answer = await asyncio.to_thread(_ask, question)
            return answer.strip().lower() in ("", "y", "yes")

        runner = LocalRunner(shell=settings.shell_path, pass_env=settings.tools.pass_env)
        services.callback(runner.close)
        with Signals() as signals:
            try:
                result = await Committer(cwd, runner, settings.commit, connect, approve).commit(options)
            except asyncio.CancelledError:
                if signals.code is None:
                    raise
                tell("Stopped; nothing was committed.")
                return signals.code
        if result is None:
            tell("Not committed.")
            return FAILED
        return _show(result, as_json=parsed.has("json"))


def _ask(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.readline() or "n"


def _show(result: CommitResult, *, as_json: bool) -> int:
    if as_json:
        return write_json(result)
    if result.dry_run:
        text = "\n\n".join(result.messages)
        if result.fallback:
            tell(f"Written without a model: {result.fallback}")
        return write_stdout(text + "\n")
    lines = [
        f"{commit[:10]} {message.splitlines()[0]}"
        for commit, message in zip(result.commits, result.messages, strict=True)
    ]
    lines += ["Pushed."] if result.pushed else []
    return write_stdout("\n".join([*lines, ""])) or DONE
