"""The built-in commands; help, completion and the documentation read them from here."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tau.base.late import late

difflib = late("difflib")
synonyms = late("tau.modes.command_synonyms")

NEAR, VERY_NEAR = 0.6, 0.7
"""How similar a name is that may be meant; `VERY_NEAR` if the text could also be a message."""
ANY_TIME, IDLE = True, False
"""Whether a command is available while the agent is working."""


class SlashCommand(NamedTuple):
    """`usage` lists the arguments; `module` and `function` locate the implementation."""

    name: str
    usage: str
    description: str
    module: str
    function: str
    aliases: tuple[str, ...]
    while_busy: bool
    group: str

    @property
    def typed(self) -> str:
        """The command line, with its arguments."""
        return f"/{self.name} {self.usage}".rstrip()


_TABLE = {
    "Conversation": (
        ("plan", "[PROMPT|review|off]", "Plan without making changes", "conversation.plan", ANY_TIME),
        ("retry", "", "Retry the last failed or stopped turn", "conversation.retry", IDLE),
        (
            *("queue", "[edit N|drop N|back|clear]"),
            *("Show or edit queued messages", "conversation.queue", ANY_TIME),
        ),
        ("copy", "[last]", "Copy part of the conversation", "display.copy", ANY_TIME),
        (
            *("review", "[BRANCH|COMMIT] [FOCUS]"),
            *("Let agents review changes, a branch or a commit", "review.review", IDLE),
        ),
        ("commit", "[--split] [CONTEXT]", "Commit what is staged", "commit.commit", IDLE),
        ("init", "[INSTRUCTIONS]", "Write AGENTS.md for this project", "conversation.init", IDLE),
    ),
    "Sessions": (
        ("new clear", "", "Start a new session", "session.new", IDLE),
        ("resume", "[ID]", "Resume another session", "session.resume", IDLE),
        ("name rename", "[NAME]", "Show or set the session name", "session.name", ANY_TIME),
        ("session status", "[delete]", "Show session info, or delete it", "session.session", ANY_TIME),
        (
            *("rewind", "", "Go back to a message: conversation, files or both"),
            *("session.rewind", IDLE),
        ),
        ("tree", "", "Browse branches and continue from any point", "session.tree", IDLE),
        ("branch", "", "Branch from an earlier message", "session.branch", IDLE),
        ("goto", "ID", "Continue from this entry", "session.goto", IDLE),
        ("fork", "", "Continue in a copy of this session", "session.fork", IDLE),
        ("share", "", "Put this conversation into a secret gist", "share.share", IDLE),
        (
            "export",
            "[FILE.html|.md|.json]",
            "Export the session to a file, with secrets masked",
            *("export.export", ANY_TIME),
        ),
        ("dump", "", "Copy the whole conversation as text", "export.dump", ANY_TIME),
    ),
    "Context and cost": (
        ("compact", "[FOCUS]", "Summarize older messages to free up context", "conversation.compact", IDLE),
        ("handoff", "[FOCUS]", "Continue in a new session with a summary", "conversation.handoff", IDLE),
        ("shake", "", "Drop large tool output from context", "conversation.shake", IDLE),
        ("context", "", "Show what fills the context window", "context.context", ANY_TIME),
        ("usage cost", "", "Show tokens, cost and plan limits", "context.usage", ANY_TIME),
        ("stats", "[DAYS|all]", "Show tokens and cost across sessions", "context.stats", ANY_TIME),
    ),
    "Work": (
        ("undo", "[list] [N] [PATH ...]", "Undo the agent's file changes", "undo_and_jobs.undo", IDLE),
        ("redo", "", "Redo the last undo", "undo_and_jobs.redo", IDLE),
        (
            "todo",
            "[edit|append|start|done|drop|rm|copy|export|import|clear]",
            "Show or edit the todo list",
            *("todo.todo", ANY_TIME),
        ),
        ("jobs", "[ID|cancel ID]", "Show or stop background jobs", "undo_and_jobs.jobs", ANY_TIME),
        (
            *("ports", "[PORT|stop PORT]", "Show or forward ports of the sandbox"),
            *("sandbox_ports.ports", ANY_TIME),
        ),
        (
            *("permissions", "[MODE|allow|ask|deny PATTERN|remove PATTERN]"),
            *("Show or change the permission mode and rules", "permissions.permissions", ANY_TIME),
        ),
        ("tools", "", "Show the model's tools", "context.tools", ANY_TIME),
        ("add-dir", "[FOLDER]", "Show or add workspace folders", "session.add_dir", ANY_TIME),
        (
            *("extensions", "[all|enable NAME|disable NAME]"),
            *(
                "Show what was found: skills, commands, hooks",
                "extensions.extensions",
                ANY_TIME,
            ),
        ),
        (
            *("lsp", "[restart|check FILE]"),
            *("Show language servers, or check files", "lsp.lsp", ANY_TIME),
        ),
        ("browser", "[headless|visible]", "Open tabs without or with a window", "browser.browser", ANY_TIME),
        (
            *("memory", "[VERB ...]"),
            *("Show, change and repair long-term memory", "memory.memory", ANY_TIME),
        ),
        (
            "marketplace",
            "[VERB NAME]",
            "Show, add and remove marketplaces",
            "extensions.marketplace",
            ANY_TIME,
        ),
        ("agents", "[stop ID|all] [VERB ID]", "List, stop and message subagents", "agents.agents", ANY_TIME),
        ("hub", "", "Watch, message and stop subagents", "agents.hub", ANY_TIME),
        ("plugins", "", "Show plugins and Python extensions", "extensions.plugins", ANY_TIME),
        ("reload-plugins", "", "Load Python extensions again", "extensions.reload_plugins", IDLE),
        ("mcp", "[VERB ...]", "Show, add, test and call MCP servers", "mcp.mcp", ANY_TIME),
        (
            *("omfg", "COMPLAINT"),
            *("Turn a complaint about the agent into a rule", "omfg.omfg", IDLE),
        ),
        (
            *("hooks", "[enable ID|disable ID]"),
            *("Show command hooks and what they did", "hooks.hooks", ANY_TIME),
        ),
        ("trust", "[remove]", "Review and trust what this repository could run", "trust.trust", ANY_TIME),
    ),
    "Model and display": (
        ("model", "[NAME[:LEVEL]]", "Choose the model", "display.model", ANY_TIME),
        ("thinking", "[LEVEL]", "Choose the thinking level", "display.thinking", ANY_TIME),
        ("fast", "[on|off|status]", "Ask for faster answers at a higher price", "display.fast", ANY_TIME),
        ("theme", "[NAME]", "Choose the theme", "display.theme", ANY_TIME),
        ("settings config", "", "View and change settings", "display.settings", ANY_TIME),
        ("hotkeys", "", "Show keyboard shortcuts", "display.hotkeys", ANY_TIME),
        ("transcript", "", "Open the transcript: full output, search, copy", "display.transcript", ANY_TIME),
    ),
    "tau": (
        ("help", "[COMMAND]", "Show help for all commands or one", "general.help", ANY_TIME),
        ("login", "[PROVIDER]", "Add an API key or log in", "login.login", ANY_TIME),
        ("logout", "[PROVIDER]", "Remove stored keys and logins", "login.logout", ANY_TIME),
        ("changelog", "[full]", "Show what's new", "general.changelog", ANY_TIME),
        ("reload", "", "Reload settings, keys and commands", "reload.reload", IDLE),
        ("doctor", "", "Check the sandbox, keys, permissions and programs", "doctor.doctor", ANY_TIME),
        ("debug", "", "Show logs, requests and debug reports", "general.debug", ANY_TIME),
        ("exit quit", "", "Quit", "general.exit", ANY_TIME),
    ),
}


def _rows() -> list[SlashCommand]:
    rows = []
    for group, members in _TABLE.items():
        for names, usage, description, place, while_busy in members:
            name, *aliases = names.split()
            module, _, function = place.partition(".")
            rows.append(
                SlashCommand(name, usage, description, module, function, tuple(aliases), while_busy, group)
            )
    return rows


GROUPS = tuple(_TABLE)
ROWS: dict[str, SlashCommand] = {row.name: row for row in _rows()}
ALIASES: dict[str, str] = {alias: row.name for row in ROWS.values() for alias in row.aliases}


def find(name: str) -> SlashCommand | None:
    """Find a command by name or alias."""
    return ROWS.get(ALIASES.get(name, name))


def suggest(name: str, cutoff: float, more: Iterable[str] = ()) -> list[str]:
    """What an unknown name may mean: by meaning, or else by spelling; `more` are names from elsewhere."""
    meant = [command for command in synonyms.meant(name) if command in ROWS]
    if meant:
        return meant[: synonyms.MOST]
    return difflib.get_close_matches(name.lower(), [*ROWS, *ALIASES, *more], 1, cutoff)


def did_you_mean(names: Sequence[str]) -> str:
    """The question after an unknown name; empty without suggestions."""
    return f" Did you mean {' or '.join(f'/{name}' for name in names)}?" if names else ""


PLAIN = {
    "plan": "",
    "name": "[NAME]",
    "session": "",
    "tree": "[WORDS]",
    "goto": "ID",
    "export": "[FILE.html|.md|.json]",
    "compact": "[FOCUS]",
    "handoff": "[FOCUS]",
    "shake": "",
    "context": "",
    "usage": "",
    "undo": "[N] [PATH ...]",
    "redo": "",
    "jobs": "",
    "trust": "[remove]",
    "permissions": "[MODE|allow|ask|deny PATTERN|remove PATTERN]",
    "model": "[NAME[:LEVEL]]",
    "help": "",
    "exit": "",
}
"""The commands of `tau --plain`, each with its arguments there."""

_SIGNS = "-_.:"


def split(text: str) -> tuple[str, str]:
    """The command name and the text after it; an empty name if the text is not a command."""
    if not text.startswith("/"):
        return "", ""
    head, _, _ = text.partition("\n")
    words = head[1:].split(None, 1)
    name = words[0] if words and not head[1:2].isspace() else ""
    if not name[:1].isalnum() or not all(letter.isalnum() or letter in _SIGNS for letter in name):
        return "", ""
    return name, text[1 + len(name) :].strip()
