"""Every flag and subcommand, declared once: parsing, --help, completions and the docs table are made from it.

This module and those that read it import nothing, because `tau --help` should cost nothing.
"""

SWITCH = "switch"  # --plain
VALUE = "value"  # --model PATTERN; the last one counts
OPTIONAL = "optional"  # --list-models [QUERY]
LIST = "list"  # --config FILE, as often as needed

FILE, FOLDER = "file", "folder"


class Flag:
    """One flag. `completes` says what a shell should offer for its value: files, folders or nothing."""

    __slots__ = ("choices", "completes", "group", "help", "kind", "metavar", "name", "short")

    def __init__(
        self,
        name: str,
        help: str,
        *,
        group: str,
        kind: str = SWITCH,
        short: str = "",
        metavar: str = "",
        choices: tuple[str, ...] = (),
        completes: str = "",
    ) -> None:
        self.name = name
        self.help = help
        self.group = group
        self.kind = kind
        self.short = short
        self.metavar = metavar or "|".join(choices)
        self.choices = choices
        self.completes = completes

    @property
    def usage(self) -> str:
        """How it is written: `-r, --resume ID|PATH`."""
        short = f"-{self.short}, " if self.short else ""
        value = f" [{self.metavar}]" if self.kind == OPTIONAL else f" {self.metavar}" if self.metavar else ""
        return f"{short}--{self.name}{value}"


class Subcommand:
    __slots__ = ("choices", "help", "name", "usage")

    def __init__(self, name: str, usage: str, help: str, *, choices: tuple[str, ...] = ()) -> None:
        self.name = name
        self.usage = usage
        self.help = help
        self.choices = choices


OUTPUT, SESSION, MODEL, PROMPT, SAFETY, OTHER = (
    "How to talk",
    "Sessions",
    "Models",
    "Prompt and tools",
    "Safety and settings",
    "Other",
)
GROUPS = (OUTPUT, SESSION, MODEL, PROMPT, SAFETY, OTHER)

FLAGS = (
    Flag("print", "answer the prompt on stdout and exit", group=OUTPUT, short="p"),
    Flag(
        "mode",
        "text: only the final answer; json: the session header and every event, one JSON line each",
        group=OUTPUT,
        kind=VALUE,
        choices=("text", "json"),
    ),
    Flag(
        "json",
        "events out as with --mode json, and JSON lines in on stdin (message, interrupt)",
        group=OUTPUT,
    ),
    Flag("plain", "a conversation line by line, without colours or redrawing", group=OUTPUT),
    Flag("screen-reader", "the screen as plain lines in order, without boxes or animation", group=OUTPUT),
    Flag("continue", "go on with the most recent session of this folder", group=SESSION, short="c"),
    Flag(
        "resume",
        "go on with this session (the start of its id is enough), or with one chosen from a list",
        group=SESSION,
        kind=OPTIONAL,
        short="r",
        metavar="ID|PATH",
        completes=FILE,
    ),
    Flag(
        "fork",
        "go on with a copy of this session in this folder; the session itself stays as it is",
        group=SESSION,
        kind=VALUE,
        metavar="ID|PATH",
        completes=FILE,
    ),
    Flag(
        "session-dir",
        "keep sessions in this folder",
        group=SESSION,
        kind=VALUE,
        metavar="DIR",
        completes=FOLDER,
    ),
    Flag("no-session", "keep nothing of this run", group=SESSION),
    Flag("provider", "take models of this provider only", group=MODEL, kind=VALUE, metavar="NAME"),
    Flag(
        "model",
        "a model by id, provider/id or part of its name, with :LEVEL for its thinking",
        group=MODEL,
        kind=VALUE,
        metavar="PATTERN[:LEVEL]",
    ),
    Flag(
        "thinking",
        "how long the model thinks before it answers",
        group=MODEL,
        kind=VALUE,
        choices=("off", "minimal", "low", "medium", "high", "xhigh"),
    ),
    Flag(
        "api-key",
        "key for this run; other users can see it in the process list, so prefer a variable or auth.json",
        group=MODEL,
        kind=VALUE,
        metavar="KEY",
    ),
    Flag("base-url", "send requests to this server", group=MODEL, kind=VALUE, metavar="URL"),
    Flag(
        "list-models",
        "list the models that are known, or those that match, and exit",
        group=MODEL,
        kind=OPTIONAL,
        metavar="QUERY",
    ),
    Flag(
        "system-prompt",
        "replace the system prompt",
        group=PROMPT,
        kind=VALUE,
        metavar="TEXT|FILE",
        completes=FILE,
    ),
    Flag(
        "append-system-prompt",
        "add to the system prompt",
        group=PROMPT,
        kind=VALUE,
        metavar="TEXT|FILE",
        completes=FILE,
    ),
    Flag("tools", "allow these tools only, as read,edit", group=PROMPT, kind=VALUE, metavar="NAMES"),
    Flag("no-tools", "allow no tools", group=PROMPT),
    Flag(
        "approval-mode",
        "ask before every change, only outside the workspace, or never",
        group=SAFETY,
        kind=VALUE,
        choices=("ask", "workspace", "yolo"),
    ),
    Flag("yolo", "the same as --approval-mode yolo", group=SAFETY),
    Flag(
        "config",
        "settings file for this run; may be given several times",
        group=SAFETY,
        kind=LIST,
        metavar="FILE",
        completes=FILE,
    ),
    Flag("cwd", "work in this folder", group=SAFETY, kind=VALUE, metavar="DIR", completes=FOLDER),
    Flag(
        "add-dir",
        "a further folder that belongs to the workspace; may be given several times",
        group=SAFETY,
        kind=LIST,
        metavar="DIR",
        completes=FOLDER,
    ),
    Flag("allow-home", "work in the home folder without remarks", group=SAFETY),
    Flag("version", "print the version and exit", group=OTHER, short="v"),
    Flag("help", "print this help and exit", group=OTHER, short="h"),
)

SUBCOMMANDS = (
    Subcommand(
        "config",
        "config list|get|set|reset|path|schema",
        "show and change settings",
        choices=("list", "get", "set", "reset", "path", "schema"),
    ),
    Subcommand("read", "read PATH[:LINES]", "show what the tool read gives the model"),
    Subcommand("grep", "grep PATTERN [PATH ...]", "show what the tool search gives the model"),
    Subcommand("edit", "edit < PATCH", "apply an edit as the model writes it"),
    Subcommand(
        "sessions",
        "sessions [search|show|...]",
        "find, read, name and delete sessions",
        choices=("list", "search", "show", "rename", "delete", "restore", "reindex", "export"),
    ),
    Subcommand("undo", "undo [TURNS] [PATH ...]", "take back what the agent changed in files"),
    Subcommand(
        "export",
        "export [ID|PATH] FILE",
        "write a session as a page, Markdown or JSON; --pi prints it as pi reads it",
    ),
    Subcommand(
        "stats",
        "stats [--days N] [--html FILE]",
        "show what all sessions have used, by day, model and folder",
    ),
    Subcommand(
        "ssh",
        "ssh list|add|remove|test",
        "hosts on which the agent may run commands",
        choices=("list", "add", "remove", "test"),
    ),
    Subcommand("shell", "shell [-C FOLDER] [-t MS]", "try the shell that the agent's commands run in"),
    Subcommand(
        "demo", "demo [--fast]", "watch a scripted model fix a bug with the real tools, in one minute"
    ),
    Subcommand(
        "completions",
        "completions bash|zsh|fish",
        "print a completion script for a shell",
        choices=("bash", "zsh", "fish"),
    ),
)

# Pairs that contradict each other.
CONFLICTS = (
    ("continue", "resume"),
    ("continue", "no-session"),
    ("resume", "no-session"),
    ("fork", "continue"),
    ("fork", "resume"),
    ("fork", "no-session"),
    ("tools", "no-tools"),
    ("approval-mode", "yolo"),
    ("json", "mode"),
    ("json", "print"),
    ("json", "plain"),
    ("plain", "print"),
    ("plain", "mode"),
    ("screen-reader", "plain"),
    ("screen-reader", "print"),
    ("screen-reader", "mode"),
    ("screen-reader", "json"),
)
