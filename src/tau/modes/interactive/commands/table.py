"""The commands that come with tau, as rows: help, completion and the documentation read them from here."""

from typing import NamedTuple

ANY_TIME, IDLE = True, False
"""Whether a command can be used while the agent is at work."""


class SlashCommand(NamedTuple):
    """`usage` is what may stand behind the name; `module` and `function` say who does it."""

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
        """How it is typed, with its arguments."""
        return f"/{self.name} {self.usage}".rstrip()


_TABLE = {
    "Conversation": (
        ("plan", "[PROMPT|review|off]", "Let the agent look and plan only", "conversation.plan", ANY_TIME),
        ("retry", "", "Send the turn again that failed or was stopped", "conversation.retry", IDLE),
        (
            "queue",
            "[edit N|drop N|back|clear]",
            "Show what waits to be sent, or take it back",
            *("conversation.queue", ANY_TIME),
        ),
        ("copy", "[last]", "Choose what to copy from the conversation", "display.copy", ANY_TIME),
        ("init", "[WISHES]", "Let the agent write AGENTS.md for this project", "conversation.init", IDLE),
    ),
    "Sessions": (
        ("new clear", "", "Begin a new session", "session.new", IDLE),
        ("resume", "[ID]", "Go on with another session", "session.resume", IDLE),
        ("name rename", "[NAME]", "Name the session, or show its name", "session.name", ANY_TIME),
        ("session", "[delete]", "Show facts about the session, or delete it", "session.session", ANY_TIME),
        ("tree", "", "Look at all branches and go on from another place", "session.tree", IDLE),
        ("branch", "", "Go back to an earlier message and go on from there", "session.branch", IDLE),
        ("goto", "ID", "Go on from the entry with this id", "session.goto", IDLE),
        ("fork", "", "Copy the session into a new one and go on there", "session.fork", IDLE),
        (
            "export",
            "[FILE.html|.md|.json]",
            "Write the session to a file, with secrets masked",
            *("export.export", ANY_TIME),
        ),
        ("dump", "", "Copy the whole conversation as text", "export.dump", ANY_TIME),
    ),
    "Context and cost": (
        (
            "compact",
            "[FOCUS]",
            "Put a summary in the place of what was said long ago",
            "conversation.compact",
            IDLE,
        ),
        (
            "handoff",
            "[FOCUS]",
            "Write down what matters and go on in a new session",
            "conversation.handoff",
            IDLE,
        ),
        ("shake", "", "Drop heavy output of tools from what the model is sent", "conversation.shake", IDLE),
        ("context", "", "Show what fills the model's window", "context.context", ANY_TIME),
        ("usage", "", "Show tokens and cost of this session", "context.usage", ANY_TIME),
        ("stats", "[DAYS|all]", "Show tokens and cost of all sessions", "context.stats", ANY_TIME),
    ),
    "Work": (
        (
            "undo",
            "[list] [N] [PATH ...]",
            "Take back what the agent changed in files",
            "undo_and_jobs.undo",
            IDLE,
        ),
        ("redo", "", "Take the last undo back", "undo_and_jobs.redo", IDLE),
        (
            "todo",
            "[edit|append|start|done|drop|rm|copy|export|import|clear]",
            "Show the list of tasks, or change it",
            *("todo.todo", ANY_TIME),
        ),
        (
            "jobs",
            "[ID|cancel ID]",
            "Show what runs in the background, or stop it",
            "undo_and_jobs.jobs",
            ANY_TIME,
        ),
        ("tools", "", "Show the tools that the model has", "context.tools", ANY_TIME),
    ),
    "Model and screen": (
        ("model", "[NAME[:LEVEL]]", "Choose the model", "display.model", ANY_TIME),
        ("thinking", "[LEVEL]", "Choose how much the model thinks", "display.thinking", ANY_TIME),
        ("theme", "[NAME]", "Choose the colours", "display.theme", ANY_TIME),
        ("settings", "", "Look at the settings and change them", "display.settings", ANY_TIME),
        ("hotkeys", "", "Show all keys", "display.hotkeys", ANY_TIME),
        ("expand", "", "Show all output of tools, or its essence", "display.expand", ANY_TIME),
    ),
    "tau": (
        ("help", "[COMMAND]", "Show all commands, or one", "general.help", ANY_TIME),
        ("login", "[PROVIDER]", "Give tau a key for a provider", "general.login", ANY_TIME),
        ("logout", "[PROVIDER]", "Forget the key of a provider", "general.logout", ANY_TIME),
        ("changelog", "[full]", "Show what is new", "general.changelog", ANY_TIME),
        ("reload", "", "Read settings, keys, commands and instructions again", "reload.reload", IDLE),
        ("debug", "", "Look inside: logs, requests, a report", "general.debug", ANY_TIME),
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
    """The command of this name, or of this other name."""
    return ROWS.get(ALIASES.get(name, name))
