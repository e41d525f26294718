"""`tau review`: agents review a change; findings by priority, as text or JSON, and as an exit code."""

from tau.base.errors import TauError, UsageError
from tau.cli.json_output import write_json
from tau.cli.main import run_mode, write_stdout
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.task.code_review import ReviewReport, run_review
from tau.coding.task.report_finding import PRIORITIES
from tau.config.paths import repo_root
from tau.modes.exit_status import DONE, FAILED
from tau.modes.output_stream import tell
from tau.modes.review_targets import UNCOMMITTED, changed_files, since
from tau.sdk import SessionOptions, create_session


def start(words: list[str]) -> int:
    """Run the subcommand. Raises TauError."""
    parsed = parse_subcommand("review", words, common=True)
    if parsed.words:
        raise UsageError(usage_line("review"))
    return run_mode(parsed, "review")


async def run(parsed: ParsedArgs, options: SessionOptions) -> int:
    """Review once; returns the exit code. Raises TauError."""
    limit = next((one for one in PRIORITIES if one == (parsed.value("fail-on") or "").upper()), None)
    if parsed.value("fail-on") is not None and limit is None:
        raise UsageError(f'--fail-on is one of {", ".join(PRIORITIES)}, not "{parsed.value("fail-on")}".')
    if repo_root(options.cwd) is None:
        raise UsageError("tau review needs a Git repository; this folder is not in one.")
    base = parsed.value("base")
    target = UNCOMMITTED if base is None else await since(options.cwd, base)
    files = await changed_files(options.cwd, target)
    if not files:
        report = ReviewReport(target.subject, [], [], 0, 0.0)
    else:
        async with create_session(options) as session:
            if session.team is None:
                raise TauError("This session has no agents.")
            report = await run_review(session.team(), target.subject, target.how, files)
    if parsed.has("json"):
        write_json(report)
    else:
        write_stdout(report.text() + "\n" if files else f"There is nothing to review in {target.subject}.\n")
    for one in report.failed:
        tell(f"{one.id} did not finish: {one.error}")
    return FAILED if report.failed or (limit is not None and report.at_least(limit)) else DONE
