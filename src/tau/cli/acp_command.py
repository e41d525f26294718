"""`tau acp`: keeps stdout for the protocol and serves an editor."""

from contextlib import closing

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.parse import ParsedArgs
from tau.cli.rpc import MAX_LINE_BYTES, reserve_stdout
from tau.cli.signals import Signals
from tau.cli.stdin import STDIN
from tau.modes.line_input import LineReader
from tau.modes.rpc.queued_output import QueuedOutput
from tau.sdk import SessionOptions

server = late("tau.modes.acp.server")

NO_WORDS = "tau acp takes no prompts or @files; the editor sends them."
MISSING = "tau acp needs the package agent-client-protocol; install it with: pip install 'tau-agent[acp]'."


async def run(parsed: ParsedArgs, options: SessionOptions, signals: Signals) -> int:
    """Serve until the input ends; returns the exit code. Raises TauError."""
    if parsed.words:
        raise UsageError(NO_WORDS)
    try:
        serve = server.run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "acp":
            raise
        raise UsageError(MISSING) from None
    lines = LineReader(STDIN, MAX_LINE_BYTES)
    signals.stop = lines.close
    with closing(QueuedOutput(reserve_stdout(), on_over=lines.close)) as out:
        return await serve(options, lines, out)
