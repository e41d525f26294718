"""The --help text and the flag table in the docs, generated from `flags.py`."""

from tau.cli.flags import FLAGS, GROUPS, subcommands

HEAD = """\
tau, a coding agent for the terminal and for programs

usage: tau [FLAGS] [MESSAGE...] [@FILE...]
       tau -p "explain this" @src/app.py
       git diff | tau -p "review this"
"""

TAIL = """\
In a terminal, `tau` opens a conversation and `tau "text"` starts it with that message; elsewhere it prints
the answer and exits. Several messages are sent in turn. @FILE adds a text file or an image. Piped input is
read to the end and precedes the message. Put `--` before a message that starts with a dash.

API keys, safest first: `auth.json` in ~/.tau/agent, a variable such as ANTHROPIC_API_KEY, --api-key.
Exit codes: 0 success, 1 failure, 2 usage error, 3 background jobs stopped, 75 temporary failure, 129 hangup,
130 interrupted, 141 output pipe closed, 143 terminated.
TAU_HOME replaces ~/.tau/agent, TAU_TIMING=1 reports startup time, TAU_DEBUG=1 logs tracebacks.
"""

WIDTH = 110


def help_text() -> str:
    rows = [(flag.group, flag.usage, flag.help) for flag in FLAGS]
    rows += [("Commands", f"tau {command.usage}", command.help) for command in subcommands()]
    column = max(len(usage) for _, usage, _ in rows) + 4
    parts = [HEAD]
    for group in (*GROUPS, "Commands"):
        lines = [_row(usage, text, column) for row_group, usage, text in rows if row_group == group]
        parts.append(f"{group}:\n{''.join(lines)}")
    return "\n".join([*parts, TAIL])


def markdown_table() -> str:
    """All flags and subcommands as a Markdown table."""
    rows = [(flag.usage, flag.help) for flag in FLAGS]
    rows += [(f"tau {command.usage}", command.help) for command in subcommands()]
    cells = [(usage.replace("|", "\\|"), text) for usage, text in rows]
    lines = [f"| `{usage}` | {text} |" for usage, text in cells]
    return "\n".join(["| flag | description |", "|---|---|", *lines, ""])


def _row(usage: str, text: str, column: int) -> str:
    lines = [f"  {usage}".ljust(column)]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > WIDTH:
            lines.append(" " * column)
        lines[-1] += word if len(lines[-1]) == column and lines[-1].endswith(" ") else f" {word}"
    return "".join(f"{line}\n" for line in lines)
