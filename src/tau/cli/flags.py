"""All flags and subcommands; parsing, --help, completions and the docs table derive from them.

This module and its readers import nothing, to keep `tau --help` fast.
"""

SWITCH = "switch"  # --plain
VALUE = "value"  # --model PATTERN; the last one wins
OPTIONAL = "optional"  # --list-models [QUERY]
LIST = "list"  # --config FILE, repeatable

# What shells offer for a value. They know files and folders; the rest `tau completions values` lists.
FILE, FOLDER = "file", "folder"
SETTINGS, TOOLS, MODELS, PROVIDERS = "settings", "tools", "models", "providers"
HOSTS, SESSIONS = "hosts", "sessions"


class Flag:
    """One flag. `completes` says what shells offer for its value; `TOOLS` are a list with commas."""

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
        """Such as `-r, --resume ID|PATH`."""
        short = f"-{self.short}, " if self.short else ""
        value = f" [{self.metavar}]" if self.kind == OPTIONAL else f" {self.metavar}" if self.metavar else ""
        return f"{short}--{self.name}{value}"


class Subcommand:
    """`values` is what shells offer after each of the `choices`, `completes` what they offer without any."""

    __slots__ = ("choices", "completes", "help", "name", "options", "usage", "values")

    def __init__(
        self,
        name: str,
        usage: str,
        help: str,
        *,
        choices: tuple[str, ...] = (),
        values: dict[str, str] | None = None,
        options: tuple[str, ...] = (),
        completes: str = "",
    ) -> None:
        self.name = name
        self.usage = usage
        self.help = help
        self.choices = choices
        self.values = values or {}
        self.options = (*options, "--help")
        self.completes = completes


OUTPUT, SESSION, MODEL, PROMPT, SAFETY, CODE, OTHER = (
    "Modes",
    "Sessions",
    "Models",
    "Prompt and tools",
    "Safety and settings",
    "Extensions",
    "Other",
)
ROLE_FLAGS = {
    "smol": "titles and other small tasks",
    "slow": "hard questions",
    "plan": "plan mode",
}
GROUPS = (OUTPUT, SESSION, MODEL, PROMPT, SAFETY, CODE, OTHER)

FLAGS = (
    Flag("print", "print the answer and exit", group=OUTPUT, short="p"),
    Flag(
        "mode",
        "text: final answer only; json: session header and events as JSON lines; rpc: a program sends"
        " commands as JSON lines; rpc-ui: the same, and the program shows dialogs; acp: serve an editor",
        group=OUTPUT,
        kind=VALUE,
        choices=("text", "json", "rpc", "rpc-ui", "acp"),
    ),
    Flag(
        "snapshots",
        "json and rpc: send the whole message with every update, or only what is new",
        group=OUTPUT,
        kind=VALUE,
        choices=("full", "none"),
    ),
    Flag(
        "rpc-version",
        "json and rpc: 1 sends the result of a failed tool call as text, 2 as an object (default)",
        group=OUTPUT,
        kind=VALUE,
        choices=("1", "2"),
    ),
    Flag(
        "json",
        "like --mode json, and read JSON lines (message, interrupt, permissions) from stdin",
        group=OUTPUT,
    ),
    Flag("plain", "line-by-line conversation, no colors", group=OUTPUT),
    Flag("screen-reader", "plain lines in order, no boxes or animation", group=OUTPUT),
    Flag("continue", "continue the most recent session in this folder", group=SESSION, short="c"),
    Flag(
        "resume",
        "resume a session by id prefix, or pick one",
        group=SESSION,
        kind=OPTIONAL,
        short="r",
        metavar="ID|PATH",
        completes=SESSIONS,
    ),
    Flag(
        "fork",
        "continue in a copy of this session",
        group=SESSION,
        kind=VALUE,
        metavar="ID|PATH",
        completes=SESSIONS,
    ),
    Flag(
        "session-dir",
        "store sessions in this folder",
        group=SESSION,
        kind=VALUE,
        metavar="DIR",
        completes=FOLDER,
    ),
    Flag("no-session", "do not save this session", group=SESSION),
    Flag(
        "provider",
        "use only models of this provider",
        group=MODEL,
        kind=VALUE,
        metavar="NAME",
        completes=PROVIDERS,
    ),
    Flag(
        "model",
        "model id, provider/id or part of its name; :LEVEL sets thinking",
        group=MODEL,
        kind=VALUE,
        metavar="PATTERN[:LEVEL]",
        completes=MODELS,
    ),
    Flag(
        "thinking",
        "thinking level",
        group=MODEL,
        kind=VALUE,
        choices=("off", "minimal", "low", "medium", "high", "xhigh", "max"),
    ),
    *(
        Flag(role, f"model for {purpose}", group=MODEL, kind=VALUE, metavar="PATTERN", completes=MODELS)
        for role, purpose in ROLE_FLAGS.items()
    ),
    Flag(
        "api-key",
        "API key for this run; visible in the process list, so prefer a variable or auth.json",
        group=MODEL,
        kind=VALUE,
        metavar="KEY",
    ),
    Flag("base-url", "send requests to this server", group=MODEL, kind=VALUE, metavar="URL"),
    Flag(
        "list-models",
        "list known or matching models (see tau models); with --json, as JSON",
        group=MODEL,
        kind=OPTIONAL,
        metavar="QUERY",
        completes=MODELS,
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
        "append to the system prompt",
        group=PROMPT,
        kind=VALUE,
        metavar="TEXT|FILE",
        completes=FILE,
    ),
    Flag(
        "tools",
        "allow only these tools, such as read,edit",
        group=PROMPT,
        kind=VALUE,
        metavar="NAMES",
        completes=TOOLS,
    ),
    Flag("no-tools", "allow no tools", group=PROMPT),
    Flag(
        "skills",
        "offer only these skills, such as pdf,git-*",
        group=PROMPT,
        kind=VALUE,
        metavar="GLOBS",
    ),
    Flag("no-skills", "offer no skills", group=PROMPT),
    Flag(
        "approval-mode",
        "ask before every change, allow the workspace, only read, or never ask",
        group=SAFETY,
        kind=VALUE,
        choices=("ask", "workspace", "plan", "yolo"),
    ),
    Flag("yolo", "same as --approval-mode yolo", group=SAFETY),
    Flag(
        "config",
        "settings file for this run; repeatable",
        group=SAFETY,
        kind=LIST,
        metavar="FILE",
        completes=FILE,
    ),
    Flag("cwd", "work in this folder", group=SAFETY, kind=VALUE, metavar="DIR", completes=FOLDER),
    Flag(
        "add-dir",
        "add a folder to the workspace; repeatable",
        group=SAFETY,
        kind=LIST,
        metavar="DIR",
        completes=FOLDER,
    ),
    Flag("trust", "let this repository's extensions, hooks and servers run, this time only", group=SAFETY),
    Flag("allow-home", "allow working in the home folder", group=SAFETY),
    Flag(
        "extension",
        "load a Python extension: a file or folder; repeatable",
        group=CODE,
        kind=LIST,
        short="e",
        metavar="PATH",
        completes=FILE,
    ),
    Flag("hook", "load a Python hook; repeatable", group=CODE, kind=LIST, metavar="PATH", completes=FILE),
    Flag("no-extensions", "load only extensions given with -e and --hook", group=CODE),
    Flag("flag", "a flag of an extension; repeatable", group=CODE, kind=LIST, metavar="NAME[=VALUE]"),
    Flag("watch", "load extensions given with -e again when they change", group=CODE),
    Flag("version", "print the version and exit", group=OTHER, short="v"),
    Flag("help", "print this help and exit", group=OTHER, short="h"),
)

# Of `tau serve`, which takes the other flags too.
SERVE_FLAGS = (
    Flag("host", "address to listen on", group=OUTPUT, kind=VALUE, metavar="ADDRESS"),
    Flag("port", "port to listen on; 0: any free one", group=OUTPUT, kind=VALUE, metavar="N"),
    Flag("unix", "listen on this Unix socket instead", group=OUTPUT, kind=VALUE, metavar="PATH"),
    Flag("root", "serve sessions of this folder and those below it", group=OUTPUT, kind=VALUE, metavar="DIR"),
    Flag("allow-host", "accept this name in the Host header", group=OUTPUT, kind=LIST, metavar="NAME"),
    Flag("allow-origin", "accept requests of pages from this origin", group=OUTPUT, kind=LIST, metavar="URL"),
)

_COMMANDS = (
    Subcommand(
        "config",
        "config list|get|set|reset|path|schema",
        "show and change settings",
        choices=("list", "get", "set", "reset", "path", "schema"),
        values={"get": SETTINGS, "set": SETTINGS, "reset": SETTINGS},
        options=("--json",),
    ),
    Subcommand("read", "read PATH[:LINES]", "show what the read tool gives the model", completes=FILE),
    Subcommand(
        "grep", "grep PATTERN [PATH ...]", "show what the search tool gives the model", completes=FILE
    ),
    Subcommand("edit", "edit < PATCH", "apply an edit in the model's format"),
    Subcommand(
        "sessions",
        "sessions [search|show|...]",
        "search, show, rename and delete sessions",
        choices=("list", "search", "show", "rename", "delete", "restore", "reindex", "export"),
        values={"show": SESSIONS, "rename": SESSIONS, "delete": SESSIONS, "export": SESSIONS},
        options=("--all", "--here", "--limit", "--json"),
    ),
    Subcommand(
        "models",
        "models [list|search|show|refresh]",
        "list, describe and refresh models",
        choices=("list", "search", "show", "refresh"),
        values={"list": MODELS, "search": MODELS, "show": MODELS, "refresh": PROVIDERS},
        options=("--json",),
    ),
    Subcommand(
        "login",
        "login [PROVIDER]",
        "store an API key, or log in with a browser",
        options=("--add", "--key", "--device", "--client-id", "--no-check"),
        completes=PROVIDERS,
    ),
    Subcommand("logout", "logout [PROVIDER]", "remove what is stored for a provider", completes=PROVIDERS),
    Subcommand(
        "auth",
        "auth list [--json]",
        "list stored keys and logins, without their secrets",
        choices=("list",),
        options=("--json",),
    ),
    Subcommand(
        "undo",
        "undo [TURNS] [PATH ...]",
        "undo the agent's file changes",
        options=("--list", "--dry-run", "--redo", "--force", "--session"),
        completes=FILE,
    ),
    Subcommand(
        "export",
        "export [ID|PATH] FILE",
        "export a session as HTML, Markdown or JSON; --pi prints pi's format",
        options=("--html", "--markdown", "--json", "--pi", "--raw", "--force"),
        completes=SESSIONS,
    ),
    Subcommand(
        "stats",
        "stats [--days N] [--html FILE]",
        "show cost and tokens by day, model and folder",
        options=("--days", "--all", "--json", "--html", "--force"),
        completes=FILE,
    ),
    Subcommand(
        "usage",
        "usage [-j] [-p PROVIDER] [-r]",
        "show what is left of plans and rate limits",
        options=("--json", "--provider", "--redact"),
    ),
    Subcommand(
        "ssh",
        "ssh list|add|remove|test",
        "manage the hosts the agent may use",
        choices=("list", "add", "remove", "test"),
        values={"remove": HOSTS, "test": HOSTS},
        options=(
            *("--user", "--port", "--key", "--desc", "--compat", "--no-compat"),
            *("--scope", "--json"),
        ),
    ),
    Subcommand(
        "extensions",
        "extensions [list] [--all] [--json]",
        "list skills, commands, hooks and other files that were found, or turn them off",
        choices=("list", "enable", "disable"),
        options=("--all", "--json"),
    ),
    Subcommand(
        "rules",
        "rules [list|show|test]",
        "list the agent's rules, show one, or try one on a text",
        choices=("list", "show", "test"),
        options=("--json", "--source", "--tool", "--path"),
    ),
    Subcommand(
        "trust",
        "trust [list|add|remove|show]",
        "decide what repositories may run",
        choices=("list", "add", "remove", "show"),
        options=("--json",),
    ),
    Subcommand(
        "shell",
        "shell [-C FOLDER] [-t MS]",
        "try the shell the agent uses, in its sandbox",
        options=("-C", "-t", "--no-snapshot"),
        completes=FOLDER,
    ),
    Subcommand(
        "sandbox",
        "sandbox run|explain|probe",
        "run a command as the agent does, or show what contains it",
        choices=("run", "explain", "probe"),
        options=("--json",),
    ),
    Subcommand(
        "doctor",
        "doctor [--json] [--redact]",
        "check this installation, or mask secrets in stored sessions",
        options=("--json", "--redact", "--dry-run"),
    ),
    Subcommand(
        "demo", "demo [--fast]", "watch a scripted model fix a bug in one minute", options=("--fast",)
    ),
    Subcommand("acp", "acp [FLAG ...]", "serve an editor over the Agent Client Protocol"),
    Subcommand(
        "serve",
        "serve [--port N] [FLAG ...]",
        "serve a web page and programs over HTTP",
        options=tuple(f"--{flag.name}" for flag in SERVE_FLAGS),
    ),
    Subcommand(
        "completions",
        "completions bash|zsh|fish",
        "print a shell completion script",
        choices=("bash", "zsh", "fish"),
    ),
)
SUBCOMMANDS = (
    *_COMMANDS,
    Subcommand(
        "help",
        "help [COMMAND]",
        "print the help of tau or of a command",
        choices=tuple(command.name for command in _COMMANDS),
    ),
)

# Mutually exclusive flags.
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
