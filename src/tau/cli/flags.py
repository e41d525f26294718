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
        group: str,
        kind: str = SWITCH,
        metavar: str = "",
        completes: str = "",
        *,
        short: str = "",
        choices: str = "",
    ) -> None:
        self.name = name
        self.help = help
        self.group = group
        self.kind = kind
        self.short = short
        self.choices = tuple(choices.split())
        self.metavar = metavar or "|".join(self.choices)
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
        usage: str,
        help: str,
        choices: str = "",
        options: str = "",
        *,
        values: dict[str, str] | None = None,
        completes: str = "",
    ) -> None:
        self.name = usage.split()[0]
        self.usage = usage
        self.help = help
        self.choices = tuple(choices.split())
        self.values = values or {}
        self.options = (*options.split(), "--help")
        self.completes = completes


OUTPUT, SESSION, MODEL, PROMPT, SAFETY, CODE, OTHER = (
    *("Modes", "Sessions", "Models", "Prompt and tools", "Safety and settings", "Extensions", "Other"),
)
ROLE_FLAGS = {
    "smol": "titles and other small tasks",
    "slow": "hard questions",
    "plan": "plan mode",
}
GROUPS = (OUTPUT, SESSION, MODEL, PROMPT, SAFETY, CODE, OTHER)

FLAGS = (
    Flag("print", "print the answer and exit", OUTPUT, short="p"),
    Flag(
        "mode",
        "text: final answer only; json: session header and events as JSON lines; rpc: a program sends"
        " commands as JSON lines; rpc-ui: the same, and the program shows dialogs; acp: serve an editor",
        OUTPUT,
        VALUE,
        choices="text json rpc rpc-ui acp",
    ),
    Flag(
        "snapshots",
        "json and rpc: send the whole message with every update, or only what is new",
        OUTPUT,
        VALUE,
        choices="full none",
    ),
    Flag(
        "output-schema",
        "with -p or --mode json: the answer is JSON that matches this JSON Schema",
        OUTPUT,
        VALUE,
        "FILE",
        FILE,
    ),
    Flag(
        "rpc-version",
        "json and rpc: 1 sends the result of a failed tool call as text, 2 as an object (default)",
        OUTPUT,
        VALUE,
        choices="1 2",
    ),
    Flag(
        "json", "like --mode json, and read JSON lines (message, interrupt, permissions) from stdin", OUTPUT
    ),
    Flag("plain", "line-by-line conversation, no colors", OUTPUT),
    Flag("screen-reader", "plain lines in order, no boxes or animation", OUTPUT),
    Flag("continue", "continue the most recent session in this folder", SESSION, short="c"),
    Flag(
        "resume",
        "resume a session by id prefix, or pick one",
        SESSION,
        OPTIONAL,
        "ID|PATH",
        SESSIONS,
        short="r",
    ),
    Flag("fork", "continue in a copy of this session", SESSION, VALUE, "ID|PATH", SESSIONS),
    Flag("session-dir", "store sessions in this folder", SESSION, VALUE, "DIR", FOLDER),
    Flag("no-session", "do not save this session", SESSION),
    Flag("provider", "use only models of this provider", MODEL, VALUE, "NAME", PROVIDERS),
    Flag(
        "model",
        "model id, provider/id or part of its name; :LEVEL sets thinking",
        MODEL,
        VALUE,
        "PATTERN[:LEVEL]",
        MODELS,
    ),
    Flag("thinking", "thinking level", MODEL, VALUE, choices="off minimal low medium high xhigh max"),
    *(
        Flag(role, f"model for {purpose}", MODEL, VALUE, "PATTERN", MODELS)
        for role, purpose in ROLE_FLAGS.items()
    ),
    Flag(
        "api-key",
        "API key for this run; visible in the process list, so prefer a variable or auth.json",
        MODEL,
        VALUE,
        "KEY",
    ),
    Flag("base-url", "send requests to this server", MODEL, VALUE, "URL"),
    Flag(
        "list-models",
        "list known or matching models (see tau models); with --json, as JSON",
        MODEL,
        OPTIONAL,
        "QUERY",
        MODELS,
    ),
    Flag("system-prompt", "replace the system prompt", PROMPT, VALUE, "TEXT|FILE", FILE),
    Flag("append-system-prompt", "append to the system prompt", PROMPT, VALUE, "TEXT|FILE", FILE),
    Flag("tools", "allow only these tools, such as read,edit", PROMPT, VALUE, "NAMES", TOOLS),
    Flag("no-tools", "allow no tools", PROMPT),
    Flag("skills", "offer only these skills, such as pdf,git-*", PROMPT, VALUE, "GLOBS"),
    Flag("no-skills", "offer no skills", PROMPT),
    Flag("no-rules", "use no rules, not even those that come with tau", PROMPT),
    Flag(
        "mcp-config",
        "start the MCP servers of this file too; repeatable",
        group=PROMPT,
        kind=LIST,
        metavar="FILE",
        completes=FILE,
    ),
    Flag("no-lsp", "use no language servers", group=PROMPT),
    Flag("no-mcp", "start no MCP servers but those of --mcp-config", group=PROMPT),
    Flag(
        "approval-mode",
        "ask before every change, allow the workspace, only read, or never ask",
        SAFETY,
        VALUE,
        choices="ask workspace plan yolo",
    ),
    Flag("yolo", "same as --approval-mode yolo", SAFETY),
    Flag("config", "settings file for this run; repeatable", SAFETY, LIST, "FILE", FILE),
    Flag("cwd", "work in this folder", SAFETY, VALUE, "DIR", FOLDER),
    Flag("add-dir", "add a folder to the workspace; repeatable", SAFETY, LIST, "DIR", FOLDER),
    Flag("max-turns", "answers of the model in this run", SAFETY, VALUE, "N"),
    Flag("max-tokens", "tokens that this session and its agents can use", SAFETY, VALUE, "N"),
    Flag("max-minutes", "start no request after this time", SAFETY, VALUE, "N"),
    Flag("max-cost", "dollars that this session and its agents can spend", SAFETY, VALUE, "USD"),
    Flag("max-agents", "agents that one prompt can start", SAFETY, VALUE, "COUNT"),
    Flag("trust", "let this repository's extensions, hooks and servers run, this time only", SAFETY),
    Flag("allow-home", "allow working in the home folder", SAFETY),
    Flag("extension", "load a Python extension; repeatable", CODE, LIST, "PATH", FILE, short="e"),
    Flag("hook", "load a Python hook; repeatable", CODE, LIST, "PATH", FILE),
    Flag("plugin-dir", "use the plugin in this folder; repeatable", CODE, LIST, "DIR", FOLDER),
    Flag("no-extensions", "load only extensions given with -e and --hook", CODE),
    Flag("flag", "set a flag of an extension; repeatable", CODE, LIST, "NAME[=VALUE]"),
    Flag("watch", "load extensions given with -e again when they change", CODE),
    Flag("version", "print the version and exit", OTHER, short="v"),
    Flag("help", "print this help and exit", OTHER, short="h"),
)

# Of `tau serve`, which takes the other flags too.
SERVE_FLAGS = (
    Flag("host", "address to listen on", OUTPUT, VALUE, "ADDRESS"),
    Flag("port", "port to listen on; 0: any free one", OUTPUT, VALUE, "N"),
    Flag("unix", "listen on this Unix socket instead", OUTPUT, VALUE, "PATH"),
    Flag("root", "serve sessions of this folder and those below it", OUTPUT, VALUE, "DIR"),
    Flag("allow-host", "accept this name in the Host header", OUTPUT, LIST, "NAME"),
    Flag("allow-origin", "accept requests of pages from this origin", OUTPUT, LIST, "URL"),
)

# Of `tau review`, which takes the other flags too.
REVIEW_FLAGS = (
    Flag("base", "review what this branch adds to REF, not only uncommitted changes", OTHER, VALUE, "REF"),
    Flag("fail-on", "exit with 1 if there are findings of this priority or above", OTHER, VALUE, "P0..P3"),
)

COMMIT_FLAGS = (
    Flag("split", "make several commits, each with one purpose; shows them first", group=OTHER),
    Flag("all", "commit all changes of tracked files, as git commit --all", group=OTHER),
    Flag("push", "push afterwards", group=OTHER),
    Flag("dry-run", "show the messages; commit nothing", group=OTHER),
    Flag("yes", "do not ask", group=OTHER, short="y"),
    Flag("json", "print JSON", group=OUTPUT),
    Flag("no-changelog", "leave CHANGELOG.md alone", group=OTHER),
    Flag("legacy", "write the message in one request, without summaries", group=OTHER),
    Flag("context", "what the model should know", group=PROMPT, kind=VALUE, metavar="TEXT", short="c"),
    Flag(
        "model",
        "model to use; default: the role commit, else smol",
        group=OTHER,
        kind=VALUE,
        metavar="PATTERN",
        completes=MODELS,
        short="m",
    ),
)
RELAY_FLAGS = (
    Flag("channel", "channel to answer on; repeatable", OTHER, LIST, "NAME"),
    Flag("provider", "the same, as in warelay; auto: those of the config", OTHER, VALUE, "NAME"),
    Flag("from", "config of warelay to convert", OTHER, VALUE, "FILE", FILE),
    Flag("to", "chat, as CHANNEL:CHAT", OTHER, VALUE, "CHAT", short="t"),
    Flag("message", "text to send", OTHER, VALUE, "TEXT", short="m"),
    Flag("body", "the same", OTHER, VALUE, "TEXT"),
    Flag("media", "file to send", OTHER, VALUE, "PATH", FILE),
    Flag("all", "all conversations", OTHER),
    Flag("heartbeat-now", "begin with a heartbeat", OTHER),
    Flag("interval", "seconds between polls of Twilio", OTHER, VALUE, "N", short="i"),
    Flag("web-heartbeat", "uptime after which a connection counts as good", OTHER, VALUE, "SECONDS"),
    Flag("web-retries", "attempts to connect; 0 for no limit", OTHER, VALUE, "N"),
    Flag("web-retry-initial", "first wait before connecting again", OTHER, VALUE, "MS"),
    Flag("web-retry-max", "longest wait", OTHER, VALUE, "MS"),
    Flag("port", "port of the webhook server", OTHER, VALUE, "N", short="p"),
    Flag("path", "path of the webhook", OTHER, VALUE, "PATH"),
    Flag("ingress", "how Twilio reaches the webhook server", OTHER, VALUE, choices="tailscale none"),
    Flag("reply", "answer with this text instead of the agent", OTHER, VALUE, "TEXT", short="r"),
    Flag("phone", "link WhatsApp with a code for this number", OTHER, VALUE, "NUMBER"),
    Flag("dry-run", "show what would happen", OTHER),
    Flag("verbose", "log everything but message texts", OTHER),
    Flag("json", "print JSON", OUTPUT),
)
# Of `tau batch`, which passes the flags about models and safety on to each task.
BATCH_FLAGS = (
    Flag(
        "template",
        "prompt with {COLUMN} for the rows of a CSV or JSONL file",
        group=PROMPT,
        kind=VALUE,
        metavar="TEXT",
    ),
    Flag("out", "folder for results", group=OUTPUT, kind=VALUE, metavar="DIR", completes=FOLDER),
    Flag("jobs", "how many tasks run at once: a number, or auto", group=OTHER, kind=VALUE, metavar="N"),
    Flag("max-cost", "start nothing more at this cost in dollars", group=SAFETY, kind=VALUE, metavar="USD"),
    Flag("fail-fast", "stop after N failed tasks", group=OTHER, kind=VALUE, metavar="N"),
    Flag("keep", "keep the folders of these tasks", group=OTHER, kind=VALUE, choices="failed all none"),
    Flag(
        "collect",
        "push the changes of each task as a branch, or open a pull request",
        group=OTHER,
        kind=VALUE,
        choices="branch pr",
    ),
    Flag(
        "executor", "where tasks run: here, or on a Ray cluster", group=OTHER, kind=VALUE, choices="local ray"
    ),
    Flag("address", "join this Ray cluster", group=OTHER, kind=VALUE, metavar="HOST:PORT"),
    Flag(
        "shared-dir",
        "folder of all nodes, for files over 16 MiB",
        group=OTHER,
        kind=VALUE,
        metavar="DIR",
        completes=FOLDER,
    ),
    Flag("forward-env", "variable that nodes get; repeatable", group=SAFETY, kind=LIST, metavar="NAME"),
    Flag("rpm", "requests a minute, for each provider", group=MODEL, kind=VALUE, metavar="N"),
    Flag("tpm", "tokens a minute, for each provider", group=MODEL, kind=VALUE, metavar="N"),
    Flag("status", "retry tasks with this status; repeatable", group=OTHER, kind=LIST, metavar="STATUS"),
    Flag("html", "write the report as HTML", group=OUTPUT),
    Flag("dry-run", "check the tasks and show the plan", group=OTHER),
)

BENCH_FLAGS = (
    Flag(
        "model", "model to compare; repeatable", group=MODEL, kind=LIST, metavar="PATTERN", completes=MODELS
    ),
    Flag("set", "compare with this setting too; repeatable", group=OTHER, kind=LIST, metavar="KEY=VALUE"),
    Flag("repeat", "runs of each task", group=OTHER, kind=VALUE, metavar="N"),
    Flag("seed", "order of the runs", group=OTHER, kind=VALUE, metavar="N"),
    Flag("task", "only this task; repeatable", group=OTHER, kind=LIST, metavar="NAME"),
    Flag("baseline", "report to compare with", group=OTHER, kind=VALUE, metavar="FILE", completes=FILE),
    Flag(
        "max-drop",
        "fail if a rate fell by more than this, such as 0.05",
        group=OTHER,
        kind=VALUE,
        metavar="SHARE",
    ),
    Flag(
        "predictions",
        "write the patches for the harness of SWE-bench",
        group=OUTPUT,
        kind=VALUE,
        metavar="FILE",
        completes=FILE,
    ),
    Flag("oracle", "run the reference solutions instead of agents", group=OTHER),
    *(flag for flag in BATCH_FLAGS if flag.name in ("out", "jobs", "max-cost", "rpm", "tpm")),
)

_COMMANDS = (
    Subcommand(
        "config list|get|set|reset|path|schema",
        "show and change settings",
        "list get set reset path schema",
        "--json",
        values={"get": SETTINGS, "set": SETTINGS, "reset": SETTINGS},
    ),
    Subcommand(
        "read PATH|URL[:LINES]",
        "show what the read tool gives the model",
        options="--raw --json",
        completes=FILE,
    ),
    Subcommand(
        "search QUERY",
        "search the web as the model does",
        options="--provider --providers --recency --limit --compact --json",
    ),
    Subcommand("grep PATTERN [PATH ...]", "show what the search tool gives the model", completes=FILE),
    Subcommand("edit < PATCH", "apply an edit in the model's format"),
    Subcommand(
        "sessions [search|show|...]",
        "search, show, rename and delete sessions",
        "list search show rename delete restore reindex export",
        "--all --here --limit --json",
        values={"show": SESSIONS, "rename": SESSIONS, "delete": SESSIONS, "export": SESSIONS},
    ),
    Subcommand(
        "mcp [list|get|add|remove|test|call|...]",
        "add, test and call MCP servers, and be one",
        "list get add add-json remove enable disable test tools call resources prompts login logout reconnect"
        " logs schema pins serve",
        "--json --scope --env --header --type --cwd --timeout",
    ),
    Subcommand(
        "lsp [status|restart|check FILE...]",
        "show language servers, and check files with them",
        "status restart check",
        "--json",
        values={"check": FILE},
    ),
    Subcommand("debug [adapters]", "show debug adapters", "adapters", "--json"),
    Subcommand(
        "models [list|search|show|refresh]",
        "list, describe and refresh models",
        "list search show refresh",
        "--json",
        values={"list": MODELS, "search": MODELS, "show": MODELS, "refresh": PROVIDERS},
    ),
    Subcommand(
        "login [PROVIDER]",
        "store an API key, or log in with a browser",
        options="--add --key --device --client-id --no-check",
        completes=PROVIDERS,
    ),
    Subcommand("logout [PROVIDER]", "remove what is stored for a provider", completes=PROVIDERS),
    Subcommand("auth list [--json]", "list stored keys and logins, without their secrets", "list", "--json"),
    Subcommand(
        "undo [TURNS] [PATH ...]",
        "undo the agent's file changes",
        options="--list --dry-run --redo --force --session",
        completes=FILE,
    ),
    Subcommand(
        "export [ID|PATH] FILE",
        "export a session as HTML, Markdown or JSON; --pi prints pi's format",
        options="--html --markdown --json --pi --raw --force",
        completes=SESSIONS,
    ),
    Subcommand(
        "stats [--days N] [--html FILE]",
        "show cost and tokens by day, model and folder",
        options="--days --all --json --html --force",
        completes=FILE,
    ),
    Subcommand(
        "usage [-j] [-p PROVIDER] [-r]",
        "show what is left of plans and rate limits",
        options="--json --provider --redact",
    ),
    Subcommand(
        "ssh list|add|remove|test",
        "manage the hosts the agent may use",
        "list add remove test",
        "--user --port --key --desc --compat --no-compat --scope --json",
        values={"remove": HOSTS, "test": HOSTS},
    ),
    Subcommand(
        "extensions [list|time] [--all] [--json]",
        "list skills, commands, hooks and other files that were found, or turn them off",
        "list enable disable time",
        "--all --json",
    ),
    Subcommand(
        "plugin list|install|update|...",
        "install, update, write and check plugins",
        "list install update remove enable disable show link validate doctor new marketplace config",
        "--scope --dry-run --yes --json --kind --reset",
        completes=FILE,
    ),
    Subcommand(
        "agents [list|show|unpack]",
        "list the agents that can be started here, or copy the bundled ones",
        "list show unpack",
        "--json --project --force",
    ),
    Subcommand(
        "worktree [list|show|apply|clean]",
        "look after copies of repositories that isolated agents left, and work trees of pull requests",
        "list show apply clean",
        "--dry-run",
    ),
    Subcommand(
        "hooks [list|test EVENT]",
        "list command hooks, try those of an event, or turn one off",
        "list test enable disable",
        "--json --tool",
    ),
    Subcommand(
        "rules [list|show|test]",
        "list the agent's rules, show one, or try one on a text",
        "list show test",
        "--json --source --tool --path",
    ),
    Subcommand(
        "trust [list|add|remove|show]", "decide what repositories may run", "list add remove show", "--json"
    ),
    Subcommand(
        "shell [-C FOLDER] [-t MS]",
        "try the shell the agent uses, in its sandbox",
        options="-C -t --no-snapshot",
        completes=FOLDER,
    ),
    Subcommand(
        "sandbox run|explain|probe",
        "run a command as the agent does, or show what contains it",
        "run explain probe",
        "--json --config",
    ),
    Subcommand(
        "doctor [--json] [--redact]",
        "check this installation, or mask secrets in stored sessions",
        options="--json --redact --dry-run",
    ),
    Subcommand("demo [--fast]", "watch a scripted model fix a bug in one minute", options="--fast"),
    Subcommand("acp [FLAG ...]", "serve an editor over the Agent Client Protocol"),
    Subcommand(
        "serve [--port N] [FLAG ...]",
        "serve a web page and programs over HTTP",
        options=" ".join(f"--{flag.name}" for flag in SERVE_FLAGS),
    ),
    Subcommand(
        "batch FILE [FLAG ...]",
        "run a file of tasks to the end",
        options=" ".join(f"--{flag.name}" for flag in BATCH_FLAGS),
        completes=FILE,
    ),
    Subcommand(
        "bench [SUITE] [FLAG ...]",
        "compare models and settings on a suite of tasks",
        options=" ".join(f"--{flag.name}" for flag in BENCH_FLAGS),
        completes=FOLDER,
    ),
    Subcommand(
        "relay ACTION",
        "answer chat messages with an agent CLI: run, send, doctor and more",
        "run init check show schema status allow"
        " send heartbeat sessions login logout webhook tmux doctor systemd",
        " ".join(f"--{flag.name}" for flag in RELAY_FLAGS),
    ),
    Subcommand(
        "review [FLAG ...]",
        "let agents review a change, and list what is wrong by priority",
        options=" ".join(f"--{flag.name}" for flag in REVIEW_FLAGS) + " --json",
    ),
    Subcommand(
        "commit [FLAG ...]",
        "commit what is staged, with a message that a model writes",
        options=" ".join(f"--{flag.name}" for flag in COMMIT_FLAGS),
    ),
    Subcommand(
        "memory ACTION [ARGUMENT ...]",
        "search, edit, export or import long-term memories",
        "list search show add edit forget clear stats doctor export import",
        "--json --scope --yes",
        completes=FILE,
    ),
    Subcommand(
        "github cache stats|clear",
        "show or delete what is kept of issues and pull requests",
        "cache",
        "--json",
    ),
    Subcommand("completions bash|zsh|fish", "print a shell completion script", "bash zsh fish"),
)
SUBCOMMANDS = (
    *_COMMANDS,
    Subcommand(
        "help [COMMAND]",
        "print the help of tau or of a command",
        " ".join(command.name for command in _COMMANDS),
    ),
)

# Mutually exclusive flags.
CONFLICTS = (
    ("output-schema", "json"),
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
