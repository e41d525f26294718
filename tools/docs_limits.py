"""The limits listed on the tool pages, with the values in the code."""

from tau.ai.images import MAX_IMAGE_BYTES
from tau.backends.browser import tabs
from tau.backends.browser.guest import limits as tab_limits
from tau.backends.dap import output as dap_output
from tau.backends.dap import programs, stop_report
from tau.backends.kernels import cells, pool
from tau.backends.lsp import documents as lsp_documents
from tau.backends.ssh import connections, hosts
from tau.backends.syntax.languages import MAX_PARSED_CHARS, MAX_SUMMARY_BYTES, MAX_SUMMARY_LINES
from tau.backends.syntax.pattern_parser import MAX_PATTERN_CHARS
from tau.backends.syntax.summary import SummaryOptions
from tau.base.sizes import format_bytes
from tau.coding import images
from tau.coding.debug import actions as debug_actions
from tau.coding.edits import change, transaction
from tau.coding.files import path_arguments, source_files
from tau.coding.jobs import session_jobs
from tau.coding.lsp import actions as lsp_actions
from tau.coding.lsp import answers as lsp_answers
from tau.coding.lsp import refactorings as lsp_refactorings
from tau.coding.output import ARTIFACT_CAP_BYTES, OutputLimits
from tau.coding.readers import directory, large_file, text
from tau.coding.readers.archives import archive
from tau.coding.readers.archives.index import ArchiveLimits
from tau.coding.readers.documents import limits as document_limits
from tau.coding.readers.sqlite import connection, rows, selector
from tau.coding.search import fallback_search, hits, pages
from tau.coding.session import checkpoints as session_checkpoints
from tau.coding.todo import list as todo_list
from tau.coding.tools import (
    ast_edit,
    ast_grep,
    browser,
    browser_output,
    find,
    inspect_image,
    job,
    lsp,
    rewind,
    search,
    ssh,
    write,
)
from tau.config.settings import Settings
from tau.hashline import preview, snapshots

Row = tuple[str, str]

OUTPUT = OutputLimits()
ARCHIVE = ArchiveLimits()
SETTINGS = Settings()
SUMMARY = SummaryOptions()
IMAGE = images.ImageLimits()
SCREENSHOT = browser_output.SCREENSHOT


def count(number: float, noun: str = "") -> str:
    return f"{number:,g} {noun}".strip() if number < 1_000_000 else f"{number:,.0f} {noun}".strip()


def setting(amount: str, key: str) -> str:
    return f"{amount} (`{key}`)"


def matches(several: str, one: str) -> list[Row]:
    """Return the limits of tools that show matches."""
    return [
        ("files on a page", count(pages.PAGE_FILES)),
        (several, count(pages.MATCHES_PER_FILE)),
        (one, count(pages.MATCHES_IN_ONE_FILE)),
        ("text of a page", format_bytes(pages.MAX_BYTES)),
        ("line, in characters", count(pages.MAX_COLUMNS)),
    ]


CODE = [
    ("file that is parsed", format_bytes(MAX_PARSED_CHARS)),
    ("files of one call", count(source_files.MAX_FILES)),
    ("pattern, in characters", count(MAX_PATTERN_CHARS)),
    ("time", count(source_files.SECONDS, "s")),
]

LIMITS: dict[str, list[Row]] = {
    "read": [
        ("lines without a selector", setting(count(SETTINGS.read.default_limit), "read.defaultLimit")),
        ("lines of one call", count(OUTPUT.lines)),
        ("text of one call", format_bytes(OUTPUT.bytes)),
        ("line, in characters", count(OUTPUT.columns)),
        ("lines shown around a range", f"{text.LINES_BEFORE} before, {text.LINES_AFTER} after"),
        ("file that gets a tag", format_bytes(large_file.LARGE_BYTES)),
        (
            "file of code shown in brief",
            f"{count(SUMMARY.min_total_lines)} to {count(MAX_SUMMARY_LINES)} lines, "
            f"{format_bytes(MAX_SUMMARY_BYTES)}",
        ),
        ("entries of a folder inside the one that is shown", count(directory.PER_FOLDER)),
        ("entries of an archive that are listed at once", count(archive.LISTED_ENTRIES)),
        ("archive", f"{format_bytes(ARCHIVE.archive_bytes)}, {count(ARCHIVE.entries)} entries"),
        ("entry of an archive, unpacked", format_bytes(ARCHIVE.entry_bytes)),
        (
            "rows of a table",
            f"{rows.SAMPLE_ROWS} as a sample, {selector.DEFAULT_ROWS} with a selection, "
            f"{selector.MAX_ROWS} with `limit`",
        ),
        ("rows of a query", count(rows.QUERY_ROWS)),
        ("time of a query", count(connection.READ_SECONDS, "s")),
        ("text of a document, in characters", count(document_limits.MAX_TEXT_CHARS)),
        ("time of a document", count(document_limits.SECONDS, "s")),
        ("picture", format_bytes(images.MAX_INPUT_BYTES)),
    ],
    "write": [
        ("file that is compared with what it replaces", format_bytes(write.MAX_DIFFED_BYTES)),
        ("archive that is rewritten, unpacked", format_bytes(ARCHIVE.rewritten_bytes)),
        ("time of a change in a database", count(connection.WRITE_SECONDS, "s")),
    ],
    "edit": [
        ("file", format_bytes(change.MAX_FILE_BYTES)),
        ("files of one edit", count(transaction.MAX_FILES)),
        (
            "texts that are remembered under their tags",
            f"{snapshots.MAX_PATHS} files, {snapshots.MAX_VERSIONS} versions of each, "
            f"{format_bytes(snapshots.MAX_BYTES)}",
        ),
        ("rows that the answer shows of a change", count(preview.PREVIEW_ROWS)),
    ],
    "search": [
        *matches("matches of each, several files searched", "matches of one file searched alone"),
        (
            "lines around a match",
            f"{SETTINGS.search.context_before} before (`search.contextBefore`), "
            f"{SETTINGS.search.context_after} after (`search.contextAfter`)",
        ),
        ("file searched without ripgrep", format_bytes(fallback_search.MAX_FILE_BYTES)),
        ("file that gets a tag", format_bytes(hits.MAX_WHOLE_BYTES)),
        ("entries of `paths`", count(path_arguments.MAX_ENTRIES)),
        ("time", count(search.SECONDS, "s")),
    ],
    "find": [
        ("paths returned", count(find.MAX_RESULTS)),
        ("entries of `paths`", count(path_arguments.MAX_ENTRIES)),
        (
            "time",
            f"{count(find.DEFAULT_SECONDS, 's')}, with `timeout` from {find.MIN_SECONDS:g} "
            f"to {find.MAX_SECONDS:g}",
        ),
    ],
    "bash": [
        ("time", f"{setting(count(SETTINGS.bash.timeout_seconds, 's'), 'bash.timeoutSeconds')}, 1 to 3,600"),
        (
            "output shown",
            setting(f"{SETTINGS.tools.artifact_spill_threshold} KiB", "tools.artifactSpillThreshold"),
        ),
        ("lines shown", count(OUTPUT.lines)),
        (
            "line, in characters",
            setting(count(SETTINGS.tools.output_max_columns), "tools.outputMaxColumns"),
        ),
        ("output kept as an artifact", format_bytes(ARTIFACT_CAP_BYTES)),
    ],
    "job": [
        (
            "wait of a poll",
            f"{setting(SETTINGS.async_.poll_wait_duration, 'async.pollWaitDuration')},"
            f" one of {', '.join(job.POLL_WAITS_S)}",
        ),
        ("running jobs", f"{setting(count(SETTINGS.async_.max_jobs), 'async.maxJobs')}, 1 to 100"),
        ("ended jobs kept", f"{count(session_jobs.MAX_KEPT)}, for {session_jobs.RETENTION_S // 60:g} min"),
        ("results of one call", format_bytes(job.RESULTS.bytes)),
        ("result in a separate message", format_bytes(session_jobs.DELIVERED.bytes)),
        ("time between updates", f"{job.UPDATE_INTERVAL_S * 1000:g} ms"),
    ],
    "ssh": [
        ("time", f"{count(ssh.TIMEOUT_S, 's')}, 1 to {count(ssh.MAX_TIMEOUT_S)}"),
        ("time to connect", count(connections.READY_S, "s")),
        ("idle connection is ended after", count(connections.IDLE_S, "s")),
        ("hosts", count(hosts.MAX_HOSTS)),
        (
            "output shown",
            setting(f"{SETTINGS.tools.artifact_spill_threshold} KiB", "tools.artifactSpillThreshold"),
        ),
        ("lines shown", count(OUTPUT.lines)),
        ("output kept as an artifact", format_bytes(ARTIFACT_CAP_BYTES)),
    ],
    "debug": [
        ("time", "30 s, with `timeout` from 5 to 300"),
        ("sessions at once", "1"),
        ("unused session is ended after", f"{count(600 / 60)} min"),
        ("output kept", format_bytes(dap_output.MAX_OUTPUT_BYTES)),
        ("frames and variables at a stop", f"{stop_report.TOP_FRAMES} and {stop_report.MAX_LOCALS}"),
        ("stack frames", f"20, with `levels` up to {debug_actions.MAX_LEVELS}"),
        ("variables, threads, modules, sources", count(debug_actions.MAX_ROWS)),
        ("memory read", format_bytes(debug_actions.MAX_MEMORY_BYTES)),
        ("programs in a session", count(programs.MAX_TARGETS)),
    ],
    "todo": [
        ("tasks", count(todo_list.MAX_TASKS)),
        ("text of all tasks and notes, in characters", count(todo_list.MAX_TEXT_CHARS)),
        ("reminders after a message", setting(count(SETTINGS.todo.reminders.max), "todo.reminders.max")),
        (
            "closed tasks leave the list after",
            setting(count(SETTINGS.tasks.todo_clear_delay, "s"), "tasks.todoClearDelay"),
        ),
    ],
    "rewind": [
        ("report, in characters", count(rewind.MAX_REPORT_CHARS)),
        ("kept of each message of yours, in characters", count(session_checkpoints.MAX_QUOTE_CHARS)),
    ],
    "eval": [
        ("time of a cell", f"{count(cells.DEFAULT_TIMEOUT_S, 's')}, 1 to {count(cells.MAX_TIMEOUT_S)}"),
        ("kernels at once", count(pool.KernelLimits().count)),
        ("idle kernel is ended after", f"{pool.KernelLimits().idle_s // 60:g} min"),
        (
            "output shown",
            setting(f"{SETTINGS.tools.artifact_spill_threshold} KiB", "tools.artifactSpillThreshold"),
        ),
        ("lines shown", count(OUTPUT.lines)),
        ("parallel work", setting(count(SETTINGS.task.max_concurrency), "task.maxConcurrency")),
    ],
    "ast_grep": [
        *matches("matches of each, several files looked at", "matches of one file looked at alone"),
        ("lines shown of a match", count(ast_grep.LINES_OF_MATCH)),
        *CODE,
    ],
    "lsp": [
        (
            "time",
            f"{lsp.DEFAULT_TIMEOUT_S:g} s, with `timeout` from {lsp.TIMEOUT_S[0]:g} to {lsp.TIMEOUT_S[1]:g}",
        ),
        ("files of a glob", count(lsp_actions.MAX_GLOB_FILES)),
        ("diagnostics shown", count(lsp_answers.MAX_MESSAGES)),
        ("places shown with their lines", count(lsp_answers.MAX_WITH_CONTEXT)),
        ("symbols of the workspace", count(lsp_answers.MAX_SYMBOLS)),
        ("files in a folder that is renamed", count(lsp_refactorings.MAX_RENAME_PAIRS)),
        ("open files of a server", count(lsp_documents.MAX_OPEN)),
    ],
    "browser": [
        (
            "time of a call",
            f"{browser.DEFAULT_TIMEOUT_S} s, {browser.MIN_TIMEOUT_S} to {browser.MAX_TIMEOUT_S}",
        ),
        ("open tabs", setting(count(SETTINGS.browser.max_tabs), "browser.maxTabs")),
        ("idle tab is closed after", f"{tabs.IDLE_S / 60:g} min"),
        (
            "screenshot that the model sees",
            f"{SCREENSHOT.max_width} pixels, {format_bytes(SCREENSHOT.max_bytes)}",
        ),
        ("images of a run", count(browser_output.MAX_IMAGES)),
        ("elements that observe lists", count(tab_limits.MAX_ELEMENTS)),
        ("console messages and requests kept", count(tab_limits.MAX_ENTRIES)),
        ("download", format_bytes(tab_limits.MAX_FILE_BYTES)),
    ],
    "ast_edit": [
        ("patterns of one call", count(ast_edit.MAX_OPS)),
        ("files changed", count(ast_edit.MAX_CHANGED_FILES)),
        ("old and new text together", format_bytes(ast_edit.MAX_STAGED_BYTES)),
        *CODE,
    ],
    "inspect_image": [
        ("file", format_bytes(images.MAX_INPUT_BYTES)),
        (
            "picture that is sent as it is",
            f"{IMAGE.max_width} x {IMAGE.max_height} pixels, {format_bytes(IMAGE.max_bytes)}",
        ),
        ("picture that cannot be made smaller", format_bytes(MAX_IMAGE_BYTES)),
        ("picture that is decoded, in pixels", count(images.MAX_DECODED_PIXELS)),
        ("answer, in tokens", count(inspect_image.MAX_ANSWER_TOKENS)),
    ],
}
