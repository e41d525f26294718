"""What a batch did, as a table for people."""

from collections.abc import Mapping, Sequence
from html import escape

from tau.base.text import clean_line, shortened
from tau.modes.batch.run_folder import BatchResult, BatchState
from tau.modes.batch.task import BatchTask
from tau.modes.columns import align_rows

HEAD = ("task", "status", "attempt", "turns", "tokens", "cost", "minutes", "reason")
NUMBERS = frozenset({2, 3, 4, 5, 6})


def result_rows(tasks: Mapping[str, BatchTask], state: BatchState) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key in tasks:
        result = state.results.get(key)
        if result is None:
            rows.append((key, "running" if key in state.open else "waiting", "", "", "", "", "", ""))
        else:
            rows.append(_row(result))
    return rows


def _row(result: BatchResult) -> tuple[str, ...]:
    return (
        result.id,
        result.status,
        str(result.attempt),
        str(result.turns),
        f"{result.tokens:,}",
        f"${result.cost:.4f}",
        f"{result.duration_ms / 60_000:.1f}",
        shortened(clean_line(result.error), 120),
    )


def summary_line(tasks: Mapping[str, BatchTask], state: BatchState) -> str:
    """`8 of 10 tasks done, 1 failed, 1 waiting; $1.20`."""
    counts: dict[str, int] = {}
    for row in result_rows(tasks, state):
        counts[row[1]] = counts.get(row[1], 0) + 1
    done = counts.pop("done", 0)
    rest = "".join(f", {count} {status.replace('_', ' ')}" for status, count in sorted(counts.items()))
    return f"{done} of {len(tasks)} tasks done{rest}; ${state.spent:.2f}"


def markdown_report(tasks: Mapping[str, BatchTask], state: BatchState) -> str:
    lines = [
        "# Batch",
        "",
        f"{summary_line(tasks, state)}.",
        "",
        markdown_table(HEAD, result_rows(tasks, state)),
    ]
    return "\n".join(lines)


def html_report(tasks: Mapping[str, BatchTask], state: BatchState) -> str:
    rows = "\n".join(
        f"<tr class={row[1]}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in result_rows(tasks, state)
    )
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Batch</title><style>'
        "body{font:15px system-ui;margin:2em;color-scheme:light dark}td,th{padding:.2em .8em;text-align:left}"
        "td:nth-child(n+3):nth-child(-n+7){text-align:right}.done td:nth-child(2){color:green}"
        ".failed td:nth-child(2),.check_failed td:nth-child(2){color:#c00}</style>"
        f"<h1>Batch</h1><p>{escape(summary_line(tasks, state))}.</p>"
        f"<table><tr>{head}</tr>\n{rows}</table></html>\n"
    )


def markdown_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int] = NUMBERS
) -> str:
    bar = "".join("---:|" if number in numbers else "---|" for number in range(len(head)))
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", f"|{bar}", *body, ""])


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int] = NUMBERS) -> str:
    return "\n".join([*align_rows((head, *rows), numbers), ""])
