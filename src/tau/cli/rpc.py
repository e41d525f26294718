"""`tau --mode rpc`: keeps stdout for the protocol and serves a program."""

import os
from contextlib import closing
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from tau.base.errors import UsageError
from tau.base.files import STDOUT, OwnStdout
from tau.base.sizes import MIB
from tau.cli.parse import ParsedArgs
from tau.cli.signals import Signals
from tau.cli.stdin import STDIN
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.settings import Settings
from tau.modes.line_input import LineReader
from tau.modes.rpc.event_encoder import RpcEventEncoder
from tau.modes.rpc.queued_output import QueuedOutput
from tau.modes.rpc.server import RpcOptions
from tau.modes.rpc.server import run as serve
from tau.sdk import SessionOptions

STDERR = 2
MAX_LINE_BYTES = 50 * MIB
NO_WORDS = "RPC mode takes no prompts or @files on the command line; send a prompt command."
DEFAULT_SECTIONS = ("todo", "task", "async", "bash.autoBackground")
"""Settings for people: with them, a program would see another agent on every machine."""


async def run(parsed: ParsedArgs, options: SessionOptions, signals: Signals) -> int:
    """Serve until the input ends; returns the exit code. Raises TauError."""
    if parsed.words:
        raise UsageError(NO_WORDS)
    settings = load_settings(
        user_paths(), options.cwd, files=options.config_files, flags=options.settings
    ).settings
    encoder = RpcEventEncoder(
        snapshots=parsed.value("snapshots") != "none", plain_errors=parsed.value("rpc-version") == "1"
    )
    lines = LineReader(STDIN, MAX_LINE_BYTES)
    signals.stop = lines.close
    rpc = RpcOptions(
        session=replace(options, settings={**_default_settings(), **options.settings}),
        asks=parsed.value("mode") == "rpc-ui",
        naming=bool(os.environ.get("TAU_RPC_EMIT_TITLE")),
        dialog_timeout_s=settings.rpc.dialog_timeout,
    )
    with closing(QueuedOutput(reserve_stdout(), on_over=lines.close)) as out:
        return await serve(rpc, lines, out, encoder)


def reserve_stdout() -> int:
    """A descriptor for the protocol; what anything else prints to stdout goes to stderr."""
    os.dup2(STDERR, STDOUT)
    return OwnStdout.fd


def _default_settings() -> dict[str, Any]:
    """The default of each setting in `DEFAULT_SECTIONS`, by dotted key."""
    found: dict[str, Any] = {}

    def collect(prefix: str, values: dict[str, Any]) -> None:
        for name, value in values.items():
            key = f"{prefix}{name}"
            if isinstance(value, dict):
                collect(f"{key}.", value)
            elif key.startswith(tuple(f"{section}." for section in DEFAULT_SECTIONS)):
                found[key] = value

    collect("", to_builtins(Settings()))
    return found
