"""The text of --help and the table of flags in the docs, made from `flags.py`."""

from tau.cli.flags import FLAGS, GROUPS, SUBCOMMANDS

HEAD = """\
tau, a coding agent for the terminal and for programs

usage: tau [FLAGS] [MESSAGE...] [@FILE...]
       tau -p "explain this" @src/app.py
       git diff | tau -p "review this"
"""

TAIL = """\
On a terminal, `tau` opens a conversation and `tau "text"` starts it with that message; elsewhere it answers
on stdout and exits. Several messages are sent one after another. @FILE adds a text file or an image. What is
piped in comes before the message and is read to its end. A message that begins with a dash follows `--`.

Keys, safest first: `auth.json` in ~/.tau/agent, a variable such as ANTHROPIC_API_KEY, --api-key.
Exit codes: 0 done, 1 failed, 2 wrong use, 75 failed but worth a retry, 130 interrupted; 129 and 143 ended by
a hangup or TERM, 141 nobody reads the output any more.
TAU_HOME moves ~/.tau/agent, TAU_TIMING=1 shows where start-up time goes, TAU_DEBUG=1 puts traces in the log.
"""

WIDTH = 110


def help_text() -> str:
    rows = [(flag.group, flag.usage, flag.help) for flag in FLAGS]
    rows += [("Commands", f"tau {command.usage}", command.help) for command in SUBCOMMANDS]
    column = max(len(usage) for _, usage, _ in rows) + 4
    parts = [HEAD]
    for group in (*GROUPS, "Commands"):
        lines = [_row(usage, text, column) for row_group, usage, text in rows if row_group == group]
        parts.append(f"{group}:\n{''.join(lines)}")
    return "\n".join([*parts, TAIL])


def markdown_table() -> str:
    """All flags and subcommands as a table for the docs."""
    rows = [(flag.usage, flag.help) for flag in FLAGS]
    rows += [(f"tau {command.usage}", command.help) for command in SUBCOMMANDS]
    cells = [(usage.replace("|", "\\|"), text) for usage, text in rows]
    lines = [f"| `{usage}` | {text} |" for usage, text in cells]
    return "\n".join(["| flag | what it does |", "|---|---|", *lines, ""])


def _row(usage: str, text: str, column: int) -> str:
    lines = [f"  {usage}".ljust(column)]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > WIDTH:
            lines.append(" " * column)
        lines[-1] += word if len(lines[-1]) == column and lines[-1].endswith(" ") else f" {word}"
    return "".join(f"{line}\n" for line in lines)
